"""Where the values of an Arrow column lie, and what is said of one that cannot be decoded.

A decoder is given spans rather than a column, so that a frame around a value costs nothing: whoever
knows its length moves the starts, and whoever knows that values have different schemas gives each
decoder the rows that are its own and calls the others null.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


class BadValue(NamedTuple):
    """A value that cannot be decoded: where it is, where in it, and why."""

    row: int
    position: int
    path: str
    expected: str
    reason: str

    def __str__(self) -> str:
        place = f"byte {self.position}" + (f", field {self.path}" if self.path else "")
        return f"{place}: expected {self.expected}, but {self.reason}"


class Spans(NamedTuple):
    """The bytes of a column, and for each row where it starts and ends; -1, -1: null."""

    data: NDArray[np.uint8]
    rows: NDArray[np.int64]

    @property
    def total_bytes(self) -> int:
        return int((self.rows[:, 1] - self.rows[:, 0]).sum())

    def after(self, prefix_bytes: int) -> Spans:
        """The same values without their first bytes; one that is shorter is left empty."""
        rows = self.rows.copy()
        present = rows[:, 0] >= 0
        rows[present, 0] = np.minimum(rows[present, 0] + prefix_bytes, rows[present, 1])
        return Spans(self.data, rows)

    def only(self, chosen: NDArray[np.bool_]) -> Spans:
        """The same rows, of which all but the chosen are null."""
        rows = self.rows.copy()
        rows[~chosen] = -1
        return Spans(self.data, rows)


def spans_of(values: pa.Array) -> Spans:
    """The spans of a column of bytes or text."""
    offsets = offsets_of(values)
    rows = np.stack([offsets[:-1], offsets[1:]], axis=1)
    if values.null_count:
        rows[values.is_null().to_numpy(zero_copy_only=False)] = -1
    buffer = values.buffers()[2]
    data = np.frombuffer(buffer if buffer is not None else b"", dtype=np.uint8)
    data.flags.writeable = False
    return Spans(data, rows)


def offsets_of(values: pa.Array) -> NDArray[np.int64]:
    """The offsets of a column of bytes or text into its last buffer."""
    large = pa.types.is_large_binary(values.type) or pa.types.is_large_string(values.type)
    if not len(values):
        return np.zeros(1, dtype=np.int64)
    offsets = np.frombuffer(values.buffers()[1], dtype=np.int64 if large else np.int32)
    return offsets[values.offset : values.offset + len(values) + 1].astype(np.int64)
