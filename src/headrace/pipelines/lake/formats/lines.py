"""Values one after the other with a separator: JSON lines, text, bytes."""

from __future__ import annotations

import gzip
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipelines.lake.rows import Rows

_LEVEL: Final = 6


class LinesFormat:
    """Values are strings or bytes. `compress` is gzip, and shows in the name of the file."""

    def __init__(
        self, extension: str = ".json", *, separator: bytes = b"\n", compress: bool = False
    ) -> None:
        self.extension = extension + (".gz" if compress else "")
        self._separator = separator
        self._compress = compress

    def open(self, out: BinaryIO, rows: Rows) -> LinesFile:
        """Begin a file."""
        if not self._compress:
            return LinesFile(out, self._separator, None)
        packed = gzip.GzipFile(fileobj=out, mode="wb", compresslevel=_LEVEL, mtime=0)
        return LinesFile(packed, self._separator, packed)


class LinesFile:
    """A file of values."""

    def __init__(
        self, out: BinaryIO | gzip.GzipFile, separator: bytes, packed: gzip.GzipFile | None
    ) -> None:
        self._out = out
        self._separator = separator
        self._packed = packed

    def write(self, rows: Rows) -> None:
        """Add values, each with the separator behind it."""
        self._out.write(_joined(rows.values, self._separator))

    def finish(self) -> None:
        """Write the end of what is compressed."""
        if self._packed is not None:
            self._packed.close()

    def abandon(self) -> None:
        """Write the end, as that is how the compressor is let go of."""
        self.finish()


def _joined(values: pa.Array, separator: bytes) -> memoryview:
    """The bytes of all values, taken out of one Arrow buffer."""
    data = values.cast(pa.binary())
    ended = pc.binary_join_element_wise(
        data, b"", separator, null_handling="replace", null_replacement=b""
    )
    _, ends, held = ended.buffers()
    offsets = memoryview(ends).cast("i")[ended.offset : ended.offset + len(ended) + 1]
    return memoryview(held or b"")[offsets[0] : offsets[-1]]
