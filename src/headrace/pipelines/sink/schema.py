"""The columns that a DataFrame may bring, checked before a query starts.

    COLUMN     TYPE                                        NOTE
    value      string or binary                            required; null: a tombstone
    key        string or binary                            null: any partition
    headers    array<struct<key:string,value:binary>>
    topic      string                                      unless the option `topic` names one
    partition  int                                         null: the key decides
    timestamp  timestamp or double (seconds since 1970)    null: the time of writing

Other columns are passed over, as Spark's own sink does, so rows of a source can be written as they
are. Names count in their exact case.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    IntegerType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headrace.pipelines.sink.faults import WrongColumns

_HEADERS: Final = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)
_ALLOWED: Final[dict[str, tuple[DataType, ...]]] = {
    "topic": (StringType(),),
    "key": (StringType(), BinaryType()),
    "value": (StringType(), BinaryType()),
    "headers": (_HEADERS,),
    "partition": (IntegerType(),),
    "timestamp": (TimestampType(), DoubleType()),
}


def checked_columns(schema: StructType, topic: str | None) -> tuple[str, ...]:
    """The names of the columns that will be written, or WrongColumns: what is wrong with them."""
    columns = [field for field in schema.fields if field.name in _ALLOWED]
    names = [field.name for field in columns]
    if "value" not in names:
        raise WrongColumns(
            f"there is no column 'value' among {_listed(schema)}; "
            "it is what a record holds: a string or binary column of this name is required"
        )
    if topic is None and "topic" not in names:
        raise WrongColumns(
            "no topic: give the option 'topic', or a string column 'topic' "
            f"beside {_listed(schema)}"
        )
    for field in columns:
        if names.count(field.name) > 1:
            raise WrongColumns(f"there are {names.count(field.name)} columns '{field.name}'")
        if field.name == "topic" and topic is not None:
            continue
        _check_type(field)
    return tuple(name for name in names if name != "topic" or topic is None)


def _check_type(field: StructField) -> None:
    allowed = _ALLOWED[field.name]
    if not any(_same(field.dataType, one) for one in allowed):
        wanted = " or ".join(one.simpleString() for one in allowed)
        raise WrongColumns(
            f"column '{field.name}' is of type {field.dataType.simpleString()}; "
            f"it must be {wanted}: cast it, or give it another name"
        )


def _same(one: DataType, other: DataType) -> bool:
    """Equal but for nullability and the collation of strings."""
    if isinstance(one, StringType) and isinstance(other, StringType):
        return True
    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return _same(one.elementType, other.elementType)
    if isinstance(one, StructType) and isinstance(other, StructType):
        return one.names == other.names and all(
            _same(mine.dataType, its.dataType)
            for mine, its in zip(one.fields, other.fields, strict=True)
        )
    return type(one) is type(other)


def _listed(schema: StructType) -> str:
    return ", ".join(f"'{name}'" for name in schema.names) or "none"
