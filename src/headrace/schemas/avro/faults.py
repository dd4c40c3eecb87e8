"""How a value that does not fit its schema is told apart, with the path to the place.

The path grows while the fault travels outwards, so that values that fit cost nothing for it.
"""

from __future__ import annotations

from headrace.schemas.model import InvalidValue

_SHOWN_CHARACTERS = 80


class Misfit(Exception):
    """One value that does not fit; `path` holds the keys that lead to it, the innermost first."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.path: list[str | int] = []

    def as_invalid_value(self) -> InvalidValue:
        """The error for the outside."""
        where = "/" + "/".join(map(str, reversed(self.path)))
        return InvalidValue(f"{self} (at {where})")


def expected(what: str, value: object) -> Misfit:
    """The fault of a value of the wrong type."""
    text = repr(value)
    shown = text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
    return Misfit(f"Expected {what}, got {shown}")
