"""Files of a data folder as memory that is only read, and how closely to look at them."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from headrace.cli.record_text import Encoding
from headrace.log import names

Entry: TypeAlias = dict[str, object]

MAX_SMALL_FILE_BYTES: Final = 64 << 20


class Wanted(NamedTuple):
    """How closely to look."""

    deep: bool = False
    verify: bool = False
    key: Encoding = Encoding.TEXT
    value: Encoding = Encoding.TEXT


def judged(entry: Entry, fault: str | None) -> Entry:
    """The entry with the verdict of `--verify`."""
    return entry | ({"valid": True} if fault is None else {"fault": fault})


def base_offset_of(path: Path) -> int:
    parsed = names.parse(path.name)
    assert parsed is not None, path
    return parsed[0]


def read_small(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_SMALL_FILE_BYTES)


def map_file(path: Path) -> memoryview:
    with path.open("rb") as file:
        if path.stat().st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
