"""Leader election: who leads when brokers die and return."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cluster.image import (
    NO_LEADER,
    BrokerRegistered,
    BrokerUnregistered,
    ClusterImage,
    PartitionChanged,
    PartitionImage,
)
from headrace.cluster.partitions import (
    broker_lost,
    broker_registered,
    elect,
    elect_preferred,
    elect_unclean,
)
from headrace.cluster.topics import NewTopic
from headrace.errors import ClientFault, Error
from tests.cluster.clusters import broker, cluster, with_topics


def never(topic: str) -> bool:
    return False


def always(topic: str) -> bool:
    return True


def thirteen() -> ClusterImage:
    """The topic of the training slides: 13 partitions, replication factor 3, brokers 0 to 2."""
    order = [[2, 0, 1], [0, 1, 2], [1, 2, 0], [2, 1, 0], [0, 2, 1], [1, 0, 2]]
    assignments = [(partition, order[partition % 6]) for partition in range(13)]
    return with_topics(cluster(), NewTopic("t", assignments=assignments))


@pytest.mark.spec("slides:B14", "slides:B13")
def test_the_first_surviving_replica_takes_over() -> None:
    """Broker 0 dies: what it led goes to the next in list order, ISRs lose it and keep order."""
    image = thirteen()
    before = list(image.topics["t"].partitions)
    image.apply(broker_lost(image, 0, never))
    for old, new in zip(before, image.topics["t"].partitions, strict=True):
        survivors = tuple(replica for replica in old.replicas if replica != 0)
        assert new.isr == survivors
        assert new.replicas == old.replicas
        assert new.leader == (survivors[0] if old.leader == 0 else old.leader)
        assert new.leader_epoch == old.leader_epoch + (old.leader == 0)
        assert new.partition_epoch == old.partition_epoch + 1
    assert 0 not in image.brokers


@pytest.mark.spec("slides:B19", "admin:RC-22")
def test_without_in_sync_replicas_a_partition_waits() -> None:
    """Clean only: with the last ISR member dead there is no leader, until it comes back."""
    image = with_topics(cluster([103, 104]), NewTopic("t", assignments=[(0, [103, 104])]))
    image.apply(broker_lost(image, 104, never))
    image.apply(broker_lost(image, 103, never))
    partition = image.topics["t"].partitions[0]
    assert (partition.leader, partition.isr) == (NO_LEADER, (103,))
    image.apply(broker_registered(image, broker(104), never))
    assert image.topics["t"].partitions[0].leader == NO_LEADER
    image.apply(broker_registered(image, broker(103), never))
    partition = image.topics["t"].partitions[0]
    assert (partition.leader, partition.isr) == (103, (103,))
    assert partition.leader_epoch == 2


@pytest.mark.spec("slides:B18", "admin:RC-22")
def test_an_unclean_election_takes_any_live_replica() -> None:
    """unclean.leader.election.enable: the first to return leads alone; committed data may go."""
    image = with_topics(cluster([103, 104]), NewTopic("t", assignments=[(0, [103, 104])]))
    image.apply(broker_lost(image, 104, always))
    image.apply(broker_lost(image, 103, always))
    image.apply(broker_registered(image, broker(104), always))
    partition = image.topics["t"].partitions[0]
    assert (partition.leader, partition.isr) == (104, (104,))


def test_a_broker_without_partitions_changes_only_itself() -> None:
    """Nothing is written for partitions that a broker has no part in."""
    image = with_topics(cluster([0, 1, 2]), NewTopic("t", assignments=[(0, [0, 1])]))
    assert broker_lost(image, 2, never) == [BrokerUnregistered(2)]
    assert broker_registered(image, broker(5), never) == [BrokerRegistered(broker(5))]


def test_a_returning_broker_does_not_disturb_a_living_leader() -> None:
    """Coming back gives nobody leadership or ISR membership: it must catch up first."""
    image = thirteen()
    image.apply(broker_lost(image, 0, never))
    after_loss = list(image.topics["t"].partitions)
    image.apply(broker_registered(image, broker(0), never))
    assert image.topics["t"].partitions == after_loss


@pytest.mark.spec("admin:RC-09")
def test_the_preferred_replica_leads_again_when_asked() -> None:
    """The first of the list is the designated leader; a new epoch begins with it."""
    image = with_topics(cluster([0, 1]), NewTopic("t", assignments=[(0, [0, 1])]))
    with pytest.raises(ClientFault) as caught:
        elect_preferred(image, "t", 0)
    assert caught.value.error is Error.ELECTION_NOT_NEEDED
    image.apply(broker_lost(image, 0, never))
    with pytest.raises(ClientFault) as caught:
        elect_preferred(image, "t", 0)
    assert caught.value.error is Error.PREFERRED_LEADER_NOT_AVAILABLE
    image.apply(broker_registered(image, broker(0), never))
    caught_up = PartitionImage((0, 1), (1, 0), leader=1, leader_epoch=1, partition_epoch=2)
    image.apply([PartitionChanged("t", 0, caught_up)])
    image.apply([elect_preferred(image, "t", 0)])
    assert image.topics["t"].partitions[0] == PartitionImage((0, 1), (1, 0), 0, 2, 3)
    with pytest.raises(ClientFault) as caught:
        elect_preferred(image, "t", 1)
    assert caught.value.error is Error.UNKNOWN_TOPIC_OR_PARTITION


def test_a_leaderless_partition_is_given_to_any_replica_when_asked() -> None:
    """KIP-460: an operator may prefer the loss of records to a partition that stands still."""
    image = with_topics(cluster([0, 1]), NewTopic("t", assignments=[(0, [0, 1])]))
    with pytest.raises(ClientFault) as caught:
        elect_unclean(image, "t", 0)
    assert caught.value.error is Error.ELECTION_NOT_NEEDED
    lagging = PartitionImage((0, 1), (0,), leader=0, leader_epoch=0, partition_epoch=1)
    image.apply([PartitionChanged("t", 0, lagging)])
    image.apply(broker_lost(image, 0, never))
    assert image.topics["t"].partitions[0].leader == NO_LEADER
    change = elect_unclean(image, "t", 0)
    assert (change.image.leader, change.image.isr) == (1, (1,))
    image.apply(broker_lost(image, 1, never))
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
