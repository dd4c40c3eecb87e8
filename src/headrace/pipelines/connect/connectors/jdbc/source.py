"""The JDBC source: tables, or one query, polled for new rows."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from typing import Final

from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.connectors.jdbc.connection import Database
from headrace.pipelines.connect.connectors.jdbc.querier import Querier
from headrace.pipelines.connect.connectors.jdbc.selection import chosen, dealt, listed, unlisted
from headrace.pipelines.connect.connectors.jdbc.session import Session, SqlFault
from headrace.pipelines.connect.connectors.jdbc.source_settings import SourceSettings
from headrace.pipelines.connect.faults import ConnectException, RetriableException
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.tasks import Offsets, SourceTask, source

_logger = logging.getLogger(__name__)
_LONGEST_REST_SECONDS: Final = 1.0


@source(
    "io.confluent.connect.jdbc.JdbcSourceConnector",
    version="10.8.4",
    settings=SourceSettings,
    aliases=("JdbcSourceConnector", "JdbcSource"),
)
class JdbcSource(SourceTask):
    """A task with some of the connector's tables. The first one looks for new tables too."""

    @classmethod
    def task_configs(cls, settings: Config, most: int) -> list[Mapping[str, str]]:
        """The tables that there are, dealt to the tasks; a query is one task's."""
        assert isinstance(settings, SourceSettings)
        settings.check()
        if settings.query:
            return [{"tables": ""}]
        database = Database(settings, autocommit=True)
        try:
            tables = chosen(settings, database.dialect, database.session(_rest))
        except SqlFault as fault:
            raise ConnectException(f"the tables cannot be listed: {fault}") from fault
        finally:
            database.drop()
        known = listed(database.dialect, tables)
        return [
            {"tables": listed(database.dialect, part), "headrace.tables": known}
            for part in dealt(tables, most) or [[]]
        ]

    def open(self, settings: Config, offsets: Offsets) -> None:
        """Take up each table where it was left."""
        assert isinstance(settings, SourceSettings)
        settings.check()
        self._settings = settings
        self._queriers: list[Querier] = []
        self._database = Database(settings, autocommit=True)
        dialect = self._database.dialect
        if settings.query:
            self._queriers = [Querier(settings, dialect, None)]
        else:
            tables = unlisted(dialect, settings.tables)
            self._queriers = [Querier(settings, dialect, table) for table in tables]
        self._tables_due = time.monotonic() + settings.table_poll_ms / 1000
        for querier in self._queriers:
            querier.resume(offsets)
        session = self._session()
        for querier in self._queriers:
            try:
                querier.validate(session)
            except SqlFault as fault:
                raise ConnectException(f"{querier} cannot be looked up: {fault}") from fault

    def poll(self) -> Iterable[Batch]:
        """A batch of the table whose turn it is; nothing after a rest in which none was due."""
        now = time.monotonic()
        self._look_for_tables(now)
        querier = min(self._queriers, key=_turn, default=None)
        wait = _LONGEST_REST_SECONDS if querier is None else _turn(querier) - now
        if querier is None or wait > 0:
            self.context.wait(min(wait, _LONGEST_REST_SECONDS))
            return ()
        batch = self._batch(querier)
        if not querier.reading:
            querier.due = time.monotonic() + self._settings.poll_ms / 1000
        return () if batch is None else (batch,)

    def close(self) -> None:
        """Let go of the connection."""
        if hasattr(self, "_database"):
            self._leave()

    def _session(self) -> Session:
        try:
            return self._database.session(self.context.wait)
        except SqlFault as fault:
            raise RetriableException(str(fault)) from fault

    def _leave(self) -> None:
        for querier in self._queriers:
            querier.stop()
        self._database.drop()

    def _batch(self, querier: Querier) -> Batch | None:
        """What comes next; a failed query is logged and asked again when the table is due."""
        session = self._session()
        try:
            return querier.poll(session)
        except SqlFault as fault:
            _logger.error("%s cannot be read: %s", querier, fault)
            self._leave()
            return None

    def _look_for_tables(self, now: float) -> None:
        """Ask for new tasks once the connector's tables are others than it knew."""
        if self.context.task != 0 or self._settings.query or now < self._tables_due:
            return
        if any(querier.reading for querier in self._queriers):
            return  # the connection is busy with a result
        self._tables_due = now + self._settings.table_poll_ms / 1000
        dialect = self._database.dialect
        session = self._session()
        try:
            tables = listed(dialect, chosen(self._settings, dialect, session))
        except SqlFault as fault:
            _logger.error("the tables cannot be listed: %s", fault)
            return
        if tables != self._settings.tables_known:
            self.context.reconfigure()


def _turn(querier: Querier) -> float:
    return 0.0 if querier.reading else querier.due


def _rest(seconds: float) -> bool:
    time.sleep(seconds)
    return False
