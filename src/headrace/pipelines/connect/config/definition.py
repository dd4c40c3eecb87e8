"""Settings as Kafka's ConfigDef declares them: data from which values, help and forms derive.

A plugin has one `Definition`. `read` gives typed values or the first fault; `validate` gives, for
every key, the value and all that is wrong with it, as a client of the REST API sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Final, TypeVar

from headrace.pipelines.connect.faults import ConfigException

_T = TypeVar("_T")


class Kind(Enum):
    """The type of a setting; a value is its name in the REST API."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"


class _Required(Enum):
    REQUIRED = "required"


REQUIRED: Final = _Required.REQUIRED
"""The default of a key that has none."""

HIDDEN: Final = "[hidden]"


class Password(str):
    """A value that is never shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        return HIDDEN

    def __str__(self) -> str:
        return HIDDEN

    @property
    def clear(self) -> str:
        """The password itself."""
        return str.__str__(self)


Check = Callable[[str, object], None]
"""Given a key's name and its typed value, raises ConfigException if the value may not be."""


@dataclass(frozen=True, slots=True)
class Key:
    """One setting. `recommend` gives the values that a form offers, from what the others are."""

    name: str
    kind: Kind
    default: object = REQUIRED
    doc: str = ""
    importance: str = "MEDIUM"
    check: Check | None = None
    group: str | None = None
    width: str = "NONE"
    display_name: str | None = None
    dependents: tuple[str, ...] = ()
    recommend: Callable[[Mapping[str, object]], Sequence[object]] | None = None
    visible: Callable[[Mapping[str, object]], bool] | None = None
    order: int = -1

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is REQUIRED


@dataclass(frozen=True, slots=True)
class Found:
    """What `validate` found of a key."""

    key: Key
    value: object
    errors: tuple[str, ...] = ()
    recommended: tuple[object, ...] = ()
    visible: bool = True


@dataclass(frozen=True)
class Definition:
    """The keys of a plugin, in the order in which they are shown."""

    keys: tuple[Key, ...] = field(default=())

    @cached_property
    def by_name(self) -> Mapping[str, Key]:
        """Each key by its name."""
        return {key.name: key for key in self.keys}

    def plus(self, *others: Key | Definition) -> Definition:
        """These keys and others; a key of the same name is replaced where it stands."""
        added = [
            key
            for other in others
            for key in (other.keys if isinstance(other, Definition) else (other,))
        ]
        return Definition(tuple({key.name: key for key in (*self.keys, *added)}.values()))

    def under(self, prefix: str) -> Definition:
        """The same keys with a prefix before each name; what a key brings knows the bare names."""
        return Definition(
            tuple(
                replace(
                    key,
                    name=prefix + key.name,
                    dependents=tuple(prefix + name for name in key.dependents),
                    check=None if key.check is None else _of_bare_name(key.check, key.name),
                    display_name=key.display_name or key.name,
                    recommend=_of_bare_names(key.recommend, prefix),
                    visible=_of_bare_names(key.visible, prefix),
                )
                for key in self.keys
            )
        )

    def read(self, given: Mapping[str, object]) -> dict[str, object]:
        """The typed value of every key; ConfigException for the first that is wrong."""
        return {key.name: value_of(key, given) for key in self.keys}

    def validate(self, given: Mapping[str, object]) -> list[Found]:
        """Every key with its value and all that is wrong with it."""
        typed: dict[str, object] = {}
        errors: dict[str, list[str]] = {}
        for key in self.keys:
            try:
                typed[key.name] = value_of(key, given)
            except ConfigException as fault:
                typed[key.name], errors[key.name] = _faults(key, given, fault)
        return [self._found(key, typed, errors.get(key.name, [])) for key in self.keys]

    def _found(self, key: Key, typed: Mapping[str, object], errors: list[str]) -> Found:
        offered: tuple[object, ...] = ()
        if key.recommend is not None:
            try:
                offered = tuple(key.recommend(typed))
            except ConfigException as fault:
                errors.append(str(fault))
        shown = key.visible is None or key.visible(typed)
        return Found(key, typed[key.name], tuple(errors), offered, shown)


def value_of(key: Key, given: Mapping[str, object]) -> object:
    """The typed value of one key; ConfigException says what is wrong with it."""
    if key.name in given:
        value = parsed(key.name, given[key.name], key.kind)
    elif key.default is REQUIRED:
        raise ConfigException(
            f'Missing required configuration "{key.name}" which has no default value.'
        )
    else:
        value = key.default
    if key.check is not None:
        key.check(key.name, value)
    return value


def _faults(
    key: Key, given: Mapping[str, object], fault: ConfigException
) -> tuple[object, list[str]]:
    """The value to show for a key that is wrong, and all that is wrong with it.

    A value that can be read is shown. One that cannot is null, and null may be wrong as well.
    """
    try:
        value = None if key.name not in given else parsed(key.name, given[key.name], key.kind)
    except ConfigException:
        value = None
    else:
        if key.name in given:
            return value, [str(fault)]
    errors = [str(fault)]
    if key.check is not None:
        try:
            key.check(key.name, None)
        except ConfigException as other:
            errors.append(str(other))
    return value, errors


