"""The data source `headrace`: topics as DataFrames, read and written, in batches and in streams.

Spark loads this class in many short-lived processes, so it holds the user's options and nothing
else; the rooms that read and write are imported when a method needs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)

from headrace.pipelines.spark_versions import check_spark

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class HeadraceDataSource(DataSource):
    """Options and columns are those of Spark's own `kafka` format; the guides list the others."""

    @classmethod
    def name(cls) -> str:
        return "headrace"

    def schema(self) -> str | StructType:
        from headrace.pipelines.source.options import check_early

        return check_early(self.options)

    def reader(self, schema: StructType) -> DataSourceReader:
        from headrace.pipelines.source.readers import batch_reader

        return batch_reader(self.options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        check_spark(
            'readStream.format("headrace")', since="4.2", instead="read in batches: spark.read"
        )
        from headrace.pipelines.source.stream_reader import stream_reader

        return stream_reader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from headrace.pipelines.sink.writer import batch_writer

        return batch_writer(self.options, schema, overwrite)

    def streamWriter(  # noqa: N802
        self, schema: StructType, overwrite: bool
    ) -> DataSourceStreamWriter:
        check_spark(
            'writeStream.format("headrace")',
            since="4.1",
            instead="write each batch by df.write inside foreachBatch",
        )
        from headrace.pipelines.sink.writer import stream_writer

        return stream_writer(self.options, schema, overwrite)
