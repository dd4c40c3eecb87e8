"""Rows of a table or a query as Connect's structs: what a source makes of the database's arrays."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipelines.connect.connectors.jdbc.tables import SqlColumn, SqlType
from headrace.pipelines.connect.connectors.jdbc.types import field_schema
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.arrow_types import DECIMAL_DIGITS, arrow_field, arrow_type
from headrace.pipelines.connect.model.column import Column, values_of
from headrace.pipelines.connect.model.schema import INTEGER_BITS, Field, Schema, Struct

_logger = logging.getLogger(__name__)
_ROOMY: Final = Context(prec=1000)  # for decimals that no Arrow type holds


class Shape:
    """The schema of a table's or a query's records, and how rows get it.

    An integer column that turns out to hold more than its type says (SQLite checks nothing) is
    INT64 from then on.
    """

    def __init__(
        self, name: str | None, columns: Sequence[SqlColumn], mapping: str, zone: str
    ) -> None:
        fields = [(column, field_schema(column, mapping)) for column in columns]
        for column, schema in fields:
            if schema is None:
                _logger.warning(
                    "column %s of %s is left out: records have no type for %s",
                    column.name,
                    name or "the query",
                    column.type_name,
                )
        self.columns = tuple(column for column, schema in fields if schema is not None)
        self.schema = schemas.struct(
            [(column.name, schema) for column, schema in fields if schema is not None], name=name
        )
        self._zone = zone

    def column(self, arrays: Sequence[pa.Array]) -> Column:
        """Arrays of the database as a column of structs."""
        parts: list[pa.Array | list[object]] = []
        for place, (column, array) in enumerate(zip(self.columns, arrays, strict=True)):
            schema = self.schema.fields[place].schema
            try:
                parts.append(_cast(column, schema, array, self._zone))
            except pa.ArrowException as error:
                if schema.type not in INTEGER_BITS or schema.name is not None:
                    raise ConnectException(
                        f"column {column.name} has values that are not {column.type_name}: {error}"
                    ) from error
                parts.append(array.cast(pa.int64()))
                self._widen(place)
        if any(isinstance(part, list) for part in parts):
            return self._by_rows(parts)
        fields = [arrow_field(field.name, field.schema) for field in self.schema.fields]
        return Column(self.schema, pa.StructArray.from_arrays(parts, fields=fields))

    def _widen(self, place: int) -> None:
        fields = list(self.schema.fields)
        old = fields[place]
        fields[place] = Field(old.name, schemas.INT64.but(optional=old.schema.optional))
        self.schema = self.schema.but(fields=tuple(fields))

    def _by_rows(self, parts: Sequence[pa.Array | list[object]]) -> Column:
        lists = [
            part if isinstance(part, list) else values_of(field.schema, part)
            for field, part in zip(self.schema.fields, parts, strict=True)
        ]
        return Column(self.schema, [Struct(self.schema, row) for row in zip(*lists, strict=True)])


def instants(column: SqlColumn, values: pa.Array, zone: str) -> pa.Array:
    """A column's timestamps as microseconds since 1970."""
    if column.type is SqlType.DATE:
        values = values.cast(pa.timestamp("us"))
    elif column.type not in (SqlType.TIMESTAMP, SqlType.INSTANT):
        raise ConnectException(
            f"timestamp column {column.name} is of type {column.type_name}: it must be a timestamp"
        )
    return _in_utc(values, zone).cast(pa.int64())


def _cast(
    column: SqlColumn, schema: Schema, values: pa.Array, zone: str
) -> pa.Array | list[object]:
    if schema.name == schemas.DECIMAL:
        return _decimals(schema, values)
    kind = arrow_type(schema)
    if schema.name == schemas.TIMESTAMP:
        whole = pc.floor_temporal(_in_utc(values, zone), unit="millisecond")
        return whole.cast(kind)
    return values.cast(kind, safe=schema.name is None)


def _in_utc(values: pa.Array, zone: str) -> pa.Array:
    """Moments in microseconds; a wall clock's hour that is twice is the first of the two."""
    if values.type.tz is None:
        values = pc.assume_timezone(values, zone, ambiguous="earliest", nonexistent="earliest")
    return values.cast(pa.timestamp("us", tz="UTC"))


def _digits(values: pa.Array) -> int:
    """The most digits that a number may have. Arrow's cast does not notice too many of them."""
    if pc.any(pc.match_substring(values, "e", ignore_case=True)).as_py():
        return DECIMAL_DIGITS + 1
    return pc.max(pc.utf8_length(values)).as_py() or 0


def _decimals(schema: Schema, values: pa.Array) -> pa.Array | list[object]:
    """Numbers as text with the schema's scale."""
    scale = schema.scale
    if scale >= 0 and _digits(values) + scale <= DECIMAL_DIGITS:
        try:
            return values.cast(pa.decimal128(DECIMAL_DIGITS, scale))
        except pa.ArrowException:
            pass  # digits beyond the scale, or NaN
    unit = Decimal(1).scaleb(-scale)
    return [None if text is None else _decimal(text, unit) for text in values.to_pylist()]


def _decimal(text: str, unit: Decimal) -> Decimal:
    number = Decimal(text)
    if number.is_finite():
        return number.quantize(unit, context=_ROOMY)
    raise ConnectException(
        f"{text} is not a decimal: numeric.mapping=best_fit_eager_double reads it as doubles"
    )
