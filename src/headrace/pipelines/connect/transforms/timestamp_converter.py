"""TimestampConverter: moments as text, Unix time, Date, Time or Timestamp, and back."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import ClassVar, Final

import pyarrow as pa

from headrace.java.date_format import DateFormat, InvalidDateFormat, UnreadableDate
from headrace.pipelines.connect.config.definition import Definition, Key, Kind, one_of
from headrace.pipelines.connect.faults import ConfigException, ConnectException, DataException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.column import Column
from headrace.pipelines.connect.model.logical import timestamp_of
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.model.schema import Schema, Struct, Type
from headrace.pipelines.connect.transforms.moment_columns import array_of, epochs_of
from headrace.pipelines.connect.transforms.moments import day_at, epoch_ms, rescaled, time_at
from headrace.pipelines.connect.transforms.shapes import (
    REPLACE_NULL,
    SCHEMAS_KEPT,
    filled,
    java_type,
    joined,
    parted,
    require_map,
    require_struct,
    schema_text,
    struct_like,
    values_of,
)
from headrace.pipelines.connect.transforms.side import Side
from headrace.pipelines.connect.transforms.transform import Transform

_PURPOSE = "converting timestamp formats"
_CENTURY_BEGAN_YEARS_AGO: Final = 80
PER_SECOND: Final = {
    "nanoseconds": 1_000_000_000,
    "microseconds": 1_000_000,
    "milliseconds": 1000,
    "seconds": 1,
}
_TARGETS: Final[Mapping[str, Schema]] = {
    "string": schemas.STRING,
    "unix": schemas.INT64,
    "Date": schemas.date(),
    "Time": schemas.time(),
    "Timestamp": schemas.timestamp(),
}
_LOGICAL: Final = {schemas.DATE: "Date", schemas.TIME: "Time", schemas.TIMESTAMP: "Timestamp"}
_TYPES: Final = {Type.STRING: "string", Type.INT64: "unix"}


def _century_start_ms() -> int:
    """Where Java has the hundred years begin that two digits of a year stand for."""
    now = datetime.datetime.now(datetime.UTC)
    leap_day = now.month == 2 and now.day == 29
    then = now.replace(year=now.year - _CENTURY_BEGAN_YEARS_AGO, day=28 if leap_day else now.day)
    return epoch_ms(then)


class TimestampConverter(Transform):
    """A null stays null."""

    definition: ClassVar = Definition(
        (
            Key(
                "field",
                Kind.STRING,
                "",
                "The field that is a timestamp. If it is empty, the whole key or value is one.",
                "HIGH",
            ),
            Key(
                "target.type",
                Kind.STRING,
                doc="What the timestamp becomes: string, unix, Date, Time or Timestamp.",
                importance="HIGH",
                check=one_of(*_TARGETS),
            ),
            Key(
                "format",
                Kind.STRING,
                "",
                "The format of timestamps that are strings, in the syntax of Java's "
                "SimpleDateFormat: the one that is written, and the one that is read.",
            ),
            Key(
                "unix.precision",
                Kind.STRING,
                "milliseconds",
                "What Unix timestamps count: seconds, milliseconds, microseconds or nanoseconds. "
                "What is finer than milliseconds gets lost.",
                "LOW",
                check=one_of(*PER_SECOND),
            ),
            REPLACE_NULL,
        )
    )

    def __init__(self, side: Side, given: Mapping[str, object]) -> None:
        settings = self.definition.read(given)
        self._side = side
        self._field = str(settings["field"])
        self._target = str(settings["target.type"])
        self._per_second = PER_SECOND[str(settings["unix.precision"])]
        self._replace_null = bool(settings[REPLACE_NULL.name])
        self._format = _format(self._target, str(settings["format"]))
        self._century_start_ms = _century_start_ms()
        self._write = self._writer()
        self._changed = lru_cache(SCHEMAS_KEPT)(self._struct)

    # --- schemas ---

    def _made(self, schema: Schema) -> Schema:
        return _TARGETS[self._target].but(optional=schema.optional)

    def _struct(self, schema: Schema) -> Schema:
        fields = [
            (field.name, self._made(field.schema) if field.name == self._field else field.schema)
            for field in schema.fields
        ]
        made = struct_like(schema, fields, optional=schema.optional)
        if not isinstance(schema.default, Struct):
            return made
        return made.but(default=self._converted_struct(schema.default, made))

    # --- records ---

    def apply(self, record: Record) -> Record:
        schema, value = self._side.schema(record), self._side.held(record)
        if schema is None:
            return self._side.changed(record, None, self._without_schema(value))
        if not self._field:
            made = self._made(schema)
            return self._side.changed(record, made, self._convert(value, _kind(schema)))
        held = None if value is None else require_struct(value, _PURPOSE)
        if schema.type is not Type.STRUCT:
            raise DataException("Cannot list fields on non-struct type")
        changed = self._changed(schema)
        return self._side.changed(
            record, changed, None if held is None else self._converted_struct(held, changed)
        )

    def _without_schema(self, value: object) -> object:
        if value is None or not self._field:
            return self._convert(value, None)
        held = require_map(value, _PURPOSE)
        return held | {self._field: self._convert(held.get(self._field), None)}

    def _converted_struct(self, value: Struct, schema: Schema) -> Struct:
        values = list(values_of(value, replace_null=self._replace_null))
        place = value.schema.places.get(self._field)
        if place is not None:
            kind = _kind(value.schema.fields[place].schema)
            values[place] = self._convert(values[place], kind)
        return filled(schema, values)

    def _convert(self, value: object, kind: str | None) -> object:
        if value is None:
            return None
        return self._write(self._read(value, kind or _inferred(value)))

    def _read(self, value: object, kind: str) -> int:
        """The milliseconds of a timestamp."""
        if kind == "string":
            return self.parsed(str(value))
        if kind == "unix":
            assert isinstance(value, int)
            return rescaled(value, self._per_second, 1000)
        assert isinstance(value, datetime.date | datetime.time)
        return epoch_ms(value)

    def parsed(self, text: str) -> int:
        """The milliseconds that a text tells."""
        if self._format is None:
            raise DataException(
                "a timestamp is a string, but no format is set: set format to how it is written"
            )
        try:
            return self._format.epoch_ms(text, self._century_start_ms)
        except UnreadableDate:
            raise DataException(
                f"Could not parse timestamp: value ({text}) "
                f"does not match pattern ({self._format.pattern})"
            ) from None

    def _writer(self) -> Callable[[int], object]:
        """How milliseconds become what is asked for."""
        if self._target == "unix":
            return lambda epoch: rescaled(epoch, 1000, self._per_second)
        if self._target == "string":
            assert self._format is not None
            return self._format.text
        made: dict[str, Callable[[int], object]] = {
            "Date": day_at,
            "Time": time_at,
            "Timestamp": timestamp_of,
        }
        return made[self._target]

    # --- columns ---

    def apply_batch(self, batch: Batch) -> Sequence[Batch] | None:
        column = self._side.column(batch)
        schema = column.schema
        if schema is None or column.arrow is None:
            return None
        if not self._field:
            array = self._array(column.arrow, schema)
            made = None if array is None else Column(self._made(schema), array)
        else:
            made = self._fields(column, schema, len(batch))
        return None if made is None else [self._side.with_column(batch, made)]

    def _fields(self, column: Column, schema: Schema, rows: int) -> Column | None:
        arrays = parted(column, replace_null=self._replace_null)
        if arrays is None:
            return None
        place = schema.places.get(self._field)
        if place is not None:
            arrays[place] = self._array(arrays[place], schema.fields[place].schema)
            if arrays[place] is None:
                return None
        return joined(self._changed(schema), arrays, rows)

    def _array(self, array: pa.Array, schema: Schema) -> pa.Array | None:
        epochs = epochs_of(array, _kind(schema), self._per_second, self.parsed)
        if epochs is None:
            return None
        return array_of(epochs, self._target, self._per_second, self._write)


def _format(target: str, pattern: str) -> DateFormat | None:
    if not pattern.strip():
        if target == "string":
            raise ConfigException(
                "TimestampConverter requires format option to be specified "
                "when using string timestamps"
            )
        return None
    try:
        return DateFormat(pattern, reads=True)
    except InvalidDateFormat as fault:
        raise ConfigException(
            "TimestampConverter requires a SimpleDateFormat-compatible pattern "
            f"for string timestamps: {pattern}: {fault}"
        ) from None


def _kind(schema: Schema) -> str:
    found = _LOGICAL.get(schema.name or "") or _TYPES.get(schema.type)
    if found is None:
        raise ConnectException(
            f"Schema {schema_text(schema)} does not correspond to a known timestamp type format"
        )
    return found


def _inferred(value: object) -> str:
    if isinstance(value, datetime.date | datetime.time):
        return "Timestamp"
    if type(value) is int:
        return "unix"
    if isinstance(value, str):
        return "string"
    raise DataException(
        f"TimestampConverter does not support class {java_type(value)} objects as timestamps"
    )
