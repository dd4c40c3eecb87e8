"""`__consumer_offsets` that was damaged on disk: reported, and everything else is served.

These tests stop a broker, change its files and start it again, so they have brokers of their own.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import crc32c
import pytest

from headrace.coordinator.partitioner import partition_for
from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.messages.list_groups import ListGroupsRequest
from tests.clients.consumer.application import Members, numbered, values, write
from tests.clients.groups.raw_members import (
    COMMIT_VERSION,
    commit,
    commit_request,
    committed,
    fetch_offsets,
    find_coordinator,
)
from tests.clients.raw import Connection
from tests.clients.requests import create_topic

PARTITIONS = 2
SETTINGS = {"offsets.topic.num.partitions": PARTITIONS, "group.initial.rebalance.delay.ms": 0}
# Where things are in a batch: docs/formats/record-batch.md.
CRC_AT, CRC_FROM = 17, 21
SIZE_AT, BEFORE_SIZE = 8, 12


def group_of(partition: int, name: str) -> str:
    """A group that lives in this partition."""
    numbered_names = (f"{name}-{number}" for number in range(100))
    return next(each for each in numbered_names if partition_for(each, PARTITIONS) == partition)


BEFORE, HIT, AFTER = (group_of(0, name) for name in ("before", "hit", "after"))
ELSEWHERE = group_of(1, "elsewhere")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """A broker with a topic `t` and four groups, three of which share a partition."""
    with Broker(SETTINGS, data=tmp_path) as running:
        with Connection(running.bootstrap_servers) as connection:
            create_topic(connection, "t", partitions=2)
            for name in (BEFORE, HIT, AFTER, ELSEWHERE):
                for partition in range(2):
                    told = f"word of {name} on {partition}"
                    place: dict[str, Any] = {"partition": partition, "metadata": told}
                    assert commit(connection, name, "t", 5 + partition, **place) == Error.NONE
        yield running


def change(broker: Broker, word: str, *, valid: bool) -> None:
    """Make nonsense of the commit with this word, in a batch that is valid as such, or is not."""
    path = broker.data_dir / "__consumer_offsets-0" / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    start = 0
    while start < len(data):
        (size,) = struct.unpack_from(">i", data, start + SIZE_AT)
        end = start + BEFORE_SIZE + size
        found = data.find(word.encode(), start, end)
        if found >= 0:
            # Before the metadata: version, offset, leader epoch and a length byte.
            version_at = found - 1 - 4 - 8 - 2
            data[version_at : version_at + 2] = b"\x7f\x7f"
            if valid:
                crc = crc32c.crc32c(bytes(data[start + CRC_FROM : end]))
                struct.pack_into(">I", data, start + CRC_AT, crc)
            path.write_bytes(data)
            return
        start = end
    raise AssertionError(f"{word!r} is not in {path}")


def offsets_of(connection: Connection, group: str) -> list[int]:
    find_coordinator(connection, group)
    return [committed(connection, group, "t", each).committed_offset for each in range(2)]


def commit_error(connection: Connection, group: str) -> Error:
    answer = connection.ask(commit_request(group, "t", 1), COMMIT_VERSION)
    return Error(answer.topics[0].partitions[0].error_code)


def test_a_record_that_makes_no_sense_is_left_out(broker: Broker) -> None:
    """It costs its own offset only; the log says that and where there was one."""
    broker.stop()
    change(broker, f"word of {HIT} on 0", valid=True)
    broker.start()
    broker.await_output("records that make no sense: 1")
    with Connection(broker.bootstrap_servers) as connection:
        assert offsets_of(connection, HIT) == [-1, 6]
        for name in (BEFORE, AFTER, ELSEWHERE):
            assert offsets_of(connection, name) == [5, 6]
        assert commit(connection, HIT, "t", 9) == Error.NONE
        assert offsets_of(connection, HIT) == [9, 6]


def test_a_damaged_batch_stops_its_partition_and_no_other(broker: Broker) -> None:
    """Its groups are not served, rather than served wrongly; the log names place and remedy."""
    broker.stop()
    change(broker, f"word of {HIT} on 0", valid=False)
    broker.start()
    servers = broker.bootstrap_servers
    broker.await_output("cannot be read")
    assert "__consumer_offsets" in broker.output
    with Connection(servers) as connection:
        for name in (BEFORE, HIT, AFTER):
            answer = fetch_offsets(connection, name, "t")
            assert answer.error_code == Error.COORDINATOR_NOT_AVAILABLE
            assert commit_error(connection, name) == Error.COORDINATOR_NOT_AVAILABLE
        assert offsets_of(connection, ELSEWHERE) == [5, 6]
        listed = connection.ask(ListGroupsRequest(), 5)
        assert [each.group_id for each in listed.groups] == [ELSEWHERE]
    # Records flow, and groups of the other partition are rebalanced.
    write(servers, "t", numbered(20))
    members = Members(servers)
    assert values(members.join(ELSEWHERE, "t").take(15)) == numbered(15, start=5)
    members.close()
    broker.stop()
