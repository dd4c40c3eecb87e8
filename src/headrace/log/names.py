"""How the files of a segment are called, as Kafka calls them.

00000000000000000042.log            the batches; 42 is the first offset that may be inside
00000000000000000042.index          offset -> position, see offset_index
00000000000000000042.timeindex      timestamp -> offset, see time_index
00000000000000000042.txnindex       aborted transactions, see txn_index
….deleted  ….cleaned  ….swap        a file on its way out, being written, or taking its place
"""

from __future__ import annotations

from typing import Final

LOG: Final = ".log"
OFFSET_INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TXN_INDEX: Final = ".txnindex"
SEGMENT_FILES: Final = (LOG, OFFSET_INDEX, TIME_INDEX, TXN_INDEX)

DELETED: Final = ".deleted"
CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"

_DIGITS: Final = 20


def segment_path(folder: str, base_offset: int, suffix: str) -> str:
    return f"{folder}/{base_offset:020d}{suffix}"


def parse(name: str) -> tuple[int, str] | None:
    """Base offset and suffix (with its leading dot) of a segment's file; None for other files."""
    stem, suffix = name[:_DIGITS], name[_DIGITS:]
    if len(stem) != _DIGITS or not (stem.isascii() and stem.isdigit()) or suffix[:1] != ".":
        return None
    return int(stem), suffix
