"""Who leads and who is in sync: elections, and what a broker decides about itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cluster.image import ClusterImage, PartitionChanged, PartitionImage
from headrace.cluster.partitions import (
    change_isr,
    elect,
    elect_preferred,
    elect_unclean,
    make_way,
    replicas_lost,
    shut_down,
    step_down,
)
from headrace.cluster.topics import NewTopic
from headrace.errors import ClientFault, Error
from headrace.types import NO_LEADER, TopicPartition
from tests.cluster.clusters import (
    CLEAN,
    UNCLEAN,
    bring,
    cluster,
    hear,
    lose,
    partition_of,
    put,
    with_topics,
)


def trio(*replicas: int) -> ClusterImage:
    """Brokers 0 to 2 and a topic of one partition."""
    return with_topics(cluster(), NewTopic("t", assignments=[(0, replicas or (0, 1, 2))]))


@pytest.mark.spec("admin:RC-09")
def test_the_preferred_replica_leads_again_when_asked() -> None:
    """The first of the list is the designated leader; a new epoch begins with it."""
    image = with_topics(cluster([0, 1]), NewTopic("t", assignments=[(0, [0, 1])]))
    with pytest.raises(ClientFault) as caught:
        elect_preferred(image, "t", 0)
    assert caught.value.error is Error.ELECTION_NOT_NEEDED
    lose(image, 0)
    with pytest.raises(ClientFault) as caught:
        elect_preferred(image, "t", 0)
    assert caught.value.error is Error.PREFERRED_LEADER_NOT_AVAILABLE
    bring(image, 0)
    put(image, isr=(1, 0))
    image.apply([elect_preferred(image, "t", 0)])
    assert partition_of(image) == PartitionImage((0, 1), (1, 0), 0, 2, 3)
    with pytest.raises(ClientFault) as caught:
        elect_preferred(image, "t", 1)
    assert caught.value.error is Error.UNKNOWN_TOPIC_OR_PARTITION


def test_a_leaderless_partition_is_given_to_any_replica_when_asked() -> None:
    """KIP-460: an operator may prefer the loss of records to a partition that stands still."""
    image = with_topics(cluster([0, 1]), NewTopic("t", assignments=[(0, [0, 1])]))
    with pytest.raises(ClientFault) as caught:
        elect_unclean(image, "t", 0)
    assert caught.value.error is Error.ELECTION_NOT_NEEDED
    put(image, isr=(0,))
    lose(image, 0)
    assert partition_of(image).leader == NO_LEADER
    change = elect_unclean(image, "t", 0)
    assert (change.image.leader, change.image.isr) == (1, (1,))
    lose(image, 1)
    with pytest.raises(ClientFault) as caught:
        elect_unclean(image, "t", 0)
    assert caught.value.error is Error.ELIGIBLE_LEADERS_NOT_AVAILABLE
    with pytest.raises(ClientFault) as caught:
        elect_unclean(image, "x", 0)
    assert caught.value.error is Error.UNKNOWN_TOPIC_OR_PARTITION


@given(
    st.permutations([1, 2, 3, 4]),
    st.sets(st.integers(1, 4), min_size=1),
    st.sets(st.integers(1, 5)),
    st.booleans(),
    st.data(),
)
def test_an_election_never_breaks_the_rules(
    replicas: list[int], in_sync: set[int], alive: set[int], unclean: bool, data: st.DataObject
) -> None:
    """A leader is alive and in the ISR; a clean one was in sync before; the ISR is never empty."""
    isr = tuple(replica for replica in replicas if replica in in_sync)
    leader = data.draw(st.sampled_from(isr))
    before = PartitionImage(tuple(replicas), isr, leader, leader_epoch=7, partition_epoch=9)
    after = elect(before, alive, unclean=unclean)
    assert after.isr
    if after.leader != NO_LEADER:
        assert after.leader in alive
        assert after.leader in after.isr
        assert unclean or after.leader in before.isr
    else:
        assert not alive & in_sync
        assert after.isr == before.isr
    if before.leader in alive:
        assert after.leader == before.leader
    if alive & in_sync:
        assert set(after.isr) == in_sync & alive
        assert after.leader in before.isr
    assert after.leader_epoch == before.leader_epoch + (after.leader != before.leader)
    assert (after.partition_epoch > before.partition_epoch) == (after != before)


# -- beginning and ending a life -------------------------------------------------------------------


def test_a_starting_broker_gives_back_what_it_led() -> None:
    """Its disk may have lost records: another in-sync replica leads, in a new epoch."""
    image = trio(0, 2, 1)
    image.apply(step_down(image, 0))
    assert partition_of(image) == PartitionImage((0, 2, 1), (2, 1), 2, 1, 1)
    assert step_down(image, 0) == []


def test_a_starting_follower_leaves_the_isr() -> None:
    """Being in sync was true of its earlier life; the leader and its epoch stay."""
    image = trio()
    image.apply(step_down(image, 1))
    assert partition_of(image) == PartitionImage((0, 1, 2), (0, 2), 0, 0, 1)


def test_a_starting_broker_leaves_the_isr_to_the_dead() -> None:
    """A dead member has every committed record, the starting one perhaps not: nobody leads yet."""
    image = trio()
    for dead in (1, 2):
        del image.brokers[dead]
    image.apply(step_down(image, 0))
    assert partition_of(image) == PartitionImage((0, 1, 2), (1, 2), NO_LEADER, 1, 1)
    assert bring(image, 2)
    assert partition_of(image).leader == 2


def test_the_only_in_sync_replica_leads_again_in_a_new_epoch() -> None:
    """No leader at first, so that nobody takes the new life for the old one; then its own."""
    image = trio()
    put(image, isr=(0,))
    image.apply(step_down(image, 0))
    assert partition_of(image) == PartitionImage((0, 1, 2), (0,), NO_LEADER, 1, 2)
    assert step_down(image, 0) == []
    bring(image, 0)
    assert partition_of(image) == PartitionImage((0, 1, 2), (0,), 0, 2, 3)


@pytest.mark.spec("admin:RC-38")
def test_a_stopping_broker_hands_its_leaderships_over() -> None:
    """Controlled shutdown: leaders move to live in-sync replicas; the broker leaves the ISRs."""
    assignments = [(0, [0, 1, 2]), (1, [1, 0, 2]), (2, [2, 1, 0])]
    image = with_topics(cluster(), NewTopic("t", assignments=assignments))
    put(image, 2, isr=(2, 1))
    image.apply(shut_down(image, 0))
    partitions = image.topics["t"].partitions
    assert partitions[0] == PartitionImage((0, 1, 2), (1, 2), 1, 1, 1)
    assert partitions[1] == PartitionImage((1, 0, 2), (1, 2), 1, 0, 1)
    assert partitions[2] == PartitionImage((2, 1, 0), (2, 1), 2, 0, 1)
    assert shut_down(image, 0) == []
    assert lose(image, 0) == []


def test_a_stopping_broker_leads_to_the_end_where_it_is_alone() -> None:
    """Better a leader for some more moments than none, if nobody else could lead."""
    image = trio()
    for dead in (1, 2):
        del image.brokers[dead]
    assert shut_down(image, 0) == []
    put(image, isr=(0,))
    image = with_topics(cluster(), NewTopic("t", assignments=[(0, [0])]))
    assert shut_down(image, 0) == []


def test_partitions_of_a_failed_disk_move_while_the_broker_lives() -> None:
    """Those of its other disks stay where they are."""
    image = with_topics(cluster(), NewTopic("t", assignments=[(0, [0, 1, 2]), (1, [0, 1, 2])]))
    hit = [TopicPartition("t", 0), TopicPartition("gone", 3)]
    image.apply(replicas_lost(image, 0, hit, CLEAN))
    assert partition_of(image) == PartitionImage((0, 1, 2), (1, 2), 1, 1, 1)
    assert partition_of(image, number=1).leader == 0
    assert replicas_lost(image, 0, hit, CLEAN) == []


def test_a_full_disk_makes_way_for_replicas_with_room() -> None:
    """It leads on where nobody has room, and leaves the ISR only where it cannot follow."""
    image = with_topics(
        cluster(),
        NewTopic("t", assignments=[(0, [0, 1, 2]), (1, [0, 1, 2]), (2, [1, 0, 2]), (3, [1, 0, 2])]),
    )
    successors = {TopicPartition("t", 0): {2}, TopicPartition("t", 1): {5}}
    stuck = [TopicPartition("t", 0), TopicPartition("t", 2), TopicPartition("gone", 1)]
    image.apply(make_way(image, 0, successors, stuck))
    assert partition_of(image) == PartitionImage((0, 1, 2), (1, 2), 2, 1, 1)
    assert partition_of(image, number=1) == PartitionImage((0, 1, 2), (0, 1, 2), 0, 0, 0)
    assert partition_of(image, number=2) == PartitionImage((1, 0, 2), (1, 2), 1, 0, 1)
    assert partition_of(image, number=3) == PartitionImage((1, 0, 2), (1, 0, 2), 1, 0, 0)
    assert make_way(image, 0, successors, stuck) == []


def test_the_last_copy_on_a_failed_disk_waits_for_its_repair() -> None:
    """Nobody leads, and the controller does not give it back to the broker that cannot have it."""
    image = trio()
    put(image, isr=(0,))
    lost = replicas_lost(image, 0, [TopicPartition("t", 0)], CLEAN)
    assert hear(image, *lost) == []
    assert partition_of(image) == PartitionImage((0, 1, 2), (0,), NO_LEADER, 1, 2)
    image = trio()
    put(image, isr=(0,))
    image.apply(replicas_lost(image, 0, [TopicPartition("t", 0)], UNCLEAN))
    assert partition_of(image) == PartitionImage((0, 1, 2), (1,), 1, 1, 2)


def test_a_failed_disk_does_not_hide_who_else_could_lead() -> None:
    """The broker had not heard of a live replica: the controller has, and does not stop at that."""
    image = trio(0, 1)
    behind = trio(0, 1)
    del behind.brokers[1]
    place = [TopicPartition("t", 0)]
    hear(image, *replicas_lost(behind, 0, place, CLEAN))
    assert partition_of(image).leader in (0, 1)
    hear(image, *replicas_lost(image, 0, place, CLEAN))
    assert (partition_of(image).leader, partition_of(image).isr) == (1, (1,))


# -- the ISR ---------------------------------------------------------------------------------------


@pytest.mark.spec("admin:RC-12", "book1:R-10", "book1:R-11")
def test_a_leader_changes_its_isr_in_the_same_epoch() -> None:
    """Members leave and come back; leader and leader epoch stay, the partition epoch grows."""
    image = trio()
    change = change_isr(image, "t", 0, (0, 2))
    assert change == PartitionChanged("t", 0, PartitionImage((0, 1, 2), (0, 2), 0, 0, 1))
    image.apply([change])
    again = change_isr(image, "t", 0, [0, 2, 1], partition_epoch=1)
    assert again is not None
    assert again.image == PartitionImage((0, 1, 2), (0, 2, 1), 0, 0, 2)


def test_a_wish_that_was_overtaken_is_dropped() -> None:
    """Nothing to do, a newer state, no leader, no such partition: the leader looks again."""
    image = trio()
    assert change_isr(image, "t", 0, (2, 1, 0)) is None
    put(image, isr=(0, 1))
    assert change_isr(image, "t", 0, (0, 1, 2), partition_epoch=0) is None
    assert change_isr(image, "x", 0, (0,)) is None
    put(image, leader=NO_LEADER)
    assert change_isr(image, "t", 0, (0,)) is None


@pytest.mark.parametrize(
    ("isr", "error"),
    [
        ((1, 2), Error.INVALID_REQUEST),
        ((), Error.INVALID_REQUEST),
        ((0, 7), Error.INVALID_REQUEST),
        ((0, 2), Error.INELIGIBLE_REPLICA),
    ],
)
def test_an_isr_that_cannot_be_is_refused(isr: tuple[int, ...], error: Error) -> None:
    """It holds the leader, none but replicas, and nobody who enters it while dead."""
    image = trio()
    put(image, isr=(0, 1))
    del image.brokers[2]
    with pytest.raises(ClientFault) as caught:
        change_isr(image, "t", 0, isr)
    assert caught.value.error is error


def test_dead_members_may_leave_the_isr() -> None:
    """Only who enters must be alive."""
    image = trio()
    del image.brokers[2]
    change = change_isr(image, "t", 0, (0, 2))
    assert change is not None
    assert change.image == replace(partition_of(image), isr=(0, 2), partition_epoch=1)
