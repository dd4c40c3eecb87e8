"""What lists in the settings of transforms must be, in the words in which Kafka rejects them."""

from __future__ import annotations

from headrace.pipelines.connect.faults import ConfigException


def as_list(value: object) -> list[str]:
    """The value of a setting whose kind is LIST."""
    assert isinstance(value, list), value
    return value


def names(name: str, value: object) -> None:
    """At least one name, none of them empty."""
    if not value:
        raise ConfigException(
            f"Configuration '{name}' must not be empty. Valid values include: any non-empty value"
        )
    names_or_none(name, value)


def names_or_none(name: str, value: object) -> None:
    """Names, none of them empty."""
    if not isinstance(value, list):
        raise ConfigException(f"Configuration '{name}' values must not be null.")
    if "" in value:
        raise ConfigException(f"Configuration '{name}' values must not be empty.")


def some(name: str, value: object) -> None:
    """Anything in the list."""
    if not value:
        raise ConfigException.of(name, _text(value), "Empty list")


def pairs(name: str, value: list[str]) -> dict[str, str]:
    """`a:b` as a pair; ConfigException for anything else."""
    found = {}
    for text in value:
        parts = split_as_java(text)
        if len(parts) != 2:
            raise ConfigException.of(name, _text(value), f"Invalid rename mapping: {text}")
        found[parts[0]] = parts[1]
    return found


def split_as_java(text: str) -> list[str]:
    """What stands between colons; empty parts at the end are left out."""
    parts = text.split(":")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts


def _text(value: object) -> object:
    return f"[{', '.join(value)}]" if isinstance(value, list) else value
