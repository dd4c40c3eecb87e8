"""What a producer has left in the log, looked at without a client."""

from __future__ import annotations

from headrace.records.batch import BatchHeader, split_batches
from headrace.records.record import Record, iterate
from tests.clients.raw import Connection
from tests.clients.requests import LATEST, fetched, offset_at

MAX_BYTES = 1 << 25


def batches(connection: Connection, topic: str, partition: int = 0) -> list[BatchHeader]:
    """The headers of all batches of a partition."""
    return [header for header, _ in _log(connection, topic, partition)]


def records(connection: Connection, topic: str, partition: int = 0) -> list[Record]:
    """All records of a partition."""
    return [
        record
        for header, batch in _log(connection, topic, partition)
        for record in iterate(header, batch)
    ]


def values(connection: Connection, topic: str, partition: int = 0) -> list[str]:
    """The values of a partition as text."""
    return [(each.value or b"").decode() for each in records(connection, topic, partition)]


def end_of(connection: Connection, topic: str, partition: int = 0) -> int:
    """The next offset of a partition."""
    offset: int = offset_at(connection, topic, LATEST, partition=partition).offset
    return offset


def _log(
    connection: Connection, topic: str, partition: int
) -> list[tuple[BatchHeader, memoryview]]:
    """All batches of a partition; a fetch ends with a segment at the latest."""
    found: list[tuple[BatchHeader, memoryview]] = []
    position, end = 0, end_of(connection, topic, partition)
    while position < end:
        answer = fetched(
            connection, topic, position, partition=partition, partition_max_bytes=MAX_BYTES
        )
        found += split_batches(answer.records)
        position = found[-1][0].next_offset
    return found
