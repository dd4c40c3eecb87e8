"""Replicas move to other brokers, leadership moves back, and clients notice nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pytest

from headrace.errors import Error
from headrace.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from headrace.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from headrace.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from tests.clients.cluster.clients import Writer, read_all
from tests.clients.cluster.observing import Observer, Seen

if TYPE_CHECKING:
    from headrace.testing import Cluster


def reassign(observer: Observer, topic: str, replicas: Sequence[int] | None) -> int:
    """Ask for new replicas of partition 0, or call the move off; the error code."""
    wanted = ReassignablePartition(
        partition_index=0, replicas=None if replicas is None else list(replicas)
    )
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name=topic, partitions=[wanted])]
    )
    response = observer.ask_any(request, 1)
    ((outcome,),) = [each.partitions for each in response.responses]
    return int(outcome.error_code)


def moving(observer: Observer) -> dict[str, tuple[list[int], list[int], list[int]]]:
    """What is on the move: replicas, adding, removing by topic."""
    response = observer.ask_any(ListPartitionReassignmentsRequest(topics=None), 0)
    return {
        topic.name: (each.replicas, each.adding_replicas, each.removing_replicas)
        for topic in response.topics
        for each in topic.partitions
    }


def until_replicas(observer: Observer, topic: str, replicas: Sequence[int]) -> Seen:
    def look() -> list[Seen]:
        return [observer.partition(topic, 0, each) for each in observer.alive()]

    return observer.until(
        look,
        lambda found: all(
            each.replicas == list(replicas) and each.isr == set(replicas) for each in found
        ),
        f"on {replicas}",
    )[0]


@pytest.mark.spec("admin:RC-35", "admin:RC-37", "book2:K-05", "slides:B07")
def test_a_partition_moves_to_another_broker_under_load(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """The new replica catches up, leads, and only then the old one goes, with its folder."""
    topic = new_topic({0: [1, 2]})
    writer = Writer(cluster.bootstrap_servers, topic).begin()
    writer.await_progress()
    old = cluster.broker(1).log_dir / f"{topic}-0"
    assert old.is_dir()
    assert reassign(observer, topic, [3, 2]) == Error.NONE
    seen = until_replicas(observer, topic, [3, 2])
    assert seen.leader == 3, "the leader was among those who left: the first of the new ones leads"
    observer.until(old.exists, lambda there: not there, "gone from broker 1")
    assert topic not in moving(observer)
    writer.await_progress()
    writer.end()
    assert not writer.failed
    found = read_all(cluster.bootstrap_servers, topic, len(writer.acknowledged))
    assert found == dict.fromkeys(writer.acknowledged, 1)


@pytest.mark.spec("admin:RC-40")
def test_a_topic_gets_more_replicas_and_fewer(
    observer: Observer, new_topic: Callable[..., str]
) -> None:
    """From one replica to three and back to two, in place."""
    topic = new_topic({0: [2]})
    assert reassign(observer, topic, [2, 1, 3]) == Error.NONE
    until_replicas(observer, topic, [2, 1, 3])
    assert reassign(observer, topic, [1, 3]) == Error.NONE
    assert until_replicas(observer, topic, [1, 3]).leader == 1


def test_a_move_that_cannot_finish_is_called_off(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """While the new replica is frozen the move is listed; called off, everything is as before."""
    topic = new_topic({0: [1, 2]})
    assert reassign(observer, topic, None) == Error.NO_REASSIGNMENT_IN_PROGRESS
    cluster.broker(3).pause()
    try:
        assert reassign(observer, topic, [3, 2]) == Error.NONE
        found = observer.until(
            lambda: moving(observer).get(topic), lambda found: found is not None, "on the move"
        )
        assert found is not None
        assert (sorted(found[0]), found[1], found[2]) == ([1, 2, 3], [3], [1])
        assert reassign(observer, topic, None) == Error.NONE
        assert topic not in moving(observer)
    finally:
        cluster.broker(3).resume()
    # As in Kafka the order is not that of before: those that were to stay have come first.
    until_replicas(observer, topic, [2, 1])


@pytest.mark.spec("admin:RC-09", "slides:B06")
def test_leadership_is_given_back_to_the_preferred_replica(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """On request (ElectLeaders), once it is in sync again; not before."""
    topic = new_topic({0: [2, 1]})
    asked = ElectLeadersRequest(
        election_type=0, topic_partitions=[TopicPartitions(topic=topic, partitions=[0])]
    )

    def outcome() -> int:
        ((found,),) = [
            each.partition_result for each in observer.ask_any(asked, 2).replica_election_results
        ]
        return int(found.error_code)

    assert outcome() == Error.ELECTION_NOT_NEEDED
    cluster.broker(2).stop()
    observer.until_led_by(topic, 1)
    assert outcome() == Error.PREFERRED_LEADER_NOT_AVAILABLE
    cluster.broker(2).start()
    observer.until_isr(topic, [1, 2])
    assert outcome() == Error.NONE
    observer.until_led_by(topic, 2)
