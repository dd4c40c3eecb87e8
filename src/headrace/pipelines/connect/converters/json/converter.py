"""JsonConverter: values as JSON, with `schemas.enable` in an envelope with their schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipelines.connect.config.definition import Key, Kind, at_least, one_of
from headrace.pipelines.connect.converters.converter import Converter
from headrace.pipelines.connect.converters.json import decode_columns, encode_columns
from headrace.pipelines.connect.converters.json import schemas as envelopes
from headrace.pipelines.connect.converters.json.heads import Head, Heads
from headrace.pipelines.connect.converters.json.parsing import (
    NotJson,
    end_of_blank,
    parse,
    value_at,
)
from headrace.pipelines.connect.converters.json.reading import plain_value, reader_of, value_of
from headrace.pipelines.connect.converters.json.writing import Write, writer_of
from headrace.pipelines.connect.converters.settings import BASIC
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model.column import Column, of_values
from headrace.pipelines.connect.model.schema import Schema

DEFINITION: Final = BASIC.plus(
    Key(
        "schemas.enable",
        Kind.BOOLEAN,
        True,
        "Whether every value comes with its schema, in an envelope of both.",
        "HIGH",
        group="Schemas",
        width="MEDIUM",
        display_name="Enable Schemas",
    ),
    Key(
        "schemas.cache.size",
        Kind.INT,
        1000,
        "How many schemas are remembered.",
        "HIGH",
        at_least(0),
        group="Schemas",
        width="MEDIUM",
        display_name="Schema Cache Size",
    ),
    Key(
        "schema.content",
        Kind.STRING,
        None,
        "A schema, in JSON, of all values that are read: they then come without an envelope.",
        "HIGH",
        group="Schemas",
        width="MEDIUM",
        display_name="Schema Content",
    ),
    Key(
        "decimal.format",
        Kind.STRING,
        "BASE64",
        "How decimals are written: BASE64 of their digits' bytes, or NUMERIC. Both are read.",
        "LOW",
        one_of("BASE64", "NUMERIC", ignore_case=True),
        group="Serialization",
        width="MEDIUM",
        display_name="Decimal Format",
    ),
    Key(
        "replace.null.with.default",
        Kind.BOOLEAN,
        True,
        "Whether a null in a field that has a default stands for it.",
        "LOW",
        group="Serialization",
        width="MEDIUM",
        display_name="Replace null with default",
    ),
)
_NO_ENVELOPE: Final = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain '
    "additional fields. If you are trying to deserialize plain JSON data, set schemas.enable=false "
    "in your converter configuration."
)


_LEAST_ROWS: Final = 8  # fewer are read sooner one by one
_MOST_ROWS: Final = 1 << 16


class JsonConverter(Converter):
    """JSON with or without schemas."""

    def __init__(self, given: Mapping[str, object]) -> None:
        settings = DEFINITION.read(given)
        self._enveloped = bool(settings["schemas.enable"])
        self._numeric = str(settings["decimal.format"]).upper() == "NUMERIC"
        self._defaults = bool(settings["replace.null.with.default"])
        self._room = int(str(settings["schemas.cache.size"]))
        self._bare = self._content(settings["schema.content"])
        self._writers: dict[Schema | None, tuple[str, Write]] = {}
        self._heads = Heads(self._room, defaults=self._defaults)

    def _content(self, text: object) -> Head | None:
        """What all values have in common that come without an envelope."""
        if not isinstance(text, str) or not text:
            return None
        try:
            value, _ = value_at(text, end_of_blank(text, 0))
        except NotJson as error:
            raise DataException(
                "Failed to parse schema in converter config due to serialization error: "
            ) from error
        schema = envelopes.schema_of(value, defaults=self._defaults)
        return Head(b"", schema, reader_of(schema, defaults=self._defaults))

    def encode(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        """The value as JSON; nothing at all is a tombstone."""
        if schema is None and value is None:
            return None
        head, write = self._writer(schema)
        try:
            text = write(value)
            return (f"{head}{text}}}" if self._enveloped else text).encode()
        except (UnicodeEncodeError, RecursionError) as error:
            told = "Converting Kafka Connect data to byte[] failed due to serialization error: "
            raise DataException(f"{told}{error}") from error

    def _writer(self, schema: Schema | None) -> tuple[str, Write]:
        """What stands before the payload of an envelope, and what writes the payload."""
        known = self._writers.get(schema)
        if known is None:
            text = envelopes.text_of(schema, numeric=self._numeric, defaults=self._defaults)
            writer = writer_of(schema, numeric=self._numeric, defaults=self._defaults)
            known = f'{{"schema":{text},"payload":', writer
            if len(self._writers) < self._room:
                self._writers[schema] = known
        return known

    def decode(self, topic: str, data: bytes | None) -> tuple[Schema | None, object]:
        """The value that JSON says, and its schema where there is one."""
        if data is None:
            return None, None
        try:
            return self._decoded(data)
        except RecursionError as error:
            raise NotJson("the value is nested too deeply") from error

    def _decoded(self, data: bytes) -> tuple[Schema | None, object]:
        if self._bare is None and self._enveloped:
            head = self._heads.of(data)
            whole, payload = (False, None) if head is None else head.payload(data)
            if head is not None and whole:
                return head.schema, head.read(payload)
        given = parse(data)
        if not self._enveloped:
            return None, plain_value(given)
        if self._bare is not None:
            return self._bare.schema, self._bare.read(given)
        if not isinstance(given, dict) or given.keys() != {"schema", "payload"}:
            raise DataException(_NO_ENVELOPE)
        schema = envelopes.schema_of(given["schema"], defaults=self._defaults)
        return schema, value_of(schema, given["payload"], defaults=self._defaults)

    # --- columns ---

    def encode_column(self, topic: str, column: Column) -> pa.Array:
        """By polars, and by records where that would not give the same bytes."""
        schema, data = column.schema, column.arrow
        if schema is None or data is None or not len(data):
            return super().encode_column(topic, column)
        around = (self._writer(schema)[0], "}") if self._enveloped else ("", "")
        try:
            text, rough = encode_columns.encoded(
                schema, data, numeric=self._numeric, head=around[0], tail=around[1]
            )
        except encode_columns.Inexact:
            return super().encode_column(topic, column)
        rows = np.flatnonzero(rough)
        if not len(rows):
            return text
        again = super().encode_column(topic, column.take(pa.array(rows)))
        return pc.replace_with_mask(text, pa.array(rough), again)

    def decode_column(self, topic: str, data: pa.Array) -> Sequence[Column]:
        """By pyarrow for runs of rows with one head, by records where that does not do."""
        if self._enveloped:
            return _joined(self._pieces(topic, data))
        values = decode_columns.plain_values(data, lambda row: self.decode(topic, row)[1])
        return [Column(None, values)] if values else []

    def _pieces(self, topic: str, data: pa.Array) -> Iterator[Column]:
        at = 0
        while at < len(data):
            head = self._head_of(data[at].as_py())
            rows = 1 if head is None else _run_length(head, data, at)
            run = data.slice(at, rows)
            at += rows
            made = None if head is None else self._by_column(head, run)
            if made is not None:
                yield made
                continue
            for row in run.to_pylist():
                schema, value = self.decode(topic, row)
                yield Column(schema, [value])

    def _head_of(self, data: bytes | None) -> Head | None:
        if data is None:
            return None
        return self._heads.of(data) if self._bare is None else self._bare

    def _by_column(self, head: Head, run: pa.Array) -> Column | None:
        if head.schema is None or len(run) < _LEAST_ROWS:
            return None
        tail = "" if self._bare is None else "}"
        made = decode_columns.decoded(
            head.schema, run, head=head.data, tail=tail, defaults=self._defaults
        )
        return None if made is None else Column(head.schema, made)


def _run_length(head: Head, data: pa.Array, start: int) -> int:
    """How many rows from `start` on have this head: few are looked at before many."""
    size = _LEAST_ROWS
    while True:
        part = data.slice(start, size)
        alike = pc.starts_with(part, head.data).fill_null(False).to_numpy(zero_copy_only=False)
        if not alike.all():
            return int(alike.argmin())
        if len(part) < size or size >= _MOST_ROWS:
            return len(part)
        size *= 8


def _joined(pieces: Iterator[Column]) -> list[Column]:
    """Neighbours of one schema as one column."""
    made = []
    for schema, run in groupby(pieces, key=lambda piece: piece.schema):
        parts = list(run)
        arrays = [part.arrow for part in parts]
        if all(array is not None for array in arrays):
            made.append(Column(schema, pa.concat_arrays(arrays)))
        else:
            made.append(of_values(schema, [value for part in parts for value in part.to_values()]))
    return made
