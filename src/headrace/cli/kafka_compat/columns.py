"""Columns as Kafka's tools print them: left-aligned, one space between, the last one as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

LEAST: Final = 15
"""The width that most columns have at least."""


def row(cells: Sequence[object], widths: Sequence[int]) -> str:
    """One line; a width for each cell, zero for "as long as it is"."""
    return " ".join(str(cell).ljust(width) for cell, width in zip(cells, widths, strict=True))


def widest(texts: Iterable[str], least: int = LEAST) -> int:
    """The width of a column with these texts."""
    return max(least, max(map(len, texts), default=0))


def known(value: object | None) -> str:
    """A dash for what nobody knows."""
    return "-" if value is None else str(value)
