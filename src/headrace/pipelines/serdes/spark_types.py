"""Arrow types as Spark names them, for the results of column functions."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyspark.sql import types as spark

from headrace.pipelines.spark_versions import check_spark

_SIMPLE: Final[dict[pa.DataType, spark.DataType]] = {
    pa.null(): spark.NullType(),
    pa.bool_(): spark.BooleanType(),
    pa.int32(): spark.IntegerType(),
    pa.int64(): spark.LongType(),
    pa.float32(): spark.FloatType(),
    pa.float64(): spark.DoubleType(),
    pa.string(): spark.StringType(),
    pa.binary(): spark.BinaryType(),
    pa.date32(): spark.DateType(),
    pa.timestamp("us", "UTC"): spark.TimestampType(),
    pa.timestamp("us"): spark.TimestampNTZType(),
    pa.duration("us"): spark.DayTimeIntervalType(),
}


def spark_type(arrow: pa.DataType) -> spark.DataType:
    """Everything is nullable: a value that is null, or bad, has no fields that are not."""
    if pa.types.is_struct(arrow):
        return spark.StructType(
            [spark.StructField(each.name, spark_type(each.type)) for each in arrow]
        )
    if pa.types.is_map(arrow):
        return spark.MapType(spark_type(arrow.key_type), spark_type(arrow.item_type))
    if pa.types.is_list(arrow):
        return spark.ArrayType(spark_type(arrow.value_type))
    if pa.types.is_decimal(arrow):
        return spark.DecimalType(arrow.precision, arrow.scale)
    if pa.types.is_time64(arrow):
        check_spark("a column of times of day", since="4.1")
        return spark.TimeType(6)
    return _SIMPLE[arrow]
