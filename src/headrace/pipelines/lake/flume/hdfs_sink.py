"""The HDFS sink: events into files that are rolled by time, size and count.

A folder is a place of the lake's writer, which rotates each for itself. A file is called
`<prefix>.<number><suffix>` and has `.tmp` behind it while it is written. Events are safe when their
file has its name: what a crash leaves in a `.tmp` file is read and written again.
"""

from __future__ import annotations

import datetime
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa

from headrace.errors import ConfigError
from headrace.pipelines.lake.faults import LakeFault
from headrace.pipelines.lake.filesystems.filesystem import Filesystem
from headrace.pipelines.lake.flume.components import Surroundings
from headrace.pipelines.lake.flume.escapes import Escaped, parts_below
from headrace.pipelines.lake.flume.event import Event, Receipt
from headrace.pipelines.lake.formats.format import Format, FormatFile
from headrace.pipelines.lake.formats.lines import LinesFormat
from headrace.pipelines.lake.jobs.locations import location_of
from headrace.pipelines.lake.jobs.properties import Properties
from headrace.pipelines.lake.partitioners import Placed
from headrace.pipelines.lake.rotation import Rotation, zone
from headrace.pipelines.lake.rows import Rows
from headrace.pipelines.lake.target import Place
from headrace.pipelines.lake.writer import LakeWriter
from headrace.runtime.clock import Clock

KNOWN: Final = frozenset(
    {
        *("type", "channel", "hdfs.path", "hdfs.filePrefix", "hdfs.fileSuffix", "hdfs.fileType"),
        *("hdfs.inUsePrefix", "hdfs.inUseSuffix", "hdfs.rollInterval", "hdfs.rollSize"),
        *("hdfs.rollCount", "hdfs.idleTimeout", "hdfs.batchSize", "hdfs.codeC", "hdfs.timeZone"),
        *("hdfs.useLocalTimeStamp", "hdfs.round", "hdfs.roundValue", "hdfs.roundUnit"),
        *("hdfs.writeFormat", "serializer", "serializer.appendNewline"),
    }
)
WITHOUT_EFFECT: Final = frozenset(
    {
        *("hdfs.maxOpenFiles", "hdfs.minBlockReplicas", "hdfs.threadsPoolSize", "hdfs.closeTries"),
        *("hdfs.rollTimerPoolSize", "hdfs.callTimeout", "hdfs.retryInterval", "hdfs.proxyUser"),
        *("hdfs.kerberosPrincipal", "hdfs.kerberosKeytab", "hdfs.emptyInUseSuffix"),
    }
)
_UNITS_S: Final = {"second": 1, "minute": 60, "hour": 3600}


class HdfsSink:
    """One thread uses it."""

    def __init__(self, name: str, settings: Properties, around: Surroundings) -> None:
        self._clock = around.clock
        self.remarks = settings.remarks(KNOWN, WITHOUT_EFFECT)
        _check_type(settings)
        path = settings.required(
            "hdfs.path", "the folder of the files, as hdfs://namenode:8020/logs"
        )
        timezone = _zone(settings)
        round_s = _round_s(settings)
        # The address of the file system stays as it is: escapes are for folders.
        self._root = location_of(path.partition("%")[0].rpartition("/")[0] + "/")
        rest = path[len(path.partition("%")[0].rpartition("/")[0]) :].lstrip("/")
        self._folder = Escaped(rest, settings.shown("hdfs.path"), timezone, round_s)
        prefix = settings.text("hdfs.filePrefix", "FlumeData")
        self._prefix = Escaped(prefix, settings.shown("hdfs.filePrefix"), timezone, round_s)
        self._by_clock = settings.flag("hdfs.useLocalTimeStamp", False)
        self.batch_size = settings.number("hdfs.batchSize", 100, at_least=1)
        self._sequence = 0
        self._unsafe: defaultdict[Place, deque[tuple[int, Receipt]]] = defaultdict(deque)
        self._idle_ms = settings.number("hdfs.idleTimeout", 0) * 1000
        self._touched: dict[Place, int] = {}
        self._writer = LakeWriter(
            FlumeFiles(self._root.open(), _format(settings), settings, around.clock),
            _OneFolder(),
            Rotation(
                rows=settings.number("hdfs.rollCount", 10) or None,
                interval_ms=settings.number("hdfs.rollInterval", 30) * 1000 or None,
                size=settings.number("hdfs.rollSize", 1024) or None,
            ),
            around.clock,
        )

    def write(self, events: Sequence[Event]) -> None:
        by_place: defaultdict[Place, list[Event]] = defaultdict(list)
        now_ms = self._clock.now_ms() if self._by_clock else None
        for event in events:
            by_place[self._place_of(event, now_ms)].append(event)
        added: list[Event] = []
        try:
            for place, part in by_place.items():
                self._add(place, part)
                added += part
        except Exception:
            for event in added:  # they come again with the others, and are settled again
                event.receipt.expect(1)
            raise

    def tick(self) -> None:
        try:
            self._writer.tick()
            if self._idle_ms:
                now_ms = self._clock.now_ms()
                for place in [p for p, at in self._touched.items() if now_ms - at >= self._idle_ms]:
                    self._writer.publish(place)
        except LakeFault:
            self._lose(list(self._unsafe))
            raise
        for place in list(self._unsafe):
            self._settle(place)

    def close(self) -> None:
        try:
            for place in list(self._unsafe):
                self._writer.publish(place)
                self._settle(place)
        finally:
            self._writer.close()

    def _place_of(self, event: Event, now_ms: int | None) -> Place:
        folder = self._folder.resolved(event.headers, now_ms)
        prefix = self._prefix.resolved(event.headers, now_ms)
        return self._root.below(*parts_below(f"{folder}/{prefix}")).path, 0

    def _add(self, place: Place, events: list[Event]) -> None:
        first = self._sequence
        self._sequence += len(events)
        rows = Rows(
            *place,
            pa.array([event.body for event in events], pa.binary()),
            pa.array(range(first, self._sequence), pa.int64()),
        )
        unsafe = self._unsafe[place]
        try:
            self._writer.write(rows)
        except LakeFault:
            self._lose([place])
            raise
        for number, event in enumerate(events, first):
            unsafe.append((number, event.receipt))
        self._touched[place] = self._clock.now_ms()
        self._settle(place)

    def _settle(self, place: Place) -> None:
        """Events whose file is published are safe."""
        safe = self._writer.safe(place)
        unsafe = self._unsafe[place]
        while unsafe and safe is not None and unsafe[0][0] < safe:
            unsafe.popleft()[1].settle()
        if not unsafe:
            self._unsafe.pop(place)
            self._touched.pop(place, None)
            self._writer.forget([place])

    def _lose(self, places: Iterable[Place]) -> None:
        """The writer has dropped what these folders had open: it must be read again."""
        for place in places:
            for _, receipt in self._unsafe.pop(place, ()):
                receipt.lose()
            self._touched.pop(place, None)


