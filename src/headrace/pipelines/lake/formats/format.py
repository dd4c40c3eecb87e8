"""What the writer asks of a file format."""

from __future__ import annotations

from typing import BinaryIO, Protocol

from headrace.pipelines.lake.rows import Rows


class FormatFile(Protocol):
    """A file that is being written; `Rows.shape` is the same for all of its rows."""

    def write(self, rows: Rows) -> None:
        """Add rows."""

    def finish(self) -> None:
        """Write what remains. The stream stays open."""

    def abandon(self) -> None:
        """Let go of the file, which nobody will read."""


class Format(Protocol):
    """How rows become bytes."""

    extension: str

    def open(self, out: BinaryIO, rows: Rows) -> FormatFile:
        """Begin a file for rows of the shape of `rows`, which are not written yet."""
