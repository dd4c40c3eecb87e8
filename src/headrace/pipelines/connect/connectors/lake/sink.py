"""The tasks of the lake sinks: exactly once, as positions are found in the target itself."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Final, NoReturn

from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.connectors.lake.assembly import (
    fields_of,
    is_deterministic,
    partitioner_of,
    rotation_of,
    target_of,
)
from headrace.pipelines.connect.connectors.lake.compatibility import Compatibility
from headrace.pipelines.connect.connectors.lake.settings import (
    HdfsSettings,
    LakeSettings,
    LocalSettings,
    S3Settings,
    short_name,
)
from headrace.pipelines.connect.connectors.lake.values import Values
from headrace.pipelines.connect.faults import (
    ConnectException,
    RetriableException,
    SchemaProjectorException,
)
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.tasks import Partition, RowsRefused, SinkTask, sink
from headrace.pipelines.lake.faults import LakeFault
from headrace.pipelines.lake.writer import LakeWriter
from headrace.runtime.clock import SystemClock

_LOG: Final = logging.getLogger(__name__)


class LakeSink(SinkTask):
    """Writes batches to a lake; what is not published when a task ends is read again."""

    @classmethod
    def task_configs(cls, settings: Config, most: int) -> list[Mapping[str, str]]:
        """As many tasks as there may be: partitions are dealt to them."""
        assert isinstance(settings, LakeSettings)
        settings.check()
        partitioner_of(settings)
        return [{} for _ in range(most)]

    def open(self, settings: Config) -> None:
        """Read the settings, and find the file system or the tables."""
        assert isinstance(settings, LakeSettings)
        settings.check()
        self._settings = settings
        partitioner = partitioner_of(settings)
        tables = settings.table_format != "none"
        format_ = "parquet" if tables else short_name(settings.format_class, "Format")
        ignores = settings.null_values.lower() == "ignore"
        self._values = Values(format_, fields_of(settings), ignores_null=ignores)
        self._schemas: dict[Partition, Compatibility] = {}
        self._unasked: set[Partition] = set()
        """Partitions of which the lake could not say where they stand."""
        try:
            target = target_of(settings, self.context.connector)
        except LakeFault as fault:
            raise ConnectException(str(fault)) from fault
        self._writer = LakeWriter(target, partitioner, rotation_of(settings), SystemClock())
        if isinstance(settings, S3Settings) and not tables:
            self._say_what_s3_cannot(is_deterministic(settings, partitioner))

    def assigned(self, partitions: Iterable[Partition]) -> Mapping[Partition, int]:
        """Where the lake says that each partition stands.

        A lake that is away is asked again by `put`, which may be tried again: a rebalance may not.
        """
        wanted = list(partitions)
        self._schemas = {place: Compatibility(self._settings.compatibility) for place in wanted}
        self._unasked = set()
        try:
            found = self._writer.begin(wanted)
        except LakeFault as fault:
            if not fault.passing:
                raise self._told(fault) from fault
            _LOG.warning("%s; it is asked again when there are records", fault)
            self._unasked = set(wanted)
            return {}
        return found

    def revoked(self, partitions: Iterable[Partition]) -> None:
        """Drop what is not published: the next owner reads it again."""
        partitions = list(partitions)
        self._unasked.difference_update(partitions)
        self._writer.forget(partitions)

    def put(self, batch: Batch) -> None:
        """Write the batch; rows that no file can hold are refused by their number."""
        if not len(batch):
            return
        assert batch.partition is not None
        place = (batch.topic, batch.partition)
        if place not in self._schemas:
            raise ConnectException(
                f"{batch.topic}-{batch.partition} is not read by this task: a transform has "
                "changed the topic, but offsets are kept by topic; set another topics.dir instead"
            )
        if place in self._unasked:
            self._ask(place, batch)
        try:
            taken = self._values.rows(self._schemas[place].projected(batch))
        except SchemaProjectorException as fault:
            raise RowsRefused(dict.fromkeys(range(len(batch)), str(fault))) from fault
        try:
            unplaced = self._writer.write(taken.rows)
        except LakeFault as fault:
            self._failed(place, fault)
        numbers = taken.numbers.to_pylist() if unplaced else []
        refused = taken.refused | {numbers[row]: reason for row, reason in unplaced.items()}
        if refused:
            raise RowsRefused(dict(sorted(refused.items())))

    def flush(self, offsets: Mapping[Partition, int]) -> Mapping[Partition, int]:
        """Publish what is due by the clock; commit what is published."""
        try:
            self._writer.tick()
        except LakeFault as fault:
            raise self._told(fault) from fault
        safe: dict[Partition, int] = {}
        for place, offset in offsets.items():
            self._writer.passed(place, offset)
            held = self._writer.safe(place)
            safe[place] = offset if held is None else min(offset, held)
        return safe

    def close(self) -> None:
        """Let go of files; what is not published is dropped."""
        if hasattr(self, "_writer"):
            self._writer.close()

    def _ask(self, place: Partition, batch: Batch) -> None:
        """What `assigned` could not find out: rows that the lake has not are read again."""
        try:
            at = self._writer.begin([place]).get(place)
        except LakeFault as fault:
            raise self._told(fault) from fault
        self._unasked.discard(place)
        if at is not None and at < batch.positions[0].as_py():
            self.context.seek({place: at})
            raise RetriableException(
                f"{place[0]}-{place[1]} goes on at offset {at}, which the lake could not say before"
            )

    def _failed(self, place: Partition, fault: LakeFault) -> NoReturn:
        """What was open is dropped: read it again."""
        safe = self._writer.safe(place)
        if safe is not None:
            self.context.seek({place: safe})
        raise self._told(fault) from fault

    def _told(self, fault: LakeFault) -> ConnectException:
        return RetriableException(str(fault)) if fault.passing else ConnectException(str(fault))

    def _say_what_s3_cannot(self, deterministic: bool) -> None:
        if not deterministic:
            _LOG.warning(
                "%s: folders or rotation follow the clock, and S3 cannot keep two tasks apart: a "
                "record may be there twice, or be missing, after a task was thought dead and two "
                "wrote at a time; use timestamp.extractor=Record and leave "
                "rotate.schedule.interval.ms out for exactly once",
                self.context.connector,
            )


@sink(
    "io.confluent.connect.hdfs.HdfsSinkConnector",
    version="10.2.14",
    settings=HdfsSettings,
    aliases=("HdfsSinkConnector", "HdfsSink"),
)
class HdfsSink(LakeSink):
    """Files on HDFS."""


@sink(
    "io.confluent.connect.hdfs3.Hdfs3SinkConnector",
    version="1.2.5",
    settings=HdfsSettings,
    aliases=("Hdfs3SinkConnector", "Hdfs3Sink"),
)
class Hdfs3Sink(LakeSink):
    """Files on HDFS, under the name that the connector for Hadoop 3 has."""


@sink(
    "io.confluent.connect.s3.S3SinkConnector",
    version="10.6.7",
    settings=S3Settings,
    aliases=("S3SinkConnector", "S3Sink"),
)
class S3Sink(LakeSink):
    """Objects on S3."""


@sink(
    "headrace.LocalSinkConnector",
    version="1.0",
    settings=LocalSettings,
    aliases=("LocalSinkConnector", "LocalSink", "lake"),
)
class LocalSink(LakeSink):
    """Files in a folder."""
