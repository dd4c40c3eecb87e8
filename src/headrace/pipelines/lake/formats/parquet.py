"""Parquet files. The fields of structs are columns; other values are a column `value`."""

from __future__ import annotations

from typing import BinaryIO, Final

import pyarrow as pa

from headrace.pipelines.lake.faults import MissingExtra
from headrace.pipelines.lake.rows import Rows

try:
    from pyarrow import parquet
except ImportError as fault:
    raise MissingExtra("Parquet", fault) from fault

_GROUP_BYTES: Final = 16 << 20


class ParquetFormat:
    """`codec` is snappy, gzip, brotli, lz4, zstd or none."""

    extension = ".parquet"

    def __init__(self, codec: str = "snappy") -> None:
        self._codec = codec

    def open(self, out: BinaryIO, rows: Rows) -> ParquetFile:
        """Begin a file."""
        return ParquetFile(out, table_of(rows.values).schema, self._codec)


class ParquetFile:
    """Rows are gathered in memory until they make a row group."""

    def __init__(self, out: BinaryIO, schema: pa.Schema, codec: str) -> None:
        self._writer = parquet.ParquetWriter(out, schema, compression=codec)
        self._gathered: list[pa.Table] = []
        self._bytes = 0

    def write(self, rows: Rows) -> None:
        """Add rows."""
        table = table_of(rows.values)
        self._gathered.append(table)
        self._bytes += table.nbytes
        if self._bytes >= _GROUP_BYTES:
            self._write_group()

    def finish(self) -> None:
        """Write the last group and the footer."""
        self._write_group()
        self._writer.close()

    def abandon(self) -> None:
        """Write a footer, as that is how the library lets go of a file."""
        self._gathered = []
        self._writer.close()

    def _write_group(self) -> None:
        if self._gathered:
            self._writer.write_table(pa.concat_tables(self._gathered))
        self._gathered, self._bytes = [], 0


def table_of(values: pa.Array) -> pa.Table:
    """Values as a table."""
    if pa.types.is_struct(values.type) and values.type.num_fields:
        fields = [values.type.field(place) for place in range(values.type.num_fields)]
        return pa.Table.from_arrays(values.flatten(), schema=pa.schema(fields))
    return pa.table({"value": values})
