"""Tables as the sink needs them: looked up once, created or given columns where that is allowed."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.pipelines.connect.connectors.jdbc.dialects.dialect import Dialect
from headrace.pipelines.connect.connectors.jdbc.fields import Fields, SinkField
from headrace.pipelines.connect.connectors.jdbc.session import Session, SqlFault
from headrace.pipelines.connect.connectors.jdbc.sink_settings import SinkSettings
from headrace.pipelines.connect.connectors.jdbc.tables import Table, TableId
from headrace.pipelines.connect.faults import ConnectException


class Structure:
    """The tables of a sink, as far as they are known."""

    def __init__(self, settings: SinkSettings, dialect: Dialect) -> None:
        self._settings = settings
        self._dialect = dialect
        self._tables: dict[TableId, Table] = {}
        self._kinds = {kind.upper() for kind in settings.table_types}

    def forget(self) -> None:
        """Look everything up again: tables may be others than they were."""
        self._tables.clear()

    def find(self, session: Session, table: TableId) -> Table | None:
        """The table, if there is one that may be written."""
        known = self._tables.get(table)
        if known is not None:
            return known
        found = self._dialect.describe(session, table)
        if found is None:
            return None
        if found.kind not in self._kinds:
            raise ConnectException(
                f"{table} is a {found.kind}, which table.types={','.join(sorted(self._kinds))} "
                "does not let this sink write"
            )
        self._tables[table] = found
        return found

    def ready(self, session: Session, table: TableId, fields: Fields) -> Table:
        """The table with a column for every field; ConnectException if it has not and may not."""
        found = self.find(session, table) or self._create(session, table, fields)
        missing = [field for field in fields.all if found.column(field.name) is None]
        return self._amend(session, found, missing) if missing else found

    def _create(self, session: Session, table: TableId, fields: Fields) -> Table:
        if not self._settings.auto_create:
            raise ConnectException(f"Table {table} is missing and auto-creation is disabled")
        try:
            session.run(self._dialect.create_table(table, fields.all))
            session.commit()
        except SqlFault:
            session.rollback()
            if self.find(session, table) is None:  # no other task has made it meanwhile
                raise
        made = self.find(session, table)
        if made is None:
            raise ConnectException(f"Table {table} is missing right after it was created")
        return made

    def _amend(self, session: Session, table: Table, missing: Sequence[SinkField]) -> Table:
        kind, named = table.kind, ", ".join(map(str, missing))
        if kind != "TABLE":
            raise ConnectException(
                f"{kind.capitalize()} {table.id} is missing fields ([{named}]) and ALTER {kind} is "
                "unsupported"
            )
        for field in missing:
            if not field.optional and field.schema.default is None:
                raise ConnectException(
                    f"Cannot ALTER {kind} {table.id} to add missing field {field}, as the field is "
                    "not optional and does not have a default value"
                )
        if not self._settings.auto_evolve:
            raise ConnectException(
                f"{kind.capitalize()} {table.id} is missing fields ([{named}]) and auto-evolution "
                "is disabled"
            )
        try:
            for statement in self._dialect.alter_table(table.id, missing):
                session.run(statement)
            session.commit()
        except SqlFault:
            session.rollback()  # another task may have added them: the second look tells
        self._tables.pop(table.id)
        found = self.find(session, table.id)
        if found is None or any(found.column(field.name) is None for field in missing):
            raise ConnectException(
                f"Failed to amend {kind} '{table.id}' to add missing fields: [{named}]"
            )
        return found
