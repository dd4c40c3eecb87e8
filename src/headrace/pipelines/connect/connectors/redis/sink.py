"""Redis sinks: keys that are set and deleted, or entries of lists and streams.

Setting and deleting again changes nothing. Lists and streams may get an entry twice after a crash.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.connectors.documents import key_text, payload_of
from headrace.pipelines.connect.connectors.extras import needed_by
from headrace.pipelines.connect.connectors.kcql import Statement
from headrace.pipelines.connect.connectors.redis.settings import (
    KCQL,
    Access,
    LensesSettings,
    RedisSettings,
)
from headrace.pipelines.connect.faults import ConnectException, DataException
from headrace.pipelines.connect.model import java_text
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.model.schema import Struct
from headrace.pipelines.connect.tasks import RowsRefused, SinkTask, sink

if TYPE_CHECKING:
    from headrace.pipelines.connect.connectors.redis.server import Command, RedisServer

_SEPARATOR: Final = "-"


class _RedisSink(SinkTask):
    """One client for each task."""

    def _connect(self, access: Access) -> None:
        with needed_by("the Redis sink"):
            from headrace.pipelines.connect.connectors.redis.server import RedisServer
        self._server: RedisServer = RedisServer(access)

    def put(self, batch: Batch) -> None:
        commands: list[Command] = []
        rows: list[int] = []
        refused: dict[int, str] = {}
        for row, record in enumerate(batch.records()):
            try:
                command = self._command(record)
            except DataException as fault:
                refused[row] = str(fault)
                continue
            if command is not None:
                commands.append(command)
                rows.append(row)
        if commands:
            reasons = zip(rows, self._server.run(commands), strict=True)
            refused |= {row: reason for row, reason in reasons if reason is not None}
        if refused:
            raise RowsRefused(dict(sorted(refused.items())))

    def close(self) -> None:
        """Let go of the connections."""
        if hasattr(self, "_server"):
            self._server.close()

    def _command(self, record: Record) -> Command | None:
        """What to ask for a record; None if nothing."""
        raise NotImplementedError


@sink(
    "com.github.jcustenborder.kafka.connect.redis.RedisSinkConnector",
    version="0.0.8",
    settings=RedisSettings,
    aliases=("RedisSinkConnector", "RedisSink"),
)
class RedisSink(_RedisSink):
    """Keys of records are keys, values are values; a record without a value deletes its key."""

    @classmethod
    def task_configs(cls, settings: Config, most: int) -> list[Mapping[str, str]]:
        assert isinstance(settings, RedisSettings)
        settings.access()
        return [{}] * most

    def open(self, settings: Config) -> None:
        assert isinstance(settings, RedisSettings)
        self._connect(settings.access())

    def _command(self, record: Record) -> Command | None:
        if record.key is None:
            raise DataException("the record has no key to be set under")
        key = payload_of(record.key_schema, record.key)
        if record.value is None:
            return ("DEL", key)
        return ("SET", key, payload_of(record.value_schema, record.value))


_LENSES: Final = "streamreactor.connect.redis.sink.RedisSinkConnector"


@sink(
    f"com.datamountaineer.{_LENSES}",
    version="8.1.0",
    settings=LensesSettings,
    aliases=(f"io.lenses.{_LENSES}",),
)
class KcqlRedisSink(_RedisSink):
    """As statements say it. Values are JSON, or the fields of a stream's entry."""

    @classmethod
    def task_configs(cls, settings: Config, most: int) -> list[Mapping[str, str]]:
        assert isinstance(settings, LensesSettings)
        settings.targets()
        return [{}] * most

    def open(self, settings: Config) -> None:
        assert isinstance(settings, LensesSettings)
        self._targets = settings.targets()
        self._connect(settings.access())

    def _command(self, record: Record) -> Command | None:
        statement = self._targets.get(record.topic)
        if statement is None:
            raise ConnectException(
                f"{KCQL} has no statement with FROM {record.topic}, which is among the topics"
            )
        store = statement.options.get("STOREAS", "CACHE").upper()
        if store == "CACHE":
            return _cached(statement, record)
        if record.value is None:
            return None
        value = payload_of(record.value_schema, record.value, statement.fields)
        if store == "LIST":
            return ("RPUSH", statement.target, value)
        return ("XADD", statement.target, "*", *_fields(statement, record, value))


def _cached(statement: Statement, record: Record) -> Command:
    schema, value = record.value_schema, record.value
    if statement.keys and value is not None:
        key = key_text(schema, value, statement.keys, _SEPARATOR)
    elif record.key is not None:
        key = java_text.text_of(record.key, record.key_schema)
    else:
        raise DataException("the record has no key, and its statement no PK")
    key = statement.target + key
    if value is None:
        return ("DEL", key)
    ttl = statement.options.get("TTL")
    expiry = () if ttl is None else ("EX", int(ttl))
    return ("SET", key, payload_of(schema, value, statement.fields), *expiry)


def _fields(statement: Statement, record: Record, value: bytes) -> list[str | bytes]:
    """A stream's entry: a field of it for each field of the value, or else the value alone."""
    schema = record.value_schema
    names = list(statement.fields)
    if not names and isinstance(record.value, Struct):
        names = [(field.name, field.name) for field in record.value.schema.fields]
    elif not names and isinstance(record.value, dict):
        names = [(str(name), str(name)) for name in record.value]
    if not names:
        return ["value", value]
    said: list[str | bytes] = []
    for path, name in names:
        said += [name, key_text(schema, record.value, [path])]
    return said
