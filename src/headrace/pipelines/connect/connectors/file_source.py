"""FileStreamSource: the lines of a file that grows, or of standard input, as strings.

A line ends with a line feed, a carriage return, or both; one that has not ended yet is left for
later. The position is the byte after the last line that was read. The file may come later than the
connector.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from typing import IO, Final

import numpy as np
import pyarrow as pa

from headrace.pipelines.connect.config.definition import not_empty
from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.batch import Batch, Mark
from headrace.pipelines.connect.model.column import Column, nothing
from headrace.pipelines.connect.tasks import Offsets, SourceTask, source

_LOG: Final = logging.getLogger(__name__)
_CHUNK: Final = 1 << 20
_MOST_LINE: Final = 128 << 20
_RETRY_S: Final = 1.0
_NEWLINE: Final = ord("\n")


class FileSourceSettings(Config):
    """What can be set."""

    file: str | None = Config.key(
        "file",
        default=None,
        doc="Source filename. If not specified, the standard input will be used",
        importance="high",
    )
    topic: str = Config.key(
        "topic", doc="The topic to publish data to", importance="high", check=not_empty
    )
    rows: int = Config.key(
        "batch.size",
        default=2000,
        doc="The maximum number of records the source task can read from the file each time",
        importance="low",
        at_least=1,
    )


@source(
    "org.apache.kafka.connect.file.FileStreamSourceConnector",
    version="4.3.0",
    settings=FileSourceSettings,
    aliases=("FileStreamSourceConnector", "FileStreamSource"),
    exactly_once=True,
)
class FileStreamSource(SourceTask):
    """One task reads one file."""

    def open(self, settings: Config, offsets: Offsets) -> None:
        assert isinstance(settings, FileSourceSettings)
        self._settings = settings
        self._where = {"filename": settings.file}
        self._file: IO[bytes] | None = None
        self._at = 0
        self._pending = b""
        if settings.file is None:
            os.set_blocking(sys.stdin.fileno(), False)
            self._file = sys.stdin.buffer
            return
        kept = offsets(self._where) or {}
        position = kept.get("position", 0)
        self._at = position if isinstance(position, int) else 0

    def poll(self) -> Iterator[Batch]:
        if self._file is None and not self._find():
            self.context.wait(_RETRY_S)
            return
        data = self._more()
        used = 0
        for lines, end in _lines(data, self._settings.rows):
            self._at += end - used
            used = end
            yield self._batch(lines)
        self._pending = data[used:]

    def close(self) -> None:
        if self._file is not None and self._settings.file is not None:
            self._file.close()

    def _find(self) -> bool:
        """Open the file where it was left; false while there is none."""
        path = self._settings.file
        assert path is not None
        try:
            self._file = open(path, "rb", buffering=0)  # noqa: SIM115 closed by `close`
        except FileNotFoundError:
            _LOG.warning("there is no file %s yet; the source tries to open it each second", path)
            return False
        self._file.seek(self._at)
        return True

    def _more(self) -> bytes:
        """What was left, and what the file has beyond it; larger pieces for longer lines."""
        assert self._file is not None
        if len(self._pending) > _MOST_LINE:
            raise ConnectException(
                f"{self._settings.file} has a line of more than {_MOST_LINE >> 20} MiB at byte "
                f"{self._at}: no record can hold it"
            )
        wanted = max(_CHUNK, 2 * len(self._pending))
        return self._pending + (self._file.read(wanted) or b"")

    def _batch(self, lines: pa.Array | list[object]) -> Batch:
        rows = len(lines)
        offset = {} if self._settings.file is None else {"position": self._at}
        return Batch(
            self._settings.topic,
            nothing(rows),
            Column(schemas.STRING, lines),
            pa.array(np.arange(rows)),
            marks=(Mark(rows, self._where, offset),) if offset else (),
        )


def _lines(data: bytes, most: int) -> Iterator[tuple[pa.Array | list[object], int]]:
    """The whole lines, up to `most` at a time, each time with the place behind the last one."""
    if b"\r" in data:
        yield from _lines_of_any_kind(data, most)
        return
    raw = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(raw == _NEWLINE)
    for first in range(0, len(ends), most):
        chosen = ends[first : first + most]
        begin = int(ends[first - 1]) + 1 if first else 0
        end = int(chosen[-1]) + 1
        text = raw[begin:end]
        starts = np.empty(len(chosen) + 1, np.int32)
        starts[0] = 0
        # Each line is as many bytes further to the left as there were ends before it.
        starts[1:] = chosen - begin - np.arange(len(chosen))
        buffers = [None, pa.py_buffer(starts), pa.py_buffer(text[text != _NEWLINE])]
        yield _checked(pa.Array.from_buffers(pa.string(), len(chosen), buffers)), end


def _lines_of_any_kind(data: bytes, most: int) -> Iterator[tuple[list[object], int]]:
    lines: list[object] = []
    used = 0
    while (end := _end_of_line(data, used)) is not None:
        stop, following = end
        lines.append(data[used:stop].decode(errors="replace"))
        used = following
        if len(lines) == most:
            yield lines, used
            lines = []
    if lines:
        yield lines, used


def _end_of_line(data: bytes, start: int) -> tuple[int, int] | None:
    """Where a line stops and where the next one begins; None if it has not ended."""
    feed = data.find(b"\n", start)
    back = data.find(b"\r", start, feed if feed >= 0 else len(data))
    if back < 0:
        return None if feed < 0 else (feed, feed + 1)
    if back + 1 == len(data):
        return None  # the next byte says whether it belongs to the end
    return back, back + (2 if data[back + 1] == _NEWLINE else 1)


def _checked(lines: pa.Array) -> pa.Array | list[object]:
    """The lines, with a replacement character for what is no UTF-8."""
    try:
        lines.validate(full=True)
        return lines
    except pa.ArrowInvalid:
        return [line.decode(errors="replace") for line in lines.cast(pa.binary()).to_pylist()]
