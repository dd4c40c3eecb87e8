"""Whole partitions over the wire, as bytes, to compare brokers with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.errors import Error
from headrace.records.record import iterate
from tests.clients.raw import Connection, batch_headers
from tests.clients.records import FIRST_TIMESTAMP_MS, TIMESTAMP_STEP_MS
from tests.clients.requests import EARLIEST, LATEST, fetch_request, offset_at

READ_COMMITTED = 1
FETCH_VERSION = 12


@dataclass(frozen=True)
class Contents:
    """All that a reader can learn of a partition."""

    start: int
    end: int
    batches: bytes
    last_stable_offset: int
    aborted: tuple[tuple[int, int], ...]
    offsets_by_time: tuple[tuple[int, int], ...]


def contents_of(connection: Connection, topic: str, partition: int = 0) -> Contents:
    """Read a partition from its start to its end."""
    ends = [
        offset_at(connection, topic, which, partition=partition) for which in (EARLIEST, LATEST)
    ]
    assert [each.error_code for each in ends] == [Error.NONE] * 2
    start, end = (each.offset for each in ends)
    batches = b""
    aborted: dict[tuple[int, int], None] = {}
    last_stable_offset = end
    offset = start
    while offset < end:
        result = _fetch(connection, topic, partition, offset)
        last_stable_offset = result.last_stable_offset
        for each in result.aborted_transactions or []:
            aborted[(each.producer_id, each.first_offset)] = None
        headers = batch_headers(result.records)
        whole = sum(header.size for header in headers)
        batches += bytes(result.records[:whole])
        offset = headers[-1].next_offset
    return Contents(
        start,
        end,
        batches,
        last_stable_offset,
        tuple(aborted),
        _by_time(connection, topic, partition),
    )


def values_of(batches: bytes) -> list[bytes | None]:
    """The values of all records that are no transaction markers."""
    view = memoryview(batches)
    found = []
    position = 0
    for header in batch_headers(view):
        if not header.is_control:
            batch = view[position : position + header.size]
            found += [record.value for record in iterate(header, batch)]
        position += header.size
    return found


def _fetch(connection: Connection, topic: str, partition: int, offset: int) -> Any:
    request = fetch_request(topic, offset, partition=partition)
    request.isolation_level = READ_COMMITTED
    (answer,) = connection.ask(request, FETCH_VERSION).responses
    (result,) = answer.partitions
    assert result.error_code == Error.NONE, Error(result.error_code).name
    return result


def _by_time(connection: Connection, topic: str, partition: int) -> tuple[tuple[int, int], ...]:
    found = []
    for step in range(40):
        at = FIRST_TIMESTAMP_MS + step * TIMESTAMP_STEP_MS // 2
        result = offset_at(connection, topic, at, partition=partition)
        found.append((result.offset, result.timestamp))
    return tuple(found)
