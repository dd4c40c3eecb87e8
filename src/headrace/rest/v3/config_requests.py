"""What clients send to change settings."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from headrace.admin.client import DELETE, SET, Alteration

_OPERATIONS: Final = {"SET": SET, "DELETE": DELETE, "APPEND": 2, "SUBTRACT": 3}


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


def alteration_of(change: ConfigChange) -> Alteration:
    """The change as the protocol has it; without an operation it is a SET."""
    return Alteration(change.name, _OPERATIONS[change.operation or "SET"], change.value)
