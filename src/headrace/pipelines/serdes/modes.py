"""What becomes of a value that cannot be decoded: the modes that all formats share.

    MODE          A BAD VALUE
    FAILFAST      stops the query with an error that says where and why
    PERMISSIVE    becomes null
    dead letter   the result is struct<value, error>: the value is null and the error says why

Names of modes and of options are those of Spark's own functions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from typing import Final

from headrace.errors import ConfigError

MODE_OPTION: Final = "mode"


class Mode(Enum):
    FAILFAST = "FAILFAST"
    PERMISSIVE = "PERMISSIVE"
    DEAD_LETTER = "dead letter"


class Options:
    """Options by name, whatever the case; those that nobody asks for are refused by name."""

    def __init__(self, given: Mapping[str, str] | None, known: Collection[str]) -> None:
        self._values = {name.lower(): str(value) for name, value in (given or {}).items()}
        allowed = {name.lower() for name in known}
        for name in given or {}:
            if name.lower() not in allowed:
                raise ConfigError(f"unknown option {name}; known are {', '.join(sorted(known))}")

    def text(self, name: str, default: str | None = None) -> str | None:
        return self._values.get(name.lower(), default)

    def flag(self, name: str) -> bool:
        value = self._values.get(name.lower(), "false").lower()
        if value not in ("true", "false"):
            raise ConfigError(f"option {name} is {value}: allowed are true and false")
        return value == "true"

    def number(self, name: str, default: int, largest: int) -> int:
        value = self._values.get(name.lower(), str(default))
        if not value.removeprefix("-").isdecimal() or int(value) > largest:
            raise ConfigError(f"option {name} is {value}: allowed are whole numbers to {largest}")
        return int(value)


def choose_mode(
    by_option: str | None, mode: str | None, *, dead_letter: bool, default: Mode
) -> Mode:
    """The mode by argument or, as with Spark's functions, by option."""
    chosen = mode if mode is not None else by_option
    allowed = {Mode.FAILFAST.value: Mode.FAILFAST, Mode.PERMISSIVE.value: Mode.PERMISSIVE}
    if chosen is not None and chosen.upper() not in allowed:
        raise ConfigError(f"mode is {chosen}: allowed are {' and '.join(allowed)}")
    if dead_letter:
        if chosen is not None and chosen.upper() == Mode.FAILFAST.value:
            raise ConfigError("dead_letter keeps the query running, FAILFAST stops it: choose one")
        return Mode.DEAD_LETTER
    return allowed[chosen.upper()] if chosen is not None else default
