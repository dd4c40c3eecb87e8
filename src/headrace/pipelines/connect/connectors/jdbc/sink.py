"""The JDBC sink: records as rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.connectors.jdbc.connection import Database
from headrace.pipelines.connect.connectors.jdbc.positions import Positions
from headrace.pipelines.connect.connectors.jdbc.session import Session, SqlFault, Trouble
from headrace.pipelines.connect.connectors.jdbc.sink_settings import SinkSettings
from headrace.pipelines.connect.connectors.jdbc.writer import Writer
from headrace.pipelines.connect.faults import ConnectException, RetriableException
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.tasks import Partition, RowsRefused, SinkTask, sink


@sink(
    "io.confluent.connect.jdbc.JdbcSinkConnector",
    version="10.8.4",
    settings=SinkSettings,
    aliases=("JdbcSinkConnector", "JdbcSink"),
)
class JdbcSink(SinkTask):
    """Each batch is a transaction: what `put` took is durable when it returns."""

    @classmethod
    def task_configs(cls, settings: Config, most: int) -> list[Mapping[str, str]]:
        """As many tasks as there may be: partitions are dealt to them."""
        assert isinstance(settings, SinkSettings)
        settings.check()
        return [{} for _ in range(most)]

    def open(self, settings: Config) -> None:
        """Read the settings; the database is asked when there is something to write."""
        assert isinstance(settings, SinkSettings)
        settings.check()
        self._settings = settings
        self._database = Database(settings, autocommit=False)
        dialect = self._database.dialect
        self._positions = (
            Positions(dialect, self.context.connector) if settings.exactly_once else None
        )
        self._writer = Writer(settings, dialect, self.context.connector, self._positions)
        self._retries = settings.max_retries

    def assigned(self, partitions: Iterable[Partition]) -> Mapping[Partition, int]:
        """Where the database says that each partition stands, if it keeps that."""
        if self._positions is None:
            return {}
        try:
            session = self._session()
            self._positions.create(session)
            return self._positions.of(session, partitions)
        except SqlFault as fault:
            self._database.drop()
            raise self._failed(fault) from fault

    def put(self, batch: Batch) -> None:
        """Write the batch; rows that the database never takes are refused by their number."""
        if not len(batch):
            return
        try:
            refused = self._written(batch)
        except SqlFault as fault:
            self._forget()
            raise self._failed(fault) from fault
        except BaseException:
            self._forget()
            raise
        self._retries = self._settings.max_retries
        if refused:
            raise RowsRefused(dict(sorted(refused.items())))

    def close(self) -> None:
        """Let go of the connection."""
        if hasattr(self, "_database"):
            self._database.drop()

    def _session(self) -> Session:
        return self._database.session(self.context.wait)

    def _forget(self) -> None:
        """Begin afresh: with a new connection and a new look at the tables."""
        self._database.drop()
        self._writer.structure.forget()

    def _written(self, batch: Batch) -> dict[int, str]:
        try:
            return self._writer.write(self._session(), batch)
        except SqlFault as fault:
            if fault.trouble is not Trouble.MISSING:
                raise
            self._forget()  # somebody has changed the table: see what it is like now
            return self._writer.write(self._session(), batch)

    def _failed(self, fault: SqlFault) -> ConnectException:
        """A fault that may pass, while there are retries left, or one that ends the task."""
        if fault.trouble is not Trouble.PASSING or not self._retries:
            return ConnectException(str(fault))
        self._retries -= 1
        self.context.wait(self._settings.retry_backoff_ms / 1000)
        return RetriableException(str(fault))
