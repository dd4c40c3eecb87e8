"""The columns of a DataFrame are judged before a query starts, as Spark's own sink does."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from headrace.pipelines.sink.faults import WrongColumns
from headrace.pipelines.sink.schema import checked_columns


def struct(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


def headers(value: DataType, *, nullable: bool = True) -> ArrayType:
    member = StructType([StructField("key", StringType(), nullable), StructField("value", value)])
    return ArrayType(member, nullable)


@pytest.mark.parametrize(
    ("columns", "topic", "written"),
    [
        (struct(value=StringType()), "t", ("value",)),
        (struct(key=BinaryType(), value=BinaryType()), "t", ("key", "value")),
        (struct(topic=StringType(), value=StringType()), None, ("topic", "value")),
        (struct(topic=LongType(), value=StringType()), "t", ("value",)),
        (
            struct(
                key=StringType("UTF8_LCASE"),
                value=StringType(),
                headers=headers(BinaryType(), nullable=False),
                partition=IntegerType(),
                timestamp=TimestampType(),
                offset=LongType(),
                timestampType=IntegerType(),
            ),
            "t",
            ("key", "value", "headers", "partition", "timestamp"),
        ),
        (struct(value=StringType(), timestamp=DoubleType()), "t", ("value", "timestamp")),
        (struct(value=StringType(), Key=LongType()), "t", ("value",)),
    ],
)
def test_what_is_written(columns: StructType, topic: str | None, written: tuple[str, ...]) -> None:
    """Known columns of the right type; the option wins over the column; others are passed over."""
    assert checked_columns(columns, topic) == written


@pytest.mark.parametrize(
    ("columns", "topic", "text"),
    [
        (struct(key=StringType()), "t", "no column 'value' among 'key'"),
        (StructType([]), "t", "no column 'value' among none"),
        (struct(value=StringType()), None, "give the option 'topic', or a string column 'topic'"),
        (
            struct(value=StringType(), topic=IntegerType()),
            None,
            "column 'topic' is of type int; it must be string:",
        ),
        (
            struct(value=LongType()),
            "t",
            "column 'value' is of type bigint; it must be string or binary:",
        ),
        (struct(value=StringType(), key=LongType()), "t", "column 'key' is of type bigint"),
        (
            struct(value=StringType(), partition=LongType()),
            "t",
            "column 'partition' is of type bigint; it must be int:",
        ),
        (
            struct(value=StringType(), headers=headers(StringType())),
            "t",
            "column 'headers' is of type array<struct<key:string,value:string>>; "
            "it must be array<struct<key:string,value:binary>>:",
        ),
        (
            struct(value=StringType(), timestamp=TimestampNTZType()),
            "t",
            "column 'timestamp' is of type timestamp_ntz; it must be timestamp or double:",
        ),
        (
            StructType([StructField("value", StringType()), StructField("value", StringType())]),
            "t",
            "2 columns 'value'",
        ),
    ],
)
def test_what_is_refused(columns: StructType, topic: str | None, text: str) -> None:
    """The message names the column, the type found and what is allowed."""
    with pytest.raises(WrongColumns) as caught:
        checked_columns(columns, topic)
    assert text in str(caught.value)
