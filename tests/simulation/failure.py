"""How a broken invariant is told: its name, and what was seen."""

from __future__ import annotations

from typing import NoReturn


class InvariantBroken(AssertionError):
    """Something happened that must never happen."""


def fail(invariant: str, seen: str) -> NoReturn:
    raise InvariantBroken(f"{invariant}: {seen}")


def check(condition: bool, invariant: str, seen: str) -> None:
    if not condition:
        fail(invariant, seen)
