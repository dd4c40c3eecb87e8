"""A Python function over Arrow arrays as a column; Spark has such functions since 4.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.pipelines.spark_versions import check_spark

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column
    from pyspark.sql.types import DataType


def arrow_column(
    function: Callable[..., pa.Array], result: DataType, *columns: Column | str
) -> Column:
    """What the function makes of the columns, batch by batch in Python workers."""
    check_spark(f"the function {function.__name__}", since="4.1")
    from pyspark.sql.pandas.functions import arrow_udf

    # The stubs know only the form that names the kind of function, which warns against itself.
    made: Callable[..., Column] = arrow_udf(function, result)  # type: ignore[call-overload]
    return made(*columns)
