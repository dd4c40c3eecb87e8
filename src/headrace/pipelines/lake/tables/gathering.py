"""Rows that wait in memory until a table takes them."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from headrace.pipelines.lake.faults import LakeFault
from headrace.pipelines.lake.formats.parquet import table_of
from headrace.pipelines.lake.rows import Rows


class Gathered:
    """What a partition has written since its last commit. Folders are the table's own matter."""

    def __init__(self, append: Callable[[pa.Table, int, int], None]) -> None:
        self.size = 0
        self._append = append
        self._tables: list[pa.Table] = []

    def write(self, folder: str, rows: Rows) -> None:
        """Keep rows."""
        table = table_of(rows.values)
        self.size += table.nbytes
        self._tables.append(table)

    def commit(self, first: int, following: int) -> None:
        """Append all rows to the table."""
        try:
            whole = pa.concat_tables(self._tables, promote_options="default")
        except pa.ArrowException as fault:
            raise LakeFault(
                f"rows of one commit do not fit one table: {fault}; set schema.compatibility"
            ) from fault
        self._append(whole, first, following)

    def drop(self) -> None:
        """Let go of all rows."""
        self._tables = []