def _of_bare_names(
    function: Callable[[Mapping[str, object]], _T] | None, prefix: str
) -> Callable[[Mapping[str, object]], _T] | None:
    """The same function of values whose names have a prefix."""
    if function is None:
        return None
    return lambda typed: function(
        {
            name.removeprefix(prefix): value
            for name, value in typed.items()
            if name.startswith(prefix)
        }
    )


def _of_bare_name(check: Check, name: str) -> Check:
    return lambda _, value: check(name, value)


_BITS: Final = {Kind.SHORT: 16, Kind.INT: 32, Kind.LONG: 64}


def parsed(name: str, value: object, kind: Kind) -> object:
    """A raw value, mostly text, as its kind; ConfigException if it cannot be."""
    if value is None:
        return None
    text = value.strip() if isinstance(value, str) else value
    if kind is Kind.BOOLEAN:
        return _boolean(name, text)
    if kind in _BITS:
        return _integer(name, text, kind)
    if kind is Kind.DOUBLE:
        return _double(name, text)
    if kind is Kind.LIST:
        return _listed(name, text)
    if kind is Kind.PASSWORD:
        if isinstance(text, str):
            return text if isinstance(text, Password) else Password(text)
        raise ConfigException.of(name, value, "Expected value to be a string, but it was not")
    if isinstance(text, str):
        return text
    raise ConfigException.of(
        name, value, f"Expected value to be a string, but it was a {type(value).__name__}"
    )


def _boolean(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise ConfigException.of(name, value, "Expected value to be either true or false")


def _integer(name: str, value: object, kind: Kind) -> int:
    bound = 1 << (_BITS[kind] - 1)
    if isinstance(value, str) and _is_integer(value):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and -bound <= value < bound:
        return value
    raise ConfigException.of(name, value, f"Not a number of type {kind.value}")


def _is_integer(text: str) -> bool:
    digits = text[1:] if text[:1] in ("+", "-") else text
    return digits.isascii() and digits.isdigit()


def _double(name: str, value: object) -> float:
    try:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return float(value)
    except ValueError:
        pass
    raise ConfigException.of(name, value, "Not a number of type DOUBLE")


def _listed(name: str, value: object) -> list[str]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")] if value else []
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return value
    raise ConfigException.of(name, value, "Expected a comma separated list.")


# --- what a value must be ---


def at_least(least: float) -> Check:
    """A number that is not smaller."""

    def check(name: str, value: object) -> None:
        if value is None:
            raise ConfigException.of(name, value, "Value must be non-null")
        if isinstance(value, int | float) and value < least:
            raise ConfigException.of(name, value, f"Value must be at least {least}")

    return check


def between(least: float, most: float) -> Check:
    """A number within bounds, both included."""

    def check(name: str, value: object) -> None:
        at_least(least)(name, value)
        if isinstance(value, int | float) and value > most:
            raise ConfigException.of(name, value, f"Value must be no more than {most}")

    return check


def one_of(*allowed: str, ignore_case: bool = False) -> Check:
    """One of these strings."""
    known = {text.lower() if ignore_case else text for text in allowed}
    offered = ", ".join(allowed)
    rule = " (case insensitive)" if ignore_case else ""

    def check(name: str, value: object) -> None:
        text = value.lower() if ignore_case and isinstance(value, str) else value
        if text not in known:
            raise ConfigException.of(name, value, f"String must be one of{rule}: {offered}")

    return check


def without_controls(name: str, value: object) -> None:
    """A string with something in it, and no control characters."""
    if value is None:
        return
    text = str(value)
    if not text:
        raise ConfigException.of(name, value, "String may not be empty")
    found = sorted({ord(each) for each in text if ord(each) < 32 or 127 <= ord(each) < 160})
    if found:
        listed = ", ".join(map(str, found))
        reason = (
            f"String may not contain control sequences but had the following ASCII chars: {listed}"
        )
        raise ConfigException.of(name, value, reason)


def distinct(name: str, value: object) -> None:
    """A list in which nothing is repeated."""
    if value is None:
        raise ConfigException(f"Configuration '{name}' values must not be null.")
    if isinstance(value, list) and len(set(value)) < len(value):
        raise ConfigException(f"Configuration '{name}' values must not be duplicated.")


def not_empty(name: str, value: object) -> None:
    """A string with something in it."""
    if value is not None and value == "":
        raise ConfigException.of(name, value, "String must be non-empty")


def present(name: str, value: object) -> None:
    """Anything but null."""
    if value is None:
        raise ConfigException.of(name, value, "entry must be non null")


def all_of(*checks: Check) -> Check:
    """What passes every check."""

    def check(name: str, value: object) -> None:
        for each in checks:
            each(name, value)

    return check
