"""What clients send to change settings."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

_OPERATIONS: Final = {"SET": 0, "DELETE": 1, "APPEND": 2, "SUBTRACT": 3}


class UpdateConfig(msgspec.Struct):
    """A new value for the setting in the path."""

    value: str | None = None


class ConfigChange(msgspec.Struct):
    """One change among several; `topic_name` only where settings of several topics change."""

    name: str
    value: str | None = None
    operation: Literal["SET", "DELETE", "APPEND", "SUBTRACT"] | None = None
    topic_name: str | None = None


class AlterConfigs(msgspec.Struct):
    """Changes that are made together, or only checked."""

    data: list[ConfigChange]
    validate_only: bool = False


def operation_of(change: ConfigChange) -> int:
    """The number of the operation in the protocol; without one it is a SET."""
    return _OPERATIONS[change.operation or "SET"]
