"""What a share consumer saw and said, line by line, so that it outlives a kill -9.

got   ID:COUNT ...      records were delivered, each for the COUNT-th time
say   ID:TYPE ...       their acknowledgements are about to be committed
done  ID ...            and are, says the broker
fail  ID ...            and are not
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple


class Word(StrEnum):
    GOT = "got"
    SAY = "say"
    DONE = "done"
    FAIL = "fail"


class Entry(NamedTuple):
    """One line: pairs of a record and a number, which is 0 where there is none."""

    word: Word
    pairs: list[tuple[int, int]]


class Journal:
    """One life of a consumer. Each line is one write, so it is there or it is not."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def note(self, word: Word, pairs: Iterable[tuple[int, int]]) -> None:
        said = " ".join(f"{number}:{detail}" for number, detail in pairs)
        if said:
            os.write(self._file, f"{word} {said}\n".encode())


def read(path: Path) -> Iterator[Entry]:
    for line in path.read_text().splitlines(keepends=True):
        if line.endswith("\n"):  # else its writer was killed in the middle of it
            word, *pairs = line.split()
            yield Entry(Word(word), [tuple(map(int, pair.split(":"))) for pair in pairs])  # type: ignore[misc]
