"""Records of one topic's partition, as a sink is given them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.pipelines.connect.model.batch import Batch, of_records
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.model.schema import Schema, Struct

Row = Mapping[str, object] | None


def records(
    schema: Schema,
    rows: Sequence[Row],
    *,
    topic: str = "t",
    keys: Sequence[object] | None = None,
    key_schema: Schema | None = None,
    start: int = 0,
) -> list[Batch]:
    """Rows as batches from offset `start` on; a row that is None is a tombstone."""
    made: list[Record] = []
    for place, row in enumerate(rows):
        value = None if row is None else Struct.of(schema, row)
        made.append(
            Record(
                topic,
                value,
                None if row is None else schema,
                None if keys is None else keys[place],
                key_schema,
                partition=0,
                timestamp=1000,
                position=start + place,
            )
        )
    return of_records(made)


def optional_records(
    schema: Schema, rows: Sequence[Row], keys: Sequence[object], key_schema: Schema
) -> Batch:
    """Rows and tombstones in one batch, under a schema that both have."""
    whole = schema.but(optional=True)
    made = [
        Record(
            "t",
            None if row is None else Struct.of(whole, row),
            whole,
            key,
            key_schema,
            partition=0,
            position=place,
        )
        for place, (row, key) in enumerate(zip(rows, keys, strict=True))
    ]
    (batch,) = of_records(made)
    return batch