class _OneFolder:
    """A place is a folder already."""

    deterministic = True

    def place(self, rows: Rows, now_ms: int) -> Placed:
        return Placed([""], np.zeros(len(rows), np.int64))


class FlumeFiles:
    """A target whose files are written where they will be read, under another name."""

    def __init__(
        self, filesystem: Filesystem, format_: Format, settings: Properties, clock: Clock
    ) -> None:
        self.filesystem = filesystem
        self.format = format_
        self._suffix = settings.text("hdfs.fileSuffix")
        self._in_use = (
            settings.text("hdfs.inUsePrefix"),
            settings.text("hdfs.inUseSuffix", ".tmp"),
        )
        self._number = clock.now_ms()

    def positions(self, places: Iterable[Place]) -> dict[Place, int]:
        """Files do not say where a source stands."""
        return {}

    def begin(self, place: Place) -> FlumeFile:
        return FlumeFile(self, place)

    def staged(self, place: Place) -> tuple[BinaryIO, str, str]:
        """A new file, its path while it is written and that by which it will be read.

        Another agent may count from the same number. Its file is not replaced: who has created the
        file that is written looks whether there is a finished one.
        """
        folder, _, prefix = place[0].rpartition("/")
        before, behind = self._in_use
        while True:
            self._number += 1
            name = f"{prefix}.{self._number}{self._suffix}{self.format.extension}"
            path, final = f"{folder}/{before}{name}{behind}", f"{folder}/{name}"
            out = self.filesystem.stage(path)
            if path == final or not self.filesystem.is_staged(final):
                return out, path, final
            self.filesystem.discard(path, out)

    def close(self) -> None:
        self.filesystem.close()


class FlumeFile:
    """A file that is being written."""

    def __init__(self, target: FlumeFiles, place: Place) -> None:
        self.size = 0
        self._target = target
        self._place = place
        self._path = self._final = ""
        self._opened: tuple[BinaryIO, FormatFile] | None = None

    def write(self, folder: str, rows: Rows) -> None:
        files = self._target.filesystem
        if self._opened is None:
            out, self._path, self._final = self._target.staged(self._place)
            self._opened = out, self._target.format.open(out, rows)
        out, file = self._opened
        with files.told(self._path):
            file.write(rows)
            self.size = out.tell()

    def commit(self, first: int, following: int) -> None:
        if self._opened is None:
            return
        files = self._target.filesystem
        out, file = self._opened
        with files.told(self._path):
            file.finish()
        files.seal(self._path, out)
        if not files.publish(self._path, self._final):
            raise LakeFault(
                f"{files.url(self._path)} has vanished before it was renamed: leave files that "
                "are being written alone; its events are written again",
                passing=True,
            )

    def drop(self) -> None:
        if self._opened is None:
            return
        files = self._target.filesystem
        out, file = self._opened
        with suppress(LakeFault), files.told(self._path):
            file.abandon()
        files.discard(self._path, out)


def _check_type(settings: Properties) -> None:
    kind = settings.text("hdfs.fileType", "SequenceFile")
    if kind.lower() == "sequencefile":
        raise ConfigError(
            f"{settings.shown('hdfs.fileType')} is SequenceFile (the default), which only Hadoop "
            "itself reads and is not written here: set it to DataStream"
        )
    settings.choice("hdfs.fileType", "DataStream", ("DataStream", "CompressedStream"))


def _format(settings: Properties) -> Format:
    compressed = settings.text("hdfs.fileType").lower() == "compressedstream"
    if compressed and settings.text("hdfs.codeC", "gzip").lower() != "gzip":
        raise settings.wrong("hdfs.codeC", "gzip")
    settings.choice("serializer", "TEXT", ("TEXT",))
    newline = settings.flag("serializer.appendNewline", True)
    return LinesFormat("", separator=b"\n" if newline else b"", compress=compressed)


def _zone(settings: Properties) -> datetime.tzinfo:
    try:
        return zone(settings.text("hdfs.timeZone"))
    except ValueError as fault:
        raise settings.wrong("hdfs.timeZone", str(fault)) from None


def _round_s(settings: Properties) -> int:
    if not settings.flag("hdfs.round", False):
        return 0
    unit = settings.choice("hdfs.roundUnit", "second", tuple(_UNITS_S))
    return settings.number("hdfs.roundValue", 1, at_least=1) * _UNITS_S[unit]
