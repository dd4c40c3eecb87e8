"""The DynamoDB source: each change of an item as a record.

The key is JSON of the item's key. The value has no schema: `op` is c, u or d, `before` and `after`
are the item as far as the stream has them, `ts_ms` is the second of the change. Shards are the
source's partitions, their sequence numbers its offsets.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.connectors.dynamodb.settings import TABLES, DynamoSettings
from headrace.pipelines.connect.connectors.extras import needed_by
from headrace.pipelines.connect.faults import RetriableException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.tasks import Offsets, SourceTask, source

if TYPE_CHECKING:
    from headrace.pipelines.connect.connectors.dynamodb.streams import Shard, TableStream

_OPERATIONS: Final = {"INSERT": "c", "MODIFY": "u", "REMOVE": "d"}
_RETRY_S: Final = 1.0


@source(
    "com.trustpilot.connector.dynamodb.DynamoDBSourceConnector",
    version="0.7.0",
    settings=DynamoSettings,
    aliases=("DynamoDBSourceConnector", "DynamoDBSource"),
)
class DynamoSource(SourceTask):
    """A task with some of the connector's tables."""

    @classmethod
    def task_configs(cls, settings: Config, most: int) -> list[Mapping[str, str]]:
        """The tables, dealt to the tasks."""
        assert isinstance(settings, DynamoSettings)
        settings.check()
        tasks = min(most, len(settings.tables))
        return [{TABLES: ",".join(settings.tables[number::tasks])} for number in range(tasks)]

    def open(self, settings: Config, offsets: Offsets) -> None:
        assert isinstance(settings, DynamoSettings)
        with needed_by("the DynamoDB source"):
            from headrace.pipelines.connect.connectors.dynamodb.streams import TableStream
        self._settings = settings
        self._offsets = offsets
        self._streams: list[TableStream] = [
            TableStream(settings, table) for table in settings.tables
        ]
        self._look_at = 0.0

    def poll(self) -> Iterator[Batch]:
        brought = False
        try:
            for batch in self._read():
                brought = True
                yield batch
        except RetriableException:
            self.context.wait(_RETRY_S)
            raise
        if not brought:
            self.context.wait(self._settings.poll_ms / 1000)

    def close(self) -> None:
        """Let go of the connections."""
        for stream in getattr(self, "_streams", ()):
            stream.close()

    def _read(self) -> Iterator[Batch]:
        """What each shard has, as soon as it was read: a shard that cannot be read now must not
        take along what others gave, for they go on behind it."""
        if time.monotonic() >= self._look_at:
            for stream in self._streams:
                for shard in stream.look_for_shards():
                    kept = self._offsets(_place(stream, shard)) or {}
                    sequence = kept.get("sequence")
                    shard.sequence = None if sequence is None else str(sequence)
            self._look_at = time.monotonic() + self._settings.shards_ms / 1000
        for stream in self._streams:
            for shard in stream.due():
                changes = stream.read(shard)
                if shard.ended:
                    self._look_at = 0.0  # those that came from it
                if changes:
                    yield self._batch(stream, shard, changes)

    def _batch(self, stream: TableStream, shard: Shard, changes: list[Mapping[str, Any]]) -> Batch:
        return Batch.of_rows(
            [_value(change) for change in changes],
            topic=self._settings.prefix + stream.table,
            partition=_place(stream, shard),
            offset={"sequence": shard.sequence},
            keys=[_key(change["dynamodb"]["Keys"]) for change in changes],
            key_schema=schemas.STRING,
        )


def _place(stream: TableStream, shard: Shard) -> dict[str, str]:
    return {"table": stream.table, "shard": shard.name}


def _key(keys: Mapping[str, Mapping[str, object]]) -> str:
    plain = {name: _plain(value) for name, value in sorted(keys.items())}
    return json.dumps(plain, default=_text, separators=(",", ":"))


def _value(change: Mapping[str, Any]) -> dict[str, object]:
    about = change["dynamodb"]
    made = about.get("ApproximateCreationDateTime")
    return {
        "op": _OPERATIONS[change["eventName"]],
        "before": _item(about.get("OldImage")),
        "after": _item(about.get("NewImage")),
        "ts_ms": None if made is None else int(made.timestamp() * 1000),
    }


def _item(image: Mapping[str, Mapping[str, object]] | None) -> dict[str, object] | None:
    return None if not image else {name: _plain(value) for name, value in image.items()}


def _plain(typed: Mapping[str, Any]) -> object:
    """A value of DynamoDB, `{"N": "1"}`, as Python's."""
    ((kind, value),) = typed.items()
    if kind == "NULL":
        return None
    if kind == "N":
        return _number(value)
    if kind == "M":
        return {name: _plain(each) for name, each in value.items()}
    if kind == "L":
        return [_plain(each) for each in value]
    if kind == "NS":
        return [_number(each) for each in value]
    return list(value) if kind in ("SS", "BS") else value


def _number(text: str) -> int | float:
    exact = Decimal(text)
    return int(exact) if exact == exact.to_integral_value() else float(exact)


def _text(data: object) -> str:
    """Bytes in a key."""
    assert isinstance(data, bytes)
    return data.hex()
