"""Going through the batches of a log file, one after the other.

`walk` hops from header to header and trusts them: it is how a position is found. `intact` reads
everything and believes nothing: it is how a log is recovered. Both work on a file and two
positions; segments, indexes and offsets that should be there are not known here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from headrace.errors import CorruptData
from headrace.records.batch import (
    HEADER_SIZE,
    MAGIC,
    MIN_BATCH_LENGTH,
    BatchHeader,
    damage,
    read_header,
)
from headrace.runtime.disk import File

WINDOW_BYTES: Final = 8 * 1024
"""What `walk` reads at a time: the distance of two index entries and a few small batches more."""

CHUNK_BYTES: Final = 512 * 1024
"""What `intact` reads at a time, unless it is told: enough to make the price of a call vanish, and
so little that it is still in the processor's cache when its checksum is computed."""


def walk(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of each batch from `position` on, without looking at the records.

    CorruptData if the chain of headers breaks before `end`.
    """
    window, start = b"", position
    while position < end:
        at = position - start
        if at + HEADER_SIZE > len(window):
            window, start, at = file.read(position, WINDOW_BYTES), position, 0
        try:
            header = read_header(window, at)
        except CorruptData as error:
            raise CorruptData(f"{file.path}, byte {position}: {error}") from None
        if (
            header.magic != MAGIC
            or header.batch_length < MIN_BATCH_LENGTH
            or header.base_offset < 0
            or header.last_offset_delta < 0
        ):
            raise CorruptData(f"{file.path}, byte {position}: no batch begins here")
        yield position, header
        position += header.size
    if position != end:
        raise CorruptData(f"{file.path}: the last batch ends at byte {position}, the file at {end}")


def intact(
    file: File, position: int, end: int, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """Position, header and bytes of each batch whose structure and CRC are right.

    Ends at `end` or before the first batch that is torn or damaged; the caller sees which by the
    last position that it was given. The bytes are valid until the next batch is asked for.
    """
    chunk_bytes = max(chunk_bytes, HEADER_SIZE)
    wanted = chunk_bytes
    while end - position >= HEADER_SIZE:
        chunk = memoryview(file.read(position, min(wanted, end - position)))
        limit = len(chunk)
        at = 0
        size = HEADER_SIZE
        while limit - at >= HEADER_SIZE:
            header = read_header(chunk, at)
            size = header.size
            if size > limit - at:
                break
            batch = chunk[at : at + size]
            if damage(batch, header):
                return
            yield position + at, header, batch
            at += size
        position += at
        wanted = chunk_bytes
        if at == 0:
            # Not one whole batch fitted: it is a large one, or the file ends inside it.
            if size > end - position or limit < HEADER_SIZE:
                return
            wanted = size
