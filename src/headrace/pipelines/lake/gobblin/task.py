"""One work unit on its way: extractor, converters, row policies, fork, writers, task policies.

    <task.data.root.dir>/<job>/<job id>/task-output[/fork_N]/<table>/part.<job id>.….txt
                                        err-output/<table>/part.<job id>.….err

The files are in the folder of the job when the unit is done; the publisher moves them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import pyarrow as pa

from headrace.errors import ConfigError, HeadraceError
from headrace.pipelines.lake.files import FileTarget
from headrace.pipelines.lake.formats.format import Format
from headrace.pipelines.lake.formats.lines import LinesFormat
from headrace.pipelines.lake.gobblin import plugins
from headrace.pipelines.lake.gobblin.settings import JobSettings
from headrace.pipelines.lake.gobblin.stages import (
    Converter,
    Counts,
    ForkOperator,
    Outcome,
    RowPolicy,
    Slice,
    Source,
    TaskPolicy,
    Verdict,
    WorkUnit,
)
from headrace.pipelines.lake.jobs.attempts import told, tried
from headrace.pipelines.lake.jobs.locations import Location
from headrace.pipelines.lake.layout import Layout
from headrace.pipelines.lake.partitioners import DefaultPartitioner
from headrace.pipelines.lake.rotation import Rotation
from headrace.pipelines.lake.rows import Rows
from headrace.pipelines.lake.writer import LakeWriter
from headrace.runtime.clock import SystemClock

OUTPUT: Final = "task-output"
ERRORS: Final = "err-output"


class PolicyFailed(HeadraceError):
    """A work unit does not meet a policy of type FAIL."""


@dataclass(frozen=True, slots=True)
class TaskLayout(Layout):
    """`<table>/part.<job id>.<partition>.<first>.<last>.txt`: no folder for the partition."""

    job_id: str = ""

    def published(
        self, topic: str, partition: int, folder: str, first: int, last: int, extension: str
    ) -> str:
        name = f"part.{self.job_id}.{partition}.{first}.{last}{extension}"
        return f"{self.topics_dir}/{topic}/{name}"

    def range_of(self, topic: str, path: str) -> tuple[int, int, int] | None:
        named = rf"part\.{re.escape(self.job_id)}\.(\d+)\.(\d+)\.(\d+)(?:\D[^/]*)?"
        found = re.fullmatch(named, path)
        return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


def run_unit(settings: JobSettings, job_id: str, unit: WorkUnit) -> Outcome:
    """A work unit, retried as often as the job allows; a fault is part of the outcome."""
    try:
        return tried(
            settings.attempts,
            lambda: _run(settings, job_id, unit),
            (ConfigError, PolicyFailed),
        )
    except Exception as fault:  # a unit that fails must not take the others with it
        return Outcome(unit, Counts(), fault=told(fault))


def source_of(settings: JobSettings) -> Source:
    """The source of a job."""
    made: Source = plugins.named(plugins.SOURCES, settings.source, "source.class")(settings.given)
    return made


def _run(settings: JobSettings, job_id: str, unit: WorkUnit) -> Outcome:
    extractor = source_of(settings).extractor(unit)
    stages = _Stages(settings)
    counts = Counts()
    folder = settings.work.below(job_id)
    format_ = plugins.named(plugins.WRITERS, settings.writer, "writer.builder.class")
    branches = [
        _Output(folder.below(OUTPUT, *branch), job_id, unit, format_(settings.given))
        for branch in _branch_folders(settings.branches)
    ]
    errors = _Output(folder.below(ERRORS), job_id, unit, LinesFormat(".err"))
    outputs = (*branches, errors)
    try:
        for slice_ in extractor.slices():
            counts.read += len(slice_.records)
            if stages.is_plain:
                counts.converted += len(slice_.records)
                counts.written += branches[0].write(slice_)
            else:
                stages.run(slice_, counts, branches, errors)
        stages.judge(unit, counts)
        for output in outputs:
            output.publish()
        files = [pair for output in branches for pair in output.files(folder.below(OUTPUT))]
        return Outcome(
            unit,
            counts,
            files,
            list(errors.files(folder.below(ERRORS))),
            dict(extractor.watermark()),
        )
    finally:
        for output in outputs:
            output.close()


def _branch_folders(branches: int) -> Iterator[tuple[str, ...]]:
    if branches == 1:
        yield ()
    else:
        yield from ((f"fork_{number}",) for number in range(branches))


class _Stages:
    """What lies between extractor and writers."""

    def __init__(self, settings: JobSettings) -> None:
        given, named = settings.given, plugins.named
        self._converters: list[Converter] = [
            named(plugins.CONVERTERS, name, "converter.classes")(given)
            for name in settings.converters
        ]
        self._rows: list[tuple[str, RowPolicy, Verdict]] = [
            (name, named(plugins.ROW_POLICIES, name, "qualitychecker.row.policies")(given), verdict)
            for name, verdict in settings.row_policies
        ]
        self._tasks: list[tuple[str, TaskPolicy, Verdict]] = [
            (
                name,
                named(plugins.TASK_POLICIES, name, "qualitychecker.task.policies")(given),
                verdict,
            )
            for name, verdict in settings.task_policies
        ]
        self._fork: ForkOperator = named(plugins.FORKS, settings.fork, "fork.operator.class")(given)
        self.is_plain = not self._converters and not self._rows and settings.branches == 1

    def run(
        self, slice_: Slice, counts: Counts, branches: Sequence[_Output], errors: _Output
    ) -> None:
        """Take each record through all of them."""
        chosen: list[list[tuple[object, int]]] = [[] for _ in branches]
        bad: list[tuple[object, int]] = []
        taken = slice_.records
        records = taken.to_pylist() if isinstance(taken, pa.Array) else taken
        for record, position in zip(records, slice_.positions.to_pylist(), strict=True):
            for converted in self._converted(record):
                counts.converted += 1
                if not self._passes(converted, position, counts):
                    bad.append((converted, position))
                    continue
                for rows, wanted in zip(chosen, self._fork.fork(converted), strict=True):
                    if wanted:
                        rows.append((converted, position))
        for branch, rows in zip(branches, chosen, strict=True):
            counts.written += branch.write_pairs(rows)
        errors.write_pairs([(_as_text(record), position) for record, position in bad])

    def judge(self, unit: WorkUnit, counts: Counts) -> None:
        """Ask the policies that look at a whole unit."""
        for name, policy, verdict in self._tasks:
            if not policy.passes(counts) and verdict is Verdict.FAIL:
                raise PolicyFailed(f"{unit.name} does not meet the task policy {name}: {counts}")

    def _converted(self, record: object) -> Iterable[object]:
        records: Iterable[object] = (record,)
        for converter in self._converters:
            records = [made for each in records for made in converter.convert(each)]
        return records

    def _passes(self, record: object, position: int, counts: Counts) -> bool:
        good = True
        for name, policy, verdict in self._rows:
            if policy.passes(record):
                continue
            if verdict is Verdict.FAIL:
                raise PolicyFailed(f"the record at {position} does not meet the policy {name}")
            counts.failed_rows += verdict is Verdict.ERR_FILE
            good = good and verdict is Verdict.OPTIONAL
        return good


class _Output:
    """The files of a work unit in one folder, by the lake's writer."""

    def __init__(self, folder: Location, job_id: str, unit: WorkUnit, format_: Format) -> None:
        self._folder = folder
        self._unit = unit
        self._place = (unit.table, unit.partition)
        self._layout = TaskLayout(folder.path, folder.below(".positions").path, job_id=job_id)
        self._files = folder.open()
        self._writer = LakeWriter(
            FileTarget(self._files, format_, layout=self._layout),
            DefaultPartitioner(),
            Rotation(),
            SystemClock(),
        )
        self._writer.begin([self._place])

    def write(self, slice_: Slice) -> int:
        """Write records as they are; how many there were."""
        values = slice_.records
        made = values if isinstance(values, pa.Array) else pa.array(values)
        self._writer.write(Rows(*self._place, made, slice_.positions, slice_.times, slice_.avro))
        return len(made)

    def write_pairs(self, pairs: list[tuple[object, int]]) -> int:
        """Write records with their positions."""
        if not pairs:
            return 0
        values, positions = zip(*pairs, strict=True)
        return self.write(Slice(pa.array(values), pa.array(positions, pa.int64())))

    def publish(self) -> None:
        """Have all files in the folder."""
        self._writer.publish(self._place)

    def files(self, root: Location) -> Iterator[tuple[str, str]]:
        """Each file of the unit, and its path below `root`."""
        topic = Location(self._folder.address, self._layout.topic_folder(self._unit.table))
        for name in self._files.files(topic.path):
            found = self._layout.range_of(self._unit.table, name)
            if found is not None and found[0] == self._unit.partition:
                path = topic.below(name).path
                yield path, path[len(root.path) + 1 :]

    def close(self) -> None:
        """Drop what is not published."""
        self._writer.close()


def _as_text(record: object) -> bytes:
    if isinstance(record, bytes):
        return record
    return record.encode() if isinstance(record, str) else msgspec.json.encode(record)
