"""Columns of tables as fields of records: which schema a column's values have.

`numeric.mapping` decides about exact numbers. Integers and doubles are easier to read than
Connect's Decimal; a mapping other than `none` takes them where a column's precision and scale say
that nothing is lost, `best_fit_eager_double` also where digits are.
"""

from __future__ import annotations

from typing import Final

from headrace.pipelines.connect.connectors.jdbc.tables import UNSET, SqlColumn, SqlType
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import Schema

NUMERIC_MAPPINGS: Final = ("none", "precision_only", "best_fit", "best_fit_eager_double")
UNLIMITED_SCALE: Final = 127  # of a Decimal whose column names no scale
_LEAST_SCALE: Final = -84
_PRIMITIVE_DIGITS: Final = 18  # what an INT64 always holds

_PLAIN: Final = {
    SqlType.BOOLEAN: schemas.BOOLEAN,
    SqlType.TINYINT: schemas.INT8,
    SqlType.SMALLINT: schemas.INT16,
    SqlType.INTEGER: schemas.INT32,
    SqlType.BIGINT: schemas.INT64,
    SqlType.REAL: schemas.FLOAT32,
    SqlType.DOUBLE: schemas.FLOAT64,
    SqlType.TEXT: schemas.STRING,
    SqlType.BYTES: schemas.BYTES,
    SqlType.DATE: schemas.date(),
    SqlType.TIME: schemas.time(),
    SqlType.TIMESTAMP: schemas.timestamp(),
    SqlType.INSTANT: schemas.timestamp(),
}


def field_schema(column: SqlColumn, mapping: str) -> Schema | None:
    """The schema of a column's values; None if records cannot hold its type."""
    if column.type is None:
        return None
    plain = _PLAIN.get(column.type) or _number(column, mapping)
    return plain.but(optional=True) if column.optional else plain


def _number(column: SqlColumn, mapping: str) -> Schema:
    precision, scale = column.precision, column.scale
    if mapping == "best_fit_eager_double" and (scale > 0 or scale == UNSET):
        return schemas.FLOAT64
    if mapping != "none" and scale != UNSET and precision <= _PRIMITIVE_DIGITS:
        whole = scale == 0 if mapping == "precision_only" else _LEAST_SCALE <= scale < 1
        if whole:
            return _integer(precision)
        if mapping == "best_fit" and scale > 0:
            return schemas.FLOAT64
    return schemas.decimal(UNLIMITED_SCALE if scale == UNSET else scale)


def _integer(precision: int) -> Schema:
    if precision > 9:
        return schemas.INT64
    if precision > 4:
        return schemas.INT32
    return schemas.INT16 if precision > 2 else schemas.INT8
