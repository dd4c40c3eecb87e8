"""The parts of Arrow arrays, gathered in one piece of memory that an encoding kernel can address.

    FIELD    MEANING
    VALID    first validity byte, one byte per element; -1: no element is null
    DATA     first element: in 64-bit words for words, in bytes for everything else
    OFFSETS  first of the 64-bit offsets of bytes or of a list

To copy the parts costs little beside encoding them, and spares the kernel one argument per column.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headrace.errors import CorruptData
from headrace.pipelines.serdes.spans import offsets_of

MAX_OUTPUT_BYTES: Final = (1 << 31) - 1


class Packing:
    """Takes arrays one by one; `finish` gives the table of columns and the memory."""

    def __init__(self) -> None:
        self._pieces: list[NDArray[np.uint8]] = []
        self._size = 0
        self._table: list[tuple[int, int, int]] = []

    def add(
        self,
        array: pa.Array,
        *,
        words: NDArray[np.int64] | None = None,
        octets: NDArray[np.uint8] | None = None,
        offsets: pa.Array | None = None,
    ) -> int:
        """A column of `array`'s validity with one kind of elements; its number."""
        valid = -1
        if array.null_count:
            valid = self._place(array.is_valid().to_numpy(zero_copy_only=False).view(np.uint8))
        data = start = 0
        if words is not None:
            data = self._place(words) // 8
        elif octets is not None:
            data = self._place(octets)
        elif offsets is not None:
            start = self._place(offsets.to_numpy().astype(np.int64)) // 8
        self._table.append((valid, data, start))
        return len(self._table) - 1

    def add_bytes(self, array: pa.Array) -> int:
        """A column of bytes or text."""
        if pa.types.is_fixed_size_binary(array.type):
            array = array.cast(pa.binary())
        offsets = offsets_of(array)
        first, last = int(offsets[0]), int(offsets[-1])
        column = self.add(array)
        valid = self._table[column][0]
        data = array.buffers()[2]
        octets = np.frombuffer(data if data is not None else b"", dtype=np.uint8)[first:last]
        at = self._place(octets)
        self._table[column] = (valid, at, self._place(offsets - first) // 8)
        return column

    def finish(self) -> tuple[NDArray[np.int64], tuple[NDArray[np.uint8], NDArray[np.int64]]]:
        # One column more, so that an instruction without a column reads a table that is there.
        table = np.array([*self._table, (-1, 0, 0)], dtype=np.int64)
        memory = np.zeros(self._size, dtype=np.uint8)
        at = 0
        for piece in self._pieces:
            memory[at : at + len(piece)] = piece
            at += _aligned(len(piece))
        return table, (memory, memory.view(np.int64))

    def _place(self, piece: NDArray[np.uint8] | NDArray[np.int64]) -> int:
        flat = np.ascontiguousarray(piece).view(np.uint8)
        at = self._size
        self._pieces.append(flat)
        self._size += _aligned(len(flat))
        return at


def binary_array(
    present: NDArray[np.uint8], offsets: NDArray[np.int64], out: NDArray[np.uint8]
) -> pa.Array:
    """What a kernel wrote, as an Arrow array."""
    if offsets[-1] > MAX_OUTPUT_BYTES:
        raise CorruptData(
            f"the encoded batch of {len(present)} values has more than 2 GiB: "
            "lower spark.sql.execution.arrow.maxRecordsPerBatch"
        )
    validity = None
    if not present.all():
        validity = pa.py_buffer(np.packbits(present, bitorder="little"))
    buffers = [validity, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(out[: offsets[-1]])]
    return pa.Array.from_buffers(pa.binary(), len(present), buffers)


def _aligned(size: int) -> int:
    return -(-size // 8) * 8
