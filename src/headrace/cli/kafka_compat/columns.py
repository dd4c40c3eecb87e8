"""Columns as Kafka's tools print them: left-aligned, one space between, the last one as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

LEAST: Final = 15
"""The width that most columns have at least."""
AS_IT_IS: Final = 0


class Column(NamedTuple):
    head: str
    cells: Sequence[str]
    width: int


def column(
    head: str, cells: Iterable[object], width: int | None = None, *, least: int = LEAST
) -> Column:
    """Of a fixed width, or as wide as its longest cell."""
    texts = ["-" if cell is None else str(cell) for cell in cells]
    return Column(head, texts, max(least, *map(len, texts), 0) if width is None else width)


def lines_of(*columns: Column | None) -> list[str]:
    """The heads, then a line for each row; None stands for a column that is not wanted."""
    wanted = [each for each in columns if each is not None]
    padded = [[text.ljust(each.width) for text in (each.head, *each.cells)] for each in wanted]
    return [" ".join(cells) for cells in zip(*padded, strict=True)]


def text_of(lines: Iterable[str]) -> str:
    """An empty line, then these."""
    return "".join(f"\n{line}" for line in lines) + "\n"
