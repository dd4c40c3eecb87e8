"""What a source polled on its way to a topic: transforms, then converters, in columns if they can.

A fault in columns says nothing of its row, so the batch is then taken record by record, and each
record has its own fate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import pyarrow as pa

from headrace.pipelines.columns.schema import HEADERS
from headrace.pipelines.connect.converters.converter import Converter
from headrace.pipelines.connect.host.tolerance import RecordFailed, Stage, Tolerance
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.record import Header, Record
from headrace.pipelines.connect.transforms.chain import Chain, Link, TransformFault


@dataclass(frozen=True, slots=True)
class Written:
    """Rows for one topic, as bytes: `key`, `value`, and `timestamp`, `headers` if there are any."""

    topic: str
    partition: int | None
    rows: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class _Converted:
    """One record, ready to be written."""

    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    timestamp: int | None
    headers: list[dict[str, object]]

    @property
    def kind(self) -> tuple[str, int | None, bool, bool]:
        """Records of one kind that follow each other are written together."""
        return self.topic, self.partition, self.timestamp is None, bool(self.headers)


@dataclass(frozen=True, slots=True)
class Named:
    """A converter, and the class that failures of it are reported under."""

    class_name: str
    converter: Converter


@dataclass(frozen=True, slots=True)
class Converters:
    """The formats of keys, values and headers."""

    key: Named
    value: Named
    header: Named

    @property
    def all(self) -> tuple[Converter, ...]:
        """The three."""
        return self.key.converter, self.value.converter, self.header.converter


def transformed(chain: Chain, record: Record, tolerance: Tolerance) -> Record | None:
    """The record as it leaves the chain, each link with its own attempts."""
    going: Record | None = record
    for link in chain.links:
        if going is None:
            return None
        step = partial(_applied, link, going)
        going = tolerance.attempt(Stage.TRANSFORMATION, link.class_name, step)
    return going


def _applied(link: Link, record: Record) -> Record | None:
    try:
        return link.apply(record)
    except TransformFault as fault:
        raise fault.__cause__ or fault from None


class SourceRecords:
    """The way of one task's records."""

    def __init__(self, chain: Chain, converters: Converters, tolerance: Tolerance) -> None:
        self._chain = chain
        self._converters = converters
        self._tolerance = tolerance

    def written(self, batch: Batch) -> list[Written]:
        """The batch as it is written to topics."""
        try:
            return [self._in_columns(each) for each in self._chain.apply_batch(batch) if len(each)]
        except Exception:  # whatever it is, the record form says of which record
            return _together(self._by_record(batch))

    def _in_columns(self, batch: Batch) -> Written:
        key = self._converters.key.converter.encode_column(batch.topic, batch.key)
        value = self._converters.value.converter.encode_column(batch.topic, batch.value)
        headers = None
        if batch.headers is not None:
            headers = [self._headers(batch.topic, each) for each in batch.headers]
        return Written(batch.topic, batch.partition, _rows(key, value, batch.timestamps, headers))

    def _by_record(self, batch: Batch) -> Iterator[_Converted]:
        for record in batch.records():
            try:
                made = self._one(record)
            except RecordFailed as failed:
                which = f"the record {record.position} that was polled for {record.topic}"
                self._tolerance.drop(failed.failure, which, partial(repr, record))
                continue
            if made is not None:
                yield made

    def _one(self, record: Record) -> _Converted | None:
        moved = transformed(self._chain, record, self._tolerance)
        if moved is None:
            return None
        by, attempt, topic = self._converters, self._tolerance.attempt, moved.topic
        key = attempt(
            Stage.KEY_CONVERTER,
            by.key.class_name,
            lambda: by.key.converter.encode(topic, moved.key_schema, moved.key),
        )
        value = attempt(
            Stage.VALUE_CONVERTER,
            by.value.class_name,
            lambda: by.value.converter.encode(topic, moved.value_schema, moved.value),
        )
        headers = attempt(
            Stage.HEADER_CONVERTER,
            by.header.class_name,
            lambda: self._headers(topic, moved.headers),
        )
        return _Converted(topic, moved.partition, key, value, moved.timestamp, headers)

    def _headers(self, topic: str, headers: tuple[Header, ...]) -> list[dict[str, object]]:
        encode = self._converters.header.converter.encode
        return [
            {"key": each.name, "value": encode(topic, each.schema, each.value)} for each in headers
        ]


def _together(records: Iterable[_Converted]) -> list[Written]:
    """Records in their order, in as few batches as that allows."""
    made = []
    for (topic, partition, undated, with_headers), group in groupby(records, lambda one: one.kind):
        rows = list(group)
        times = None if undated else pa.array([each.timestamp for each in rows], pa.int64())
        columns = _rows(
            pa.array([each.key for each in rows], pa.binary()),
            pa.array([each.value for each in rows], pa.binary()),
            times,
            [each.headers for each in rows] if with_headers else None,
        )
        made.append(Written(topic, partition, columns))
    return made


def _rows(
    key: pa.Array,
    value: pa.Array,
    timestamps: pa.Array | None,
    headers: list[list[dict[str, object]]] | None,
) -> pa.RecordBatch:
    columns = {"value": value}
    if key.null_count < len(key):
        columns["key"] = key
    if timestamps is not None:
        columns["timestamp"] = timestamps.cast(pa.timestamp("ms", tz="UTC"))
    if headers is not None:
        columns["headers"] = pa.array(headers, HEADERS)
    return pa.record_batch(columns)
