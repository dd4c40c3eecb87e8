"""Records of a topic on their way to a sink: converters, then transforms, in columns if they can.

A fault in columns says nothing of its row, so the rows are then taken one by one, and each has its
own fate: those that fail are handed to `on_failed` with the bytes that were read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from headrace.pipelines.connect.host.source_records import Converters, Named, transformed
from headrace.pipelines.connect.host.tolerance import Failure, RecordFailed, Stage, Tolerance
from headrace.pipelines.connect.model.batch import Batch, of_records
from headrace.pipelines.connect.model.column import Column
from headrace.pipelines.connect.model.record import Header, Record
from headrace.pipelines.connect.model.schema import Schema
from headrace.pipelines.connect.transforms.chain import Chain
from headrace.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Consumed:
    """A record as it was read."""

    place: TopicPartition
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int | None
    headers: tuple[tuple[str, bytes | None], ...]


OnFailed = Callable[[Consumed, Failure], None]


class SinkRecords:
    """The way of one task's records."""

    def __init__(
        self, chain: Chain, converters: Converters, tolerance: Tolerance, on_failed: OnFailed
    ) -> None:
        self._chain = chain
        self._converters = converters
        self._tolerance = tolerance
        self._on_failed = on_failed

    def batches(self, place: TopicPartition, rows: pa.RecordBatch) -> list[Batch]:
        """Rows as they were read (`columns.schema`), as what is put."""
        try:
            return [
                each
                for batch in self._in_columns(place, rows)
                for each in self._chain.apply_batch(batch)
                if len(each)
            ]
        except Exception:  # whatever it is, the record form says of which record
            return of_records(self._by_record(place, rows))

    def _in_columns(self, place: TopicPartition, rows: pa.RecordBatch) -> Iterator[Batch]:
        topic = place.topic
        keys = self._converters.key.converter.decode_column(topic, rows.column("key"))
        values = self._converters.value.converter.decode_column(topic, rows.column("value"))
        times = milliseconds(rows.column("timestamp"))
        offsets = rows.column("offset")
        headers = None
        if rows.column("headers").null_count < rows.num_rows:
            found = rows.column("headers").to_pylist()
            headers = [self._headers(topic, header_pairs(each)) for each in found]
        start = 0
        for key, value in _aligned(keys, values):
            stop = start + len(key)
            yield Batch(
                topic,
                key,
                value,
                offsets.slice(start, stop - start),
                times.slice(start, stop - start),
                None if headers is None else headers[start:stop],
                place.partition,
            )
            start = stop

    def _by_record(self, place: TopicPartition, rows: pa.RecordBatch) -> Iterator[Record]:
        for read in consumed(place, rows):
            try:
                record = self._one(read)
            except RecordFailed as failed:
                self._on_failed(read, failed.failure)
                continue
            if record is not None:
                yield record

    def _one(self, read: Consumed) -> Record | None:
        topic, attempt = read.place.topic, self._tolerance.attempt

        def decoded(stage: Stage, by: Named, data: bytes | None) -> tuple[Schema | None, object]:
            return attempt(stage, by.class_name, lambda: by.converter.decode(topic, data))

        key_schema, key = decoded(Stage.KEY_CONVERTER, self._converters.key, read.key)
        value_schema, value = decoded(Stage.VALUE_CONVERTER, self._converters.value, read.value)
        headers = attempt(
            Stage.HEADER_CONVERTER,
            self._converters.header.class_name,
            lambda: self._headers(topic, read.headers),
        )
        record = Record(
            topic,
            value,
            value_schema,
            key,
            key_schema,
            read.place.partition,
            read.timestamp,
            headers,
            read.offset,
        )
        return transformed(self._chain, record, self._tolerance)

    def _headers(
        self, topic: str, headers: tuple[tuple[str, bytes | None], ...]
    ) -> tuple[Header, ...]:
        made = []
        for name, data in headers:
            schema, value = self._converters.header.converter.decode(topic, data)
            made.append(Header(name, value, schema))
        return tuple(made)


def _aligned(keys: Sequence[Column], values: Sequence[Column]) -> Iterator[tuple[Column, Column]]:
    """Runs of rows in which neither schema changes."""
    left, right = list(keys), list(values)
    while left and right:
        rows = min(len(left[0]), len(right[0]))
        yield left[0].slice(0, rows), right[0].slice(0, rows)
        for columns in (left, right):
            rest = columns[0].slice(rows, len(columns[0]))
            columns[:1] = [rest] if len(rest) else []
    assert len(left) == len(right) == 0, "keys and values have as many rows"


def consumed(place: TopicPartition, rows: pa.RecordBatch) -> Iterator[Consumed]:
    """The rows one by one."""
    times = milliseconds(rows.column("timestamp")).to_pylist()
    for row, time in zip(rows.drop_columns(["timestamp"]).to_pylist(), times, strict=True):
        headers = header_pairs(row["headers"])
        yield Consumed(place, row["offset"], row["key"], row["value"], time, headers)


def header_pairs(
    found: list[dict[str, object]] | None,
) -> tuple[tuple[str, bytes | None], ...]:
    """A row's headers as names and bytes."""
    return tuple((each["key"], each["value"]) for each in found or ())  # type: ignore[misc]


def milliseconds(times: pa.Array) -> pa.Int64Array:
    """Timestamps of rows, as Kafka counts them."""
    return times.cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(pa.int64())
