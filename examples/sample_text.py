"""A few lines of text for the word counts."""

from __future__ import annotations

from typing import Final

from examples.topics import Draft

LINES: Final = (
    "the mill takes water from the race",
    "the race takes water from the river",
    "a river needs no mill",
    "a mill needs a river",
)


def lines(times: int = 25) -> list[Draft]:
    """The lines again and again, without keys."""
    return [Draft(line) for _ in range(times) for line in LINES]
