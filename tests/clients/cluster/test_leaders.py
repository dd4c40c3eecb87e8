"""Only leaders serve: what others answer, and how a client finds the leader from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import Error
from headrace.wire.messages.fetch import FetchRequest
from headrace.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.clients.cluster.clients import Writer
from tests.clients.cluster.observing import Observer
from tests.clients.raw import Connection, batch_of
from tests.clients.records import FIRST_TIMESTAMP_MS, Record
from tests.clients.requests import (
    LATEST,
    fetch_request,
    offset_at,
    produce_request,
    produced_bytes,
    topic_id_of,
)

if TYPE_CHECKING:
    from headrace.testing import Cluster


def _batch() -> memoryview:
    return batch_of([Record(b"k", b"v", FIRST_TIMESTAMP_MS)])


def _fetch(connection: Connection, topic: str, *, rack: str = "", version: int = 16) -> Any:
    request: FetchRequest = fetch_request(topic, 0, topic_id=topic_id_of(connection, topic))
    request.rack_id = rack
    response = connection.ask(request, version)
    ((answer,),) = [each.partitions for each in response.responses]
    return response, answer


@pytest.mark.spec("admin:RC-01", "admin:RC-02", "book1:R-01")
def test_a_follower_serves_neither_producers_nor_consumers(
    observer: Observer, new_topic: Callable[..., str]
) -> None:
    """It says NOT_LEADER_OR_FOLLOWER, and names the leader with its address (KIP-951)."""
    topic = new_topic({0: [1, 2]})
    port = observer.cluster.broker(1).port
    for other in (2, 3):
        with observer.connected(other) as connection:
            response = connection.ask(produce_request(topic, _batch()), 12)
            ((produced,),) = [each.partition_responses for each in response.responses]
            fetch, fetched = _fetch(connection, topic)
            for answer, hints in ((produced, response), (fetched, fetch)):
                assert answer.error_code == Error.NOT_LEADER_OR_FOLLOWER
                assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (
                    1,
                    0,
                )
                (node,) = hints.node_endpoints
                assert (node.node_id, node.host, node.port) == (1, "127.0.0.1", port)
            assert offset_at(connection, topic, LATEST).error_code == Error.NOT_LEADER_OR_FOLLOWER
            # A version that knows no hints gets none.
            old = produced_bytes(connection, topic, _batch(), version=9)
            assert old.error_code == Error.NOT_LEADER_OR_FOLLOWER


@pytest.mark.spec("book1:R-16")
def test_an_old_leader_epoch_is_fenced(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """After an election a request of the epoch before is FENCED_LEADER_EPOCH, with the leader."""
    topic = new_topic({0: [1, 2]})
    cluster.broker(1).stop()
    epoch = observer.until_led_by(topic, 2).epoch
    with observer.connected(2) as connection:
        request = fetch_request(
            topic, 0, topic_id=topic_id_of(connection, topic), current_leader_epoch=epoch - 1
        )
        response = connection.ask(request, 16)
        ((answer,),) = [each.partitions for each in response.responses]
        assert answer.error_code == Error.FENCED_LEADER_EPOCH
        assert answer.current_leader.leader_id == 2
        assert answer.current_leader.leader_epoch == epoch
        ahead = fetch_request(
            topic, 0, topic_id=topic_id_of(connection, topic), current_leader_epoch=epoch + 1
        )
        ((answer,),) = [each.partitions for each in connection.ask(ahead, 16).responses]
        assert answer.error_code == Error.UNKNOWN_LEADER_EPOCH


def test_the_end_of_an_epoch_is_known_to_the_leader(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """OffsetForLeaderEpoch: where the epoch of the former leader ended (KIP-101)."""
    topic = new_topic({0: [1, 2]})
    writer = Writer(cluster.bootstrap_servers, topic)
    writer.write(b"a", b"b", b"c")
    cluster.broker(1).stop()
    epoch = observer.until_led_by(topic, 2).epoch
    writer.write(b"d")
    request = OffsetForLeaderEpochRequest(
        replica_id=-1,
        topics=[
            OffsetForLeaderTopic(
                topic=topic,
                partitions=[
                    OffsetForLeaderPartition(
                        partition=0, current_leader_epoch=-1, leader_epoch=epoch - 1
                    )
                ],
            )
        ],
    )
    ((answer,),) = [each.partitions for each in observer.ask(2, request, 3).topics]
    assert (answer.error_code, answer.end_offset) == (Error.NONE, 3)
    ((answer,),) = [each.partitions for each in observer.ask(3, request, 3).topics]
    assert answer.error_code == Error.NOT_LEADER_OR_FOLLOWER


def test_a_client_reads_from_the_replica_in_its_rack(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """The leader names the replica, which serves what it knows to be committed (KIP-392)."""
    topic = new_topic({0: [1, 2]})
    Writer(cluster.bootstrap_servers, topic).write(b"near")
    with observer.connected(1) as leader:
        _, answer = observer.until(
            lambda: _fetch(leader, topic, rack="west"),
            lambda found: found[1].preferred_read_replica == 2,
            "sent to broker 2",
        )
        assert (answer.error_code, bytes(answer.records or b"")) == (Error.NONE, b"")
        for rack in ("east", "north", ""):
            _, answer = _fetch(leader, topic, rack=rack)
            assert answer.preferred_read_replica == -1
            assert answer.records
    with observer.connected(2) as follower:
        _, answer = observer.until(
            lambda: _fetch(follower, topic, rack="west"),
            lambda found: bool(found[1].records),
            "readable on broker 2",
        )
        assert (answer.error_code, answer.high_watermark) == (Error.NONE, 1)
