"""Iceberg tables: offsets are properties of the table, written in the commit of their rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

import pyarrow as pa

from headrace.pipelines.lake.faults import Fenced, LakeFault, MissingExtra
from headrace.pipelines.lake.tables.gathering import Gathered
from headrace.pipelines.lake.target import Place

try:
    from pyiceberg.catalog import Catalog, load_catalog
    from pyiceberg.exceptions import (
        AuthorizationExpiredError,
        CommitFailedException,
        CommitStateUnknownException,
        NoSuchTableError,
        RESTError,
        ServerError,
        ServiceUnavailableError,
        TooManyRequestsError,
        ValidationError,
    )
    from pyiceberg.table import Table
except ImportError as fault:
    raise MissingExtra("headrace.table.format=iceberg", fault) from fault

try:
    from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError
except ImportError:  # then no catalog is in a database
    _OF_SQL: tuple[type[Exception], ...] = ()
    _PASSING_OF_SQL: tuple[type[Exception], ...] = ()
else:
    _OF_SQL = (SQLAlchemyError,)
    _PASSING_OF_SQL = (OperationalError, InterfaceError)

_FAULTS: Final = (OSError, ValueError, ValidationError, RESTError, pa.ArrowException, *_OF_SQL)
_PASSING: Final[tuple[type[Exception], ...]] = (
    OSError,
    AuthorizationExpiredError,
    CommitStateUnknownException,  # the table says then whether it has the rows
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
    *_PASSING_OF_SQL,  # locked, away, out of connections
)


class IcebergTarget:
    """A table for each topic, `<namespace>.<topic>`. `application` says whose offsets they are.

    A commit that was prepared on an older state of the table fails, so of two writers with the same
    offset one is fenced.
    """

    def __init__(
        self,
        namespace: str,
        application: str,
        *,
        catalog: Mapping[str, str],
        partition_by: Iterable[str] = (),
    ) -> None:
        self._namespace = namespace
        self._application = application
        self._partition_by = list(partition_by)
        try:
            self._catalog: Catalog = load_catalog("headrace", **catalog)
            self._catalog.create_namespace_if_not_exists(namespace)
        except Exception as fault:  # each kind of catalog has faults of its own
            raise LakeFault(
                f"cannot use the Iceberg catalog {_shown(catalog.get('uri', ''))}: "
                f"{_shown(str(fault))}; see that it answers and may be written",
                passing=True,
            ) from fault

    def positions(self, places: Iterable[Place]) -> dict[Place, int]:
        """The property of each partition."""
        tables: dict[str, Table | None] = {}
        found: dict[Place, int] = {}
        for place in places:
            topic = place[0]
            try:
                if topic not in tables:
                    tables[topic] = self._table(topic)
            except _FAULTS as fault:
                raise self._failed(topic, fault) from fault
            table = tables[topic]
            at = None if table is None else table.properties.get(self._name(place))
            if at is not None:
                found[place] = int(at)
        return found

    def begin(self, place: Place) -> Gathered:
        """Rows are gathered in memory."""
        return Gathered(partial(self._append, place))

    def close(self) -> None:
        """There is nothing to let go of."""

    def _append(self, place: Place, rows: pa.Table, first: int, following: int) -> None:
        topic, partition = place
        try:
            table = self._table(topic) or self._created(topic, rows.schema)
            at = table.properties.get(self._name(place))
            if at is not None and int(at) > first:
                raise Fenced(topic, partition, first)
            with table.transaction() as commit:
                with commit.update_schema() as change:
                    change.union_by_name(rows.schema)
                noted = {self._name(place): str(following)}
                commit.append(rows, snapshot_properties=noted)
                commit.set_properties(noted)
        except CommitFailedException as fault:
            told = (
                f"{self._identifier(topic)} has changed meanwhile: {fault}; rows are written again"
            )
            raise LakeFault(told, passing=True) from fault
        except _FAULTS as fault:
            raise self._failed(topic, fault) from fault

    def _created(self, topic: str, schema: pa.Schema) -> Table:
        table = self._catalog.create_table_if_not_exists(self._identifier(topic), schema)
        if self._partition_by and not table.spec().fields:
            with table.update_spec() as change:
                for name in self._partition_by:
                    change.add_identity(name)
        return table

    def _table(self, topic: str) -> Table | None:
        try:
            return self._catalog.load_table(self._identifier(topic))
        except NoSuchTableError:
            return None

    def _failed(self, topic: str, fault: Exception) -> LakeFault:
        return LakeFault(
            f"cannot use the Iceberg table {self._identifier(topic)}: {_cause(fault)}; see "
            "that the catalog answers and the warehouse can be written, and that the records' "
            "schema fits the table",
            passing=isinstance(fault, _PASSING),
        )

    def _identifier(self, topic: str) -> str:
        return f"{self._namespace}.{topic.replace('.', '_')}"

    def _name(self, place: Place) -> str:
        return f"headrace.offset.{self._application}-{place[0]}-{place[1]}"


def _cause(fault: Exception) -> str:
    """A fault without the statement and the values that SQLAlchemy puts behind its message."""
    return _shown(str(getattr(fault, "orig", None) or fault))


def _shown(text: str) -> str:
    """A text without the users and passwords of addresses in it: messages end up in logs."""
    return re.sub(r"(?<=://)[^/?#\s]*@", "", text)
