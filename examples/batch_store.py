"""A store that takes each micro-batch once, whatever is repeated: results and marker together.

Spark repeats a batch with the same number and the same records after a failure. The number is
written in the transaction that writes the results, so a repeated batch finds it and adds nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

_MARKERS: Final = (
    "CREATE TABLE IF NOT EXISTS stored_batches "
    "(query TEXT, batch INTEGER, PRIMARY KEY (query, batch))"
)


@contextmanager
def open_store(path: Path, *tables: str) -> Iterator[sqlite3.Connection]:
    """The database, with these tables if they are missing; closed at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as store:
        for statement in (_MARKERS, *tables):
            store.execute(statement)
        yield store


@contextmanager
def one_batch(
    path: Path, query: str, batch: int, *tables: str
) -> Iterator[sqlite3.Connection | None]:
    """The database in one transaction, or None: this batch is in it already."""
    with open_store(path, *tables) as store:
        store.execute("BEGIN IMMEDIATE")
        try:
            marked = store.execute(
                "INSERT OR IGNORE INTO stored_batches VALUES (?, ?)", (query, batch)
            )
            yield store if marked.rowcount == 1 else None
            store.execute("COMMIT")
        except BaseException:
            store.execute("ROLLBACK")
            raise
