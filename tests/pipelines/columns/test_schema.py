"""The columns are those of Spark's Kafka source, exactly."""

from __future__ import annotations

import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from headrace.pipelines.columns.schema import SCHEMA, SCHEMA_WITH_HEADERS, arrow_schema

PLAIN = (
    StructType()
    .add("key", BinaryType())
    .add("value", BinaryType())
    .add("topic", StringType())
    .add("partition", IntegerType())
    .add("offset", LongType())
    .add("timestamp", TimestampType())
    .add("timestampType", IntegerType())
)
HEADERS = ArrayType(StructType().add("key", StringType()).add("value", BinaryType()))
WITH_HEADERS = StructType(list(PLAIN)).add("headers", HEADERS)


def ddl_of(columns: StructType) -> str:
    return ", ".join(f"{column.name} {column.dataType.simpleString()}" for column in columns)


@pytest.mark.parametrize(("columns", "headers"), [(PLAIN, False), (WITH_HEADERS, True)])
def test_arrow_schema_is_what_spark_expects(columns: StructType, headers: bool) -> None:
    """Spark refuses a source whose first batch has another schema, nullability included."""
    schema = arrow_schema(headers=headers)
    assert schema.equals(to_arrow_schema(columns, timezone="UTC"), check_metadata=True)


@pytest.mark.parametrize(("columns", "ddl"), [(PLAIN, SCHEMA), (WITH_HEADERS, SCHEMA_WITH_HEADERS)])
def test_ddl_names_the_same_columns(columns: StructType, ddl: str) -> None:
    """The DDL and the Arrow schema are two spellings of one thing."""
    assert ddl == ddl_of(columns)
