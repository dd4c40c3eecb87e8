"""What a setting is: its type, what it may be, who may change it, and how text becomes a value.

A `ConfigKey` is one entry of a declaration. Values travel as text (properties files, the protocol
and the coordination tree all carry text); `ConfigKey.parse` is the only place where text becomes a
Python value, and the error it raises names the key, the value and what is allowed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from headrace.errors import ConfigError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Settings = TypeVar("Settings")

INT_MAX: Final = (1 << 31) - 1
LONG_MAX: Final = (1 << 63) - 1
SHORT_MAX: Final = (1 << 15) - 1
HIDDEN: Final = "[hidden]"

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class ConfigType(IntEnum):
    """The type codes of DescribeConfigs v3 and later."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class UpdateMode(Enum):
    """How a broker setting may change while the broker runs."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Importance(Enum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Allowed:
    """A rule that a parsed value must meet, and the rule in words for errors and the reference."""

    words: str
    accepts: Callable[[Any], bool]


def at_least(minimum: float) -> Allowed:
    return Allowed(f"at least {minimum}", lambda value: value >= minimum)


def between(minimum: float, maximum: float) -> Allowed:
    return Allowed(f"{minimum} to {maximum}", lambda value: minimum <= value <= maximum)


def one_of(*values: str) -> Allowed:
    return Allowed("one of " + ", ".join(values), lambda value: value in values)


def one_of_in_any_case(*values: str) -> Allowed:
    return Allowed("one of " + ", ".join(values), lambda value: value.lower() in values)


def list_of(*values: str) -> Allowed:
    return Allowed(
        "a list of " + ", ".join(values), lambda items: all(item in values for item in items)
    )


def matching(pattern: str, words: str) -> Allowed:
    """Every item of a list, or the whole text, must match the pattern."""
    compiled = re.compile(pattern)
    return Allowed(
        words,
        lambda value: all(
            compiled.fullmatch(item) for item in (value if isinstance(value, list) else [value])
        ),
    )


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """The declaration of one setting. `default` is text as in a file; None means unset."""

    name: str
    type: ConfigType
    default: str | None
    documentation: str
    allowed: Allowed | None = None
    importance: Importance = Importance.MEDIUM
    mode: UpdateMode = UpdateMode.READ_ONLY
    aliases: dict[str, str] = field(default_factory=dict)

    @property
    def sensitive(self) -> bool:
        return self.type is ConfigType.PASSWORD

    @property
    def read_only(self) -> bool:
        return self.mode is UpdateMode.READ_ONLY

    def parse(self, text: str) -> Any:
        """The value that the text stands for, or ConfigError."""
        text = self.aliases.get(text.strip(), text)
        try:
            value = _PARSERS[self.type](text)
        except ValueError as error:
            raise ConfigError(self._complaint(text, str(error))) from None
        if self.allowed is not None and not self.allowed.accepts(value):
            raise ConfigError(self._complaint(text, f"allowed is {self.allowed.words}"))
        return value

    def normalize(self, text: str) -> str:
        """The text as it is stored and shown, without stray spaces and other spellings."""
        value = self.parse(text)
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, list):
            return ",".join(value)
        return self.aliases.get(text.strip(), text.strip())

    def _complaint(self, text: str, reason: str) -> str:
        shown = HIDDEN if self.sensitive else text
        return f"Invalid value {shown} for configuration {self.name}: {reason}"


def fill(settings: type[Settings], value_of: Callable[[str], Any], **given: object) -> Settings:
    """A dataclass whose fields are named as settings, with underscores for dots.

    The declarations alone know defaults and types: a field with a default of its own is no setting.
    """
    values = dict(given)
    for each in fields(cast("type[DataclassInstance]", settings)):
        if each.name not in values and each.default is MISSING:
            value = value_of(each.name.replace("_", "."))
            values[each.name] = tuple(value) if isinstance(value, list) else value
    return settings(**values)


def _boolean(text: str) -> bool:
    match text.strip().lower():
        case "true":
            return True
        case "false":
            return False
    raise ValueError("allowed is true or false")


def _integer(maximum: int, name: str) -> Callable[[str], int]:
    def parse(text: str) -> int:
        stripped = text.strip()
        # A longer number cannot be in range, and converting it could take very long.
        if _INTEGER.fullmatch(stripped) and len(stripped) <= 20:
            value = int(stripped)
            if -maximum - 1 <= value <= maximum:
                return value
        raise ValueError(f"Not a number of type {name}")

    return parse


def _double(text: str) -> float:
    stripped = text.strip()
    if not _DECIMAL.fullmatch(stripped):
        raise ValueError("Not a number of type DOUBLE")
    value = float(stripped)
    if math.isinf(value):
        raise ValueError("Not a number of type DOUBLE")
    return value


def _list(text: str) -> list[str]:
    if not text.strip():
        return []
    items = [item.strip() for item in text.split(",")]
    if not all(items):
        raise ValueError("an item of the list is empty")
    return list(dict.fromkeys(items))


_PARSERS: Final[dict[ConfigType, Callable[[str], Any]]] = {
    ConfigType.BOOLEAN: _boolean,
    ConfigType.STRING: str.strip,
    ConfigType.INT: _integer(INT_MAX, "INT"),
    ConfigType.SHORT: _integer(SHORT_MAX, "SHORT"),
    ConfigType.LONG: _integer(LONG_MAX, "LONG"),
    ConfigType.DOUBLE: _double,
    ConfigType.LIST: _list,
    ConfigType.CLASS: str.strip,
    ConfigType.PASSWORD: str.strip,
}

# Short names, so that a declaration reads as a table.
BOOLEAN: Final = ConfigType.BOOLEAN
STRING: Final = ConfigType.STRING
INT: Final = ConfigType.INT
SHORT: Final = ConfigType.SHORT
LONG: Final = ConfigType.LONG
DOUBLE: Final = ConfigType.DOUBLE
LIST: Final = ConfigType.LIST
CLASS: Final = ConfigType.CLASS
PASSWORD: Final = ConfigType.PASSWORD
HIGH: Final = Importance.HIGH
LOW: Final = Importance.LOW
PER_BROKER: Final = UpdateMode.PER_BROKER
CLUSTER_WIDE: Final = UpdateMode.CLUSTER_WIDE
FOREVER: Final = str(LONG_MAX)
