"""What a source polled on its way to a topic: transforms, then converters, in columns if they can.

A fault in columns says nothing of its row, so the batch is then taken record by record, and each
record has its own fate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

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
            return list(self._by_record(batch))

    def _in_columns(self, batch: Batch) -> Written:
        key = self._converters.key.converter.encode_column(batch.topic, batch.key)
        value = self._converters.value.converter.encode_column(batch.topic, batch.value)
        headers = None
        if batch.headers is not None:
            headers = [self._headers(batch.topic, each) for each in batch.headers]
        return Written(batch.topic, batch.partition, _rows(key, value, batch.timestamps, headers))

    def _by_record(self, batch: Batch) -> Iterator[Written]:
        for record in batch.records():
            try:
                made = self._one(record)
            except RecordFailed as failed:
                which = f"the record {record.position} that was polled for {record.topic}"
                self._tolerance.drop(failed.failure, which, partial(repr, record))
                continue
            if made is not None:
                yield made

    def _one(self, record: Record) -> Written | None:
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
        times = None if moved.timestamp is None else pa.array([moved.timestamp], pa.int64())
        rows = _rows(
            pa.array([key], pa.binary()),
            pa.array([value], pa.binary()),
            times,
            [headers] if headers else None,
        )
        return Written(topic, moved.partition, rows)

    def _headers(self, topic: str, headers: tuple[Header, ...]) -> list[dict[str, object]]:
        encode = self._converters.header.converter.encode
        return [
            {"key": each.name, "value": encode(topic, each.schema, each.value)} for each in headers
        ]


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
