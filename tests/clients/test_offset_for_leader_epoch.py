"""OffsetForLeaderEpoch: where the log of an epoch ended, from v2 on (librdkafka asks in v2)."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import Error
from headrace.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.clients.raw import Connection, batch_headers
from tests.clients.records import numbered_records
from tests.clients.requests import fetched, produced

UNDEFINED = (Error.NONE, -1, -1)


def end_of(
    connection: Connection,
    topic: str,
    epoch: int,
    *,
    current_epoch: int = -1,
    partition: int = 0,
    version: int = 2,
) -> tuple[int, int, int]:
    wanted = OffsetForLeaderPartition(
        partition=partition, current_leader_epoch=current_epoch, leader_epoch=epoch
    )
    topics = [OffsetForLeaderTopic(topic=topic, partitions=[wanted])]
    response = connection.ask(OffsetForLeaderEpochRequest(replica_id=-1, topics=topics), version)
    ((result,),) = [each.partitions for each in response.topics]
    return (result.error_code, result.leader_epoch, result.end_offset)


@pytest.fixture
def epoch(connection: Connection, topic: str) -> int:
    """The leader epoch of the test's topic, which then holds five records."""
    produced(connection, topic, numbered_records(5))
    (header,) = batch_headers(fetched(connection, topic, 0).records)
    return header.partition_leader_epoch


@pytest.mark.parametrize("version", [2, 3, 4])
def test_every_version_tells_the_end_of_the_current_epoch(
    connection: Connection, topic: str, epoch: int, version: int
) -> None:
    """KIP-101, KIP-320: the epoch that still goes on ends at the end of the log."""
    assert end_of(connection, topic, epoch, version=version) == (Error.NONE, epoch, 5)
    produced(connection, topic, numbered_records(2))
    assert end_of(connection, topic, epoch, version=version) == (Error.NONE, epoch, 7)


def test_an_epoch_that_nobody_knows_has_no_end(
    connection: Connection, topic: str, epoch: int
) -> None:
    """-1 and -1 make a follower truncate by its high watermark, a client start anew."""
    assert end_of(connection, topic, epoch + 10) == UNDEFINED


def test_a_client_from_the_future_is_refused(
    connection: Connection, topic: str, epoch: int
) -> None:
    """A current epoch above the leader's own: the client knows more, UNKNOWN_LEADER_EPOCH."""
    code, _, _ = end_of(connection, topic, epoch, current_epoch=epoch + 1)
    assert code == Error.UNKNOWN_LEADER_EPOCH
    assert end_of(connection, topic, epoch, current_epoch=epoch) == (Error.NONE, epoch, 5)


def test_an_unknown_partition_is_refused(
    connection: Connection, topic: str, topic_name: str
) -> None:
    """Neither an unknown topic nor an unknown partition has epochs."""
    unknown: Any = Error.UNKNOWN_TOPIC_OR_PARTITION
    assert end_of(connection, topic_name, 0)[0] == unknown
    assert end_of(connection, topic, 0, partition=3)[0] == unknown
