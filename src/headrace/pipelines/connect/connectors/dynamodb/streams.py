"""Streams of tables, read by boto3: shards in the order in which they came from one another.

A shard is read once its parent has been read to the end, so that the changes of an item keep their
order. A service keeps changes for a day.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import boto3  # type: ignore[import-untyped]
from botocore import exceptions  # type: ignore[import-untyped]
from botocore.config import Config as Limits  # type: ignore[import-untyped]

from headrace.pipelines.connect.connectors.dynamodb.settings import DynamoSettings
from headrace.pipelines.connect.faults import ConnectException, RetriableException

_LOG: Final = logging.getLogger(__name__)
_UNREACHABLE: Final = (exceptions.ConnectionError, exceptions.HTTPClientError)
_PASSING: Final = frozenset(
    (
        "InternalServerError",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "ThrottlingException",
    )
)


@dataclass(slots=True)
class Shard:
    """A part of a stream. `sequence` is the last number that was read of it."""

    name: str
    parent: str | None
    sequence: str | None = None
    iterator: str | None = None
    ended: bool = False


class TableStream:
    """The changes of one table."""

    def __init__(self, settings: DynamoSettings, table: str) -> None:
        about: dict[str, object] = {
            "region_name": settings.region,
            "endpoint_url": settings.endpoint,
            "aws_access_key_id": settings.access_key,
            "aws_secret_access_key": settings.secret_key and settings.secret_key.clear,
            "config": Limits(retries={"total_max_attempts": 1}),
        }
        self.table = table
        self._tables: Any = boto3.client("dynamodb", **about)
        self._streams: Any = boto3.client("dynamodbstreams", **about)
        self._arn: str | None = None
        self.shards: dict[str, Shard] = {}

    def look_for_shards(self) -> list[Shard]:
        """Those that were not known."""
        if self._arn is None:
            described = self._ask(self._tables.describe_table, TableName=self.table)["Table"]
            self._arn = described.get("LatestStreamArn")
            if self._arn is None:
                raise ConnectException(
                    f"the table {self.table} has no stream: enable it, with "
                    "StreamViewType=NEW_AND_OLD_IMAGES"
                )
        found: list[Shard] = []
        for each in self._described(self._arn):
            if each["ShardId"] not in self.shards:
                found.append(Shard(each["ShardId"], each.get("ParentShardId")))
                self.shards[each["ShardId"]] = found[-1]
        return found

    def due(self) -> list[Shard]:
        """The shards that can be read: neither they nor their parents have changes left unread."""
        waiting = {name for name, shard in self.shards.items() if not shard.ended}
        return [
            shard
            for shard in self.shards.values()
            if not shard.ended and shard.parent not in waiting
        ]

    def read(self, shard: Shard) -> list[Mapping[str, Any]]:
        """The next changes of a shard; `ended` once there will be no more."""
        try:
            if shard.iterator is None:
                shard.iterator = self._iterator(shard)
            answer = self._ask(self._streams.get_records, ShardIterator=shard.iterator)
        except exceptions.ClientError as fault:
            shard.iterator = None
            if _code(fault) == "TrimmedDataAccessException":
                _LOG.error("changes of %s are lost: they were kept for a day only", self.table)
                shard.sequence = None
            return []
        shard.iterator = answer.get("NextShardIterator")
        shard.ended = shard.iterator is None
        records: list[Mapping[str, Any]] = answer["Records"]
        if records:
            shard.sequence = records[-1]["dynamodb"]["SequenceNumber"]
        return records

    def close(self) -> None:
        """Let go of the connections."""
        self._tables.close()
        self._streams.close()

    def _iterator(self, shard: Shard) -> str:
        place: dict[str, str] = {"ShardIteratorType": "TRIM_HORIZON"}
        if shard.sequence is not None:
            place = {
                "ShardIteratorType": "AFTER_SEQUENCE_NUMBER",
                "SequenceNumber": shard.sequence,
            }
        answer = self._ask(
            self._streams.get_shard_iterator, StreamArn=self._arn, ShardId=shard.name, **place
        )
        return str(answer["ShardIterator"])

    def _described(self, arn: str) -> Iterator[Mapping[str, Any]]:
        after: dict[str, str] = {}
        while True:
            described = self._ask(self._streams.describe_stream, StreamArn=arn, **after)
            yield from described["StreamDescription"]["Shards"]
            last = described["StreamDescription"].get("LastEvaluatedShardId")
            if last is None:
                return
            after = {"ExclusiveStartShardId": last}

    def _ask(self, method: Any, **arguments: object) -> Any:
        try:
            return method(**arguments)
        except exceptions.ClientError as fault:
            code = _code(fault)
            if code in ("ExpiredIteratorException", "TrimmedDataAccessException"):
                raise
            if code in _PASSING:
                raise RetriableException(f"DynamoDB cannot serve now: {fault}") from fault
            raise ConnectException(f"the table {self.table} cannot be read: {fault}") from fault
        except _UNREACHABLE as fault:
            raise RetriableException(f"DynamoDB cannot be reached: {fault}") from fault
        except exceptions.NoCredentialsError as fault:
            raise ConnectException(
                f"DynamoDB cannot be asked: {fault}; set aws.access.key.id and aws.secret.key"
            ) from fault
        except exceptions.BotoCoreError as fault:
            raise ConnectException(f"DynamoDB cannot be asked: {fault}") from fault


def _code(fault: exceptions.ClientError) -> str:
    return str(fault.response.get("Error", {}).get("Code"))
