"""Moving replicas: what may be asked, the steps of a move, and plans for many of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from headrace.cluster.image import (
    BrokerUnregistered,
    ClusterImage,
    PartitionChanged,
    PartitionImage,
)
from headrace.cluster.partitions import change_isr
from headrace.cluster.reassignments import alter, ongoing
from headrace.cluster.topics import NewTopic
from headrace.errors import Error
from headrace.types import NO_LEADER, TopicPartition
from tests.cluster.clusters import (
    bring,
    broker,
    cluster,
    hear,
    lose,
    partition_of,
    put,
    with_topics,
)

HERE = TopicPartition("t", 0)


def two_of_five(*replicas: int) -> ClusterImage:
    """Brokers 0 to 4, a partition on two of them."""
    return with_topics(cluster(range(5)), NewTopic("t", assignments=[(0, replicas or (0, 1))]))


def ask(
    image: ClusterImage, replicas: Sequence[int] | None, *, may_change_factor: bool = True
) -> Error:
    """Ask for replicas and let the controller hear of it; the verdict."""
    changes, faults = alter(image, {HERE: replicas}, may_change_factor=may_change_factor)
    hear(image, *changes)
    return faults[HERE].error if faults else Error.NONE


def catch_up(image: ClusterImage, *brokers: int) -> None:
    """The leader finds that these are in sync."""
    change = change_isr(image, "t", 0, (*partition_of(image).isr, *brokers))
    assert change is not None
    hear(image, change)


# -- the steps -------------------------------------------------------------------------------------


@pytest.mark.spec("admin:RC-35")
def test_a_move_adds_waits_switches_and_removes() -> None:
    """Replicas 0,1 become 2,1: the ISR is [0,1], then [0,1,2], then [2,1]; 2 leads, 0 is gone."""
    image = two_of_five()
    changes, faults = alter(image, {HERE: [2, 1]}, may_change_factor=True)
    assert not faults
    assert hear(image, *changes) == []
    assert partition_of(image) == PartitionImage(
        (2, 1, 0), (0, 1), 0, 0, 1, adding=(2,), removing=(0,)
    )
    assert ongoing(image) == {HERE: partition_of(image)}
    arrived = change_isr(image, "t", 0, (0, 1, 2))
    assert arrived is not None
    switched, done = hear(image, arrived)
    assert isinstance(switched, PartitionChanged)
    assert isinstance(done, PartitionChanged)
    assert switched.image == PartitionImage(
        (2, 1, 0), (0, 1, 2), 2, 1, 3, adding=(2,), removing=(0,)
    )
    assert done.image == PartitionImage((2, 1), (2, 1), 2, 1, 4)
    assert ongoing(image) == {}


def test_a_leader_that_stays_keeps_leading() -> None:
    """Only a follower moves: the leader epoch does not grow."""
    image = two_of_five()
    assert ask(image, [0, 3]) == Error.NONE
    catch_up(image, 3)
    assert partition_of(image) == PartitionImage((0, 3), (0, 3), 0, 0, 3)


@pytest.mark.spec("admin:RC-40")
def test_the_replication_factor_is_raised() -> None:
    """The new replicas count as soon as they are in sync; nothing is taken away."""
    image = two_of_five(0)
    assert ask(image, [0, 1, 2]) == Error.NONE
    catch_up(image, 1)
    assert partition_of(image).adding == (1, 2)
    catch_up(image, 2)
    assert partition_of(image) == PartitionImage((0, 1, 2), (0, 1, 2), 0, 0, 4)


def test_the_replication_factor_is_lowered_at_once() -> None:
    """Who leaves need not wait for anybody; a leader that leaves gives way first."""
    image = two_of_five(0, 1, 2)
    assert ask(image, [2, 1]) == Error.NONE
    assert partition_of(image) == PartitionImage((2, 1), (2, 1), 2, 1, 3)


def test_another_order_moves_nothing() -> None:
    """The preferred leader is another one from now on; who leads stays."""
    image = two_of_five()
    assert ask(image, [1, 0]) == Error.NONE
    assert partition_of(image) == PartitionImage((1, 0), (0, 1), 0, 0, 1)


def test_nothing_is_removed_before_all_that_come_are_in_sync() -> None:
    """Two of two new replicas must be in sync; the old ones serve until then."""
    image = two_of_five()
    assert ask(image, [2, 3]) == Error.NONE
    catch_up(image, 2)
    assert partition_of(image).replicas == (2, 3, 0, 1)
    catch_up(image, 3)
    assert partition_of(image) == PartitionImage((2, 3), (2, 3), 2, 1, 5)


def test_a_move_survives_the_death_of_the_old_leader() -> None:
    """The election prefers who shall stay; a replica that is dead and leaves does not delay it."""
    image = two_of_five()
    assert ask(image, [2, 1]) == Error.NONE
    lose(image, 0)
    assert partition_of(image).leader == 1
    catch_up(image, 2)
    assert partition_of(image) == PartitionImage((2, 1), (2, 1), 1, 1, 4)


def test_a_move_waits_for_a_dead_newcomer() -> None:
    """It goes on when the broker is back; nothing is lost meanwhile."""
    image = two_of_five()
    assert ask(image, [2, 1]) == Error.NONE
    assert lose(image, 2) == []
    assert bring(image, 2) == []
    catch_up(image, 2)
    assert partition_of(image).replicas == (2, 1)


def test_a_move_without_any_leader_waits() -> None:
    """Nobody who stays is alive and in sync: the partition is not made to lose its records."""
    image = two_of_five(0)
    assert ask(image, [1]) == Error.NONE
    catch_up_change = change_isr(image, "t", 0, (0, 1))
    assert catch_up_change is not None
    image.apply([catch_up_change, BrokerUnregistered(0), BrokerUnregistered(1)])
    hear(image, BrokerUnregistered(0), BrokerUnregistered(1))
    assert partition_of(image).leader == NO_LEADER
    assert partition_of(image).replicas == (1, 0)
    bring(image, 1)
    assert partition_of(image).replicas == (1,)
    assert partition_of(image).leader == 1


# -- calling off and changing one's mind -----------------------------------------------------------


def test_a_move_is_called_off() -> None:
    """The replicas are those before the move; one that had come leaves the ISR and leadership."""
    image = two_of_five()
    assert ask(image, [2, 3]) == Error.NONE
    catch_up(image, 2)
    put(image, leader=2, leader_epoch=1)
    assert ask(image, None) == Error.NONE
    assert partition_of(image) == PartitionImage((0, 1), (0, 1), 0, 2, 4)
    assert ask(image, None) == Error.NO_REASSIGNMENT_IN_PROGRESS


def test_going_back_is_calling_off() -> None:
    """Asking for the replicas before the move ends it, whatever their order."""
    image = two_of_five()
    assert ask(image, [2, 1]) == Error.NONE
    assert ask(image, [0, 1]) == Error.NONE
    assert partition_of(image) == PartitionImage((0, 1), (0, 1), 0, 0, 2)


def test_a_new_wish_replaces_the_old_one() -> None:
    """What the old move had added and the new one does not want goes; the origin stays known."""
    image = two_of_five()
    assert ask(image, [2, 3]) == Error.NONE
    catch_up(image, 2)
    assert ask(image, [3, 4]) == Error.NONE
    assert partition_of(image) == PartitionImage(
        (3, 4, 0, 1), (0, 1), 0, 0, 3, adding=(3, 4), removing=(0, 1)
    )
    assert ask(image, None) == Error.NONE
    assert partition_of(image).replicas == (0, 1)


def test_a_move_that_has_all_the_records_is_not_called_off() -> None:
    """Only the newcomer is in sync: going back would lose what it alone has."""
    image = two_of_five(0)
    assert ask(image, [1, 2]) == Error.NONE
    catch_up(image, 1)
    lose(image, 0)
    assert (partition_of(image).isr, partition_of(image).leader) == ((1,), 1)
    assert ask(image, None) == Error.INVALID_REPLICA_ASSIGNMENT
    assert ask(image, [3]) == Error.INVALID_REPLICA_ASSIGNMENT
    bring(image, 0)
    catch_up(image, 0)
    del image.brokers[0]
    assert ask(image, None) == Error.INVALID_REPLICA_ASSIGNMENT
    image.brokers[0] = broker(0)
    assert ask(image, None) == Error.NONE
    assert partition_of(image) == PartitionImage((0,), (0,), 0, 2, 5)


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize("replicas", [[], [0, 0], [0, 7], [-1]])
def test_replicas_that_cannot_be_are_refused(replicas: list[int]) -> None:
    """None at all, one twice, and brokers that nobody knows."""
    for may_change_factor in (True, False):
        image = two_of_five()
        verdict = ask(image, replicas, may_change_factor=may_change_factor)
        assert verdict == Error.INVALID_REPLICA_ASSIGNMENT


def test_new_replicas_must_be_alive_and_old_ones_need_not() -> None:
    """A dead broker cannot fetch; one that is down for a moment may keep its replica."""
    image = two_of_five()
    lose(image, 1, 2)
    assert ask(image, [0, 2]) == Error.INVALID_REPLICA_ASSIGNMENT
    assert ask(image, [3, 1]) == Error.NONE
    assert partition_of(image).adding == (3,)


@pytest.mark.parametrize("replicas", [[2], [2, 0, 1]])
def test_the_factor_stays_if_the_request_says_so(replicas: list[int]) -> None:
    """KIP-860: another number of replicas is INVALID_REPLICATION_FACTOR, also during a move."""
    image = two_of_five()
    assert ask(image, replicas, may_change_factor=False) == Error.INVALID_REPLICATION_FACTOR
    assert ask(image, [2, 3], may_change_factor=False) == Error.NONE
    assert ask(image, replicas, may_change_factor=False) == Error.INVALID_REPLICATION_FACTOR
    assert ask(image, [4, 3], may_change_factor=False) == Error.NONE


def test_what_is_so_already_is_accepted() -> None:
    """The current replicas in their order need no move, and no write either."""
    image = two_of_five()
    assert ask(image, [0, 1]) == Error.NONE
    assert partition_of(image).partition_epoch == 0
    assert ask(image, [2, 1]) == Error.NONE
    assert ask(image, [2, 1]) == Error.NONE
    assert partition_of(image).partition_epoch == 1


@pytest.mark.parametrize(("topic", "partition"), [("u", 0), ("t", 1), ("t", -1)])
@pytest.mark.parametrize("replicas", [None, [], [0]])
def test_unknown_partitions_come_before_everything(
    topic: str, partition: int, replicas: list[int] | None
) -> None:
    """What is asked of a partition that is not there does not matter."""
    image = two_of_five()
    place = TopicPartition(topic, partition)
    _, faults = alter(image, {place: replicas}, may_change_factor=True)
    assert faults[place].error == Error.UNKNOWN_TOPIC_OR_PARTITION


def test_each_partition_has_its_own_verdict() -> None:
    """One that is refused does not stop the others."""
    image = with_topics(
        cluster(range(5)), NewTopic("t", assignments=[(0, [0, 1]), (1, [1, 2]), (2, [2, 3])])
    )
    changes, faults = alter(
        image,
        {HERE: [0, 4], TopicPartition("t", 1): None, TopicPartition("t", 2): [3, 4]},
        may_change_factor=True,
    )
    assert [each.partition for each in changes if isinstance(each, PartitionChanged)] == [0, 2]
    assert {place: fault.error for place, fault in faults.items()} == {
        TopicPartition("t", 1): Error.NO_REASSIGNMENT_IN_PROGRESS
    }
    image.apply(changes)
    assert ongoing(image).keys() == {HERE, TopicPartition("t", 2)}
    assert image.topics["t"].version == 1


# -- a plan ----------------------------------------------------------------------------------------


@pytest.mark.spec("book2:K-02", "book2:K-03", "book2:K-06", "admin:RC-37")
def test_a_broker_is_decommissioned_by_a_plan() -> None:
    """Only its replicas move, none to itself; when they have, it is in no replica list."""
    image = with_topics(
        cluster(range(4)),
        NewTopic("t", assignments=[(0, [0, 1]), (1, [1, 0]), (2, [2, 3]), (3, [0, 3])]),
    )
    plan = {
        TopicPartition("t", 0): [3, 1],
        TopicPartition("t", 1): [1, 2],
        TopicPartition("t", 3): [1, 3],
    }
    changes, faults = alter(image, plan, may_change_factor=False)
    assert not faults
    hear(image, *changes)
    for place, partition in ongoing(image).items():
        change = change_isr(image, *place, (*partition.isr, *partition.adding))
        assert change is not None
        hear(image, change)
    for partition in image.topics["t"].partitions:
        assert 0 not in (*partition.replicas, *partition.isr, partition.leader)
