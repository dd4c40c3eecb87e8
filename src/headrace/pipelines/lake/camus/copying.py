"""One unit of work: a range of offsets, read, decoded and published by the lake's writer.

The writer's journal keeps where a partition stands, so a run that was killed between publishing and
its history copies nothing twice.
"""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import pyarrow as pa

from headrace.errors import ConfigError, HeadraceError
from headrace.pipelines.lake.camus import settings as keys
from headrace.pipelines.lake.camus.decoders import MessageDecoder, decoder_named
from headrace.pipelines.lake.camus.providers import format_named
from headrace.pipelines.lake.camus.settings import CamusSettings
from headrace.pipelines.lake.camus.units import Outcome
from headrace.pipelines.lake.files import FileTarget
from headrace.pipelines.lake.jobs.attempts import told, tried
from headrace.pipelines.lake.layout import Layout
from headrace.pipelines.lake.partitioners import TimePartitioner
from headrace.pipelines.lake.rotation import Rotation, zone
from headrace.pipelines.lake.rows import Rows
from headrace.pipelines.lake.times import RecordTime
from headrace.pipelines.lake.writer import LakeWriter
from headrace.pipelines.source.options import SourceOptions
from headrace.pipelines.source.reading import read_range
from headrace.pipelines.source.split import OffsetRange
from headrace.pipelines.source.subscription import TopicNames
from headrace.runtime.clock import Clock, SystemClock

_PATTERN: Final = "yyyy/MM/dd/HH"
_PATTERN_OF_MINUTES: Final = "yyyy/MM/dd/HH/mm"
_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 86_400_000
_MAX_ERRORS: Final = 1000
_MAX_SHOWN: Final = 1024
POSITIONS: Final = ".positions"


class TooManySkipped(HeadraceError):
    """More messages could not be decoded than the job allows."""


@dataclass(frozen=True, slots=True)
class CamusLayout(Layout):
    """`<topic>/hourly/2026/11/18/16/<topic>.<partition>.<first offset>.<last offset>.txt`"""

    subfolder: str = "hourly"

    def published(
        self, topic: str, partition: int, folder: str, first: int, last: int, extension: str
    ) -> str:
        name = f"{topic}.{partition}.{first}.{last}{extension}"
        parts = (self.topics_dir, topic, self.subfolder, folder, name)
        return "/".join(part for part in parts if part)

    def range_of(self, topic: str, path: str) -> tuple[int, int, int] | None:
        named = rf"{re.escape(topic)}\.(\d+)\.(\d+)\.(\d+)(?:\D[^/]*)?"
        found = re.fullmatch(named, path.rpartition("/")[2])
        return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


def copy(settings: CamusSettings, unit: OffsetRange) -> Outcome:
    """Copy a unit, with as many attempts as the job allows; a fault is part of the outcome."""
    try:
        return tried(
            settings.attempts,
            lambda: _copy(settings, unit, SystemClock()),
            (ConfigError, TooManySkipped),
        )
    except Exception as fault:  # a unit that fails must not take the others with it
        return Outcome(unit, unit.start, fault=told(fault))


def _copy(settings: CamusSettings, unit: OffsetRange, clock: Clock) -> Outcome:
    place = (unit.topic, unit.partition)
    decoder = decoder_named(settings.decoder_of(unit.topic), settings.given, unit.topic)
    writer = _writer(settings, clock)
    copying = _Copying(settings, unit, decoder, writer, clock)
    try:
        published = writer.begin([place]).get(place, 0)
        if published > unit.end:
            raise ConfigError(
                f"{settings.destination} has {unit.topic}-{unit.partition} up to offset "
                f"{published - 1}, but its log ends at {unit.end}: if the topic was created again, "
                f"give the job another {keys.DESTINATION}"
            )
        reached = copying.run(unit._replace(start=max(unit.start, published)))
        copying.check()
        writer.publish(place)
    finally:
        writer.close()
    return Outcome(unit, reached, copying.written, copying.skipped, tuple(copying.errors))


def _writer(settings: CamusSettings, clock: Clock) -> LakeWriter:
    destination = settings.destination
    layout = CamusLayout(
        destination.path, destination.below(POSITIONS).path, subfolder=settings.subfolder
    )
    whole_hours = settings.partition_minutes % 60 == 0
    return LakeWriter(
        FileTarget(
            destination.open(), format_named(settings.provider, settings.given), layout=layout
        ),
        TimePartitioner(
            _PATTERN if whole_hours else _PATTERN_OF_MINUTES,
            settings.partition_minutes * 60_000,
            timezone=zone(settings.zone),
            extractor=RecordTime(),
        ),
        Rotation(),
        clock,
    )


