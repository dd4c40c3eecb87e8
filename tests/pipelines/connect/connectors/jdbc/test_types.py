"""Columns as fields: what numeric.mapping makes of exact numbers."""

from __future__ import annotations

import pytest

from headrace.pipelines.connect.connectors.jdbc.tables import UNSET, SqlColumn, SqlType
from headrace.pipelines.connect.connectors.jdbc.types import NUMERIC_MAPPINGS, field_schema
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import Schema

I8, I16, I32, I64 = schemas.INT8, schemas.INT16, schemas.INT32, schemas.INT64
DOUBLE = schemas.FLOAT64


def dec(scale: int) -> Schema:
    return schemas.decimal(scale)


@pytest.mark.spec("admin:CN-11")
@pytest.mark.parametrize(
    ("precision", "scale", "kinds"),
    [
        # none, precision_only, best_fit, best_fit_eager_double
        (2, 0, (dec(0), I8, I8, I8)),
        (4, 0, (dec(0), I16, I16, I16)),
        (9, 0, (dec(0), I32, I32, I32)),
        (18, 0, (dec(0), I64, I64, I64)),
        (19, 0, (dec(0), dec(0), dec(0), dec(0))),
        (5, -2, (dec(-2), dec(-2), I32, I32)),
        (5, 2, (dec(2), dec(2), DOUBLE, DOUBLE)),
        (30, 2, (dec(2), dec(2), dec(2), DOUBLE)),
        (0, UNSET, (dec(127), dec(127), dec(127), DOUBLE)),
    ],
)
def test_exact_numbers(precision: int, scale: int, kinds: tuple[Schema, ...]) -> None:
    column = SqlColumn("n", SqlType.NUMERIC, precision=precision, scale=scale, optional=False)
    assert tuple(field_schema(column, mapping) for mapping in NUMERIC_MAPPINGS) == kinds


def test_columns_that_may_be_null_are_optional() -> None:
    schema = field_schema(SqlColumn("d", SqlType.DATE), "none")
    assert schema == schemas.date(optional=True)


def test_types_that_records_do_not_have() -> None:
    assert field_schema(SqlColumn("p", None, "point"), "none") is None
