"""Delta tables: offsets are application transactions, written in the commit of their rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import pyarrow as pa

from headrace.pipelines.lake.faults import Fenced, LakeFault, MissingExtra
from headrace.pipelines.lake.tables.gathering import Gathered
from headrace.pipelines.lake.target import Place

try:
    from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
    from deltalake.exceptions import CommitFailedError, DeltaError
except ImportError as fault:
    raise MissingExtra("headrace.table.format=delta", fault) from fault


class DeltaTarget:
    """A table for each topic, at `<url>/<topic>`. `application` says whose offsets they are.

    Of two writers with the same offset the later one fails: Delta lets no two commits that know
    nothing of each other set the same application's version.
    """

    def __init__(
        self,
        url: str,
        application: str,
        *,
        partition_by: Iterable[str] = (),
        storage: Mapping[str, str] | None = None,
    ) -> None:
        self._url = url.rstrip("/")
        self._application = application
        self._partition_by = list(partition_by)
        self._storage = dict(storage or {})

    def positions(self, places: Iterable[Place]) -> dict[Place, int]:
        """The version of each partition's application."""
        tables: dict[str, DeltaTable | None] = {}
        found: dict[Place, int] = {}
        for place in places:
            topic = place[0]
            if topic not in tables:
                tables[topic] = self._table(topic)
            at = self._version(tables[topic], place)
            if at is not None:
                found[place] = at
        return found

    def begin(self, place: Place) -> Gathered:
        """Rows are gathered in memory."""
        return Gathered(partial(self._append, place))

    def close(self) -> None:
        """There is nothing to let go of."""

    def _append(self, place: Place, rows: pa.Table, first: int, following: int) -> None:
        topic, partition = place
        table = self._table(topic)
        at = self._version(table, place)
        if at is not None and at > first:
            raise Fenced(topic, partition, first)
        noted = Transaction(self._name(place), following)
        try:
            write_deltalake(
                self._uri(topic) if table is None else table,
                rows,
                mode="append",
                schema_mode="merge",
                partition_by=self._partition_by or None,
                storage_options=self._storage or None,
                commit_properties=CommitProperties(app_transactions=[noted]),
            )
        except CommitFailedError as fault:
            told = f"{self._uri(topic)} has changed meanwhile: {fault}; the rows are written again"
            raise LakeFault(told, passing=True) from fault
        except (DeltaError, OSError, ValueError, pa.ArrowException) as fault:
            raise self._failed(topic, fault) from fault

    def _table(self, topic: str) -> DeltaTable | None:
        uri = self._uri(topic)
        try:
            if not DeltaTable.is_deltatable(uri, self._storage or None):
                return None
            return DeltaTable(uri, storage_options=self._storage or None)
        except (DeltaError, OSError, ValueError) as fault:
            raise self._failed(topic, fault) from fault

    def _version(self, table: DeltaTable | None, place: Place) -> int | None:
        return None if table is None else table.transaction_version(self._name(place))

    def _name(self, place: Place) -> str:
        return f"{self._application}-{place[0]}-{place[1]}"

    def _uri(self, topic: str) -> str:
        return f"{self._url}/{topic}"

    def _failed(self, topic: str, fault: Exception) -> LakeFault:
        return LakeFault(
            f"cannot use the Delta table {self._uri(topic)}: {fault}; see that the place can be "
            "written and that the records' schema fits the table",
            passing=isinstance(fault, OSError),
        )