@dataclass(slots=True)
class _Copying:
    """The way from the log to the writer, and what is counted on it."""

    settings: CamusSettings
    unit: OffsetRange
    decoder: MessageDecoder
    writer: LakeWriter
    clock: Clock
    written: int = 0
    skipped: int = 0
    bad: int = 0
    errors: list[Mapping[str, object]] = field(default_factory=list)
    until_ms: int | None = None

    def run(self, wanted: OffsetRange) -> int:
        """Copy a range; the offset behind the last message that was looked at."""
        started = self.clock.monotonic_ms()
        for rows in _read(self.settings, wanted):
            kept = self._until_hours_are_over(rows)
            self._write(rows.slice(0, kept))
            if kept < rows.num_rows:
                return int(rows.column("offset")[kept].as_py())
            minutes = (self.clock.monotonic_ms() - started) / 60_000
            if 0 <= self.settings.pull_minutes <= minutes:
                return int(rows.column("offset")[-1].as_py()) + 1
        return wanted.end

    def check(self) -> None:
        """Refuse to publish if too many messages were bad."""
        allowed = self.settings.max_skipped
        total = self.written + self.skipped
        if allowed is not None and self.bad * 100 > allowed * total:
            raise TooManySkipped(
                f"{self.bad} of {total} messages of {self.unit.topic}-{self.unit.partition} cannot "
                f"be decoded, the first at offset {self.errors[0]['offset']}: "
                f"{self.errors[0]['reason']}; nothing was published. Raise {keys.MAX_SKIPPED} "
                f"(percent), or set {keys.IGNORE_ERRORS}=true to skip them"
            )

    def _until_hours_are_over(self, rows: pa.RecordBatch) -> int:
        """How many rows belong to the hours that one run copies, counted from its first message."""
        if self.settings.pull_hours < 0 or not rows.num_rows:
            return int(rows.num_rows)
        times = self.decoder.decode_rows(rows).times.to_numpy(zero_copy_only=False)
        if self.until_ms is None:
            self.until_ms = int(times[0]) + self.settings.pull_hours * _HOUR_MS
        late = np.flatnonzero(times > self.until_ms)
        return int(late[0]) if len(late) else int(rows.num_rows)

    def _write(self, rows: pa.RecordBatch) -> None:
        if not rows.num_rows:
            return
        decoded = self.decoder.decode_rows(rows)
        for number, reason in decoded.bad.items():
            self._note(rows, number, reason)
        keep = decoded.values.is_valid().to_numpy(zero_copy_only=False).copy()
        keep[list(decoded.bad)] = False
        if self.settings.historical_days >= 0:
            oldest = self.clock.now_ms() - self.settings.historical_days * _DAY_MS
            keep &= decoded.times.to_numpy(zero_copy_only=False) >= oldest
        chosen = pa.array(np.flatnonzero(keep))
        refused = self.writer.write(
            Rows(
                self.unit.topic,
                self.unit.partition,
                decoded.values.take(chosen),
                rows.column("offset").take(chosen),
                decoded.times.take(chosen),
                decoded.avro,
            )
        )
        for number, reason in refused.items():
            self._note(rows, int(chosen[number].as_py()), reason)
        written = len(chosen) - len(refused)
        self.written += written
        self.skipped += rows.num_rows - written

    def _note(self, rows: pa.RecordBatch, number: int, reason: str) -> None:
        self.bad += 1
        if len(self.errors) < _MAX_ERRORS:
            value = rows.column("value")[number].as_py() or b""
            self.errors.append(
                {
                    "topic": self.unit.topic,
                    "partition": self.unit.partition,
                    "offset": rows.column("offset")[number].as_py(),
                    "reason": reason,
                    "value": base64.b64encode(value[:_MAX_SHOWN]).decode(),
                }
            )


def _read(settings: CamusSettings, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
    # A thread has connections of its own, which the next unit finds by its name.
    client_id = f"{settings.client.client_id}-{threading.current_thread().name}"
    client = replace(settings.client, client_id=client_id)
    return read_range(SourceOptions(client, TopicNames(frozenset({wanted.topic}))), wanted)
