"""Batches of Connect as rows of the lake: what each format takes of a value.

| format | values |
|---|---|
| avro, parquet | those with a schema |
| json | all, as JsonConverter writes them without schemas |
| bytes | bytes |
| string | all, as Java prints them |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from headrace.pipelines.connect.converters.json.converter import JsonConverter
from headrace.pipelines.connect.converters.registry.avro_schemas import AvroOptions, text_of
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model import java_text
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.column import Column, arrow_of
from headrace.pipelines.connect.model.schema import Schema, Struct
from headrace.pipelines.lake.rows import Rows

NO_VALUE = (
    "Null valued records are not writeable with current behavior.on.null.values 'fail' setting."
)


@dataclass(frozen=True, slots=True)
class Taken:
    """Rows that can be written, their numbers in the batch, and why others cannot."""

    rows: Rows
    numbers: pa.Array
    refused: dict[int, str] = field(default_factory=dict)


class Values:
    """What one format takes; `named` are the fields that partitioners read."""

    def __init__(self, format_: str, named: Sequence[str], *, ignores_null: bool) -> None:
        self._format = format_
        self._named = named
        self._ignores_null = ignores_null
        self._json = JsonConverter({"converter.type": "value", "schemas.enable": "false"})
        self._avro: dict[Schema, str] = {}

    def rows(self, batch: Batch) -> Taken:
        """The rows of a batch."""
        assert batch.partition is not None
        kept, refused = self._with_values(batch)
        chosen = batch if len(kept) == len(batch) else batch.take(pa.array(kept))
        values, odd = self._column(chosen)
        if odd:
            refused |= {int(kept[row]): reason for row, reason in odd.items()}
            good = np.setdiff1d(np.arange(len(kept)), np.fromiter(odd, np.int64))
            kept, chosen = kept[good], chosen.take(pa.array(good))
            values, _ = self._column(chosen)
        rows = Rows(
            batch.topic,
            batch.partition,
            values,
            chosen.positions,
            chosen.timestamps,
            self._avro_of(chosen.value.schema),
            self._fields(chosen, values),
        )
        return Taken(rows, pa.array(kept), refused)

    def _with_values(self, batch: Batch) -> tuple[np.ndarray, dict[int, str]]:
        data = batch.value.data
        missing = (
            np.array([value is None for value in data], bool)
            if isinstance(data, list)
            else data.is_null().to_numpy(zero_copy_only=False)
        )
        nulls = [] if self._ignores_null else np.flatnonzero(missing).tolist()
        return np.flatnonzero(~missing), dict.fromkeys(nulls, NO_VALUE)

    def _column(self, batch: Batch) -> tuple[pa.Array, dict[int, str]]:
        """Values as the format takes them; the rows that do not fit, with the reasons."""
        column, rows = batch.value, len(batch)
        if self._format == "json":
            return self._json_of(batch.topic, column)
        if self._format == "string":
            return _texts(column), {}
        array = column.arrow
        if self._format == "bytes":
            if array is not None and (pa.types.is_binary(array.type) or not rows):
                return array, {}
            values = column.to_values()
            told = "files of bytes take bytes only: set value.converter to ByteArrayConverter"
            odd = {row: told for row in range(rows) if not isinstance(values[row], bytes)}
            return pa.array([] if odd else values, pa.binary()), odd
        if column.schema is None:
            told = (
                f"{self._format} files need a schema, and the value has none: use a converter with "
                "schemas, or format.class=json"
            )
            return pa.nulls(0), dict.fromkeys(range(rows), told)
        return _arrow(column.schema, column)

    def _json_of(self, topic: str, column: Column) -> tuple[pa.Array, dict[int, str]]:
        try:
            return self._json.encode_column(topic, column), {}
        except Exception:  # whatever it is, the record form says of which record
            odd: dict[int, str] = {}
            for row, value in enumerate(column.to_values()):
                try:
                    self._json.encode(topic, column.schema, value)
                except DataException as fault:
                    odd[row] = str(fault)
            if not odd:
                raise
            return pa.nulls(0), odd

    def _avro_of(self, schema: Schema | None) -> str | None:
        if self._format != "avro" or schema is None:
            return None
        plain = schema.but(optional=False, default=None)
        if plain not in self._avro:
            self._avro[plain] = text_of(plain, AvroOptions())
        return self._avro[plain]

    def _fields(self, batch: Batch, values: pa.Array) -> pa.Array | None:
        """Structs for partitioners, where the values are not structs themselves."""
        if not self._named or pa.types.is_struct(values.type):
            return None
        if batch.value.schema is not None:
            array, odd = _arrow(batch.value.schema, batch.value)
            return None if odd else array
        records = batch.value.to_values()
        columns = {name: _plain([_field(value, name) for value in records]) for name in self._named}
        return pa.StructArray.from_arrays(list(columns.values()), names=list(columns))


def _arrow(schema: Schema, column: Column) -> tuple[pa.Array, dict[int, str]]:
    try:
        return column.to_arrow(), {}
    except DataException:
        odd: dict[int, str] = {}
        for row, value in enumerate(column.to_values()):
            try:
                arrow_of(schema, [value])
            except DataException as fault:
                odd[row] = str(fault)
        if not odd:
            raise
        return pa.nulls(0), odd


def _texts(column: Column) -> pa.Array:
    array = column.arrow
    if array is not None and pa.types.is_string(array.type):
        return array
    values = column.to_values()
    return pa.array([java_text.text_of(value, column.schema) for value in values], pa.string())


def _field(value: object, path: str) -> object:
    """A field of a value without a schema; None if it has none."""
    found: object = value
    for name in [path] if isinstance(value, dict) and path in value else path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return None if isinstance(found, dict | list | Struct) else found


def _plain(values: list[object]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if value is None else str(value) for value in values])
