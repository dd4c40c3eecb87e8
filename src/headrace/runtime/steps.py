"""Long work cut into steps, so that the caller can do something else between two of them."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")
Steps = Generator[None, None, T]
"""A generator that stops after each step; what it returns is the outcome of the work."""


def finish(steps: Steps[T]) -> T:
    """Do all that is left, at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            outcome: T = end.value
            return outcome
