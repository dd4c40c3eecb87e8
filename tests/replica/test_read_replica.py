"""Reading from the closest replica (KIP-392): which one, and what it can answer."""

from __future__ import annotations

import pytest

from headrace.errors import ClientFault, Error
from headrace.replica import Leadership, ReplicaFetch, select_read_replica
from headrace.replica.followers import FollowerState
from tests.replica.cluster import Cluster, batch

RACKS = {1: "east", 2: "west", 3: "west", 4: None}


def state(broker_id: int, end: int, *, start: int = 0, caught_up_ms: int = 0) -> FollowerState:
    follower = FollowerState(broker_id, caught_up_ms)
    follower.on_fetch(ReplicaFetch(broker_id, 0, end, -1, start), end + 1, 0)
    return follower


def choose(rack: str, offset: int, *, isr: tuple[int, ...] = (1, 2, 3)) -> int:
    followers = {2: state(2, 10), 3: state(3, 12, start=5)}
    return select_read_replica(Leadership(1, 0, 0, (1, 2, 3), isr), RACKS, rack, followers, offset)


@pytest.mark.parametrize(
    ("rack", "offset", "isr", "chosen"),
    [
        ("", 7, (1, 2, 3), -1),  # a client that does not say where it is
        ("east", 7, (1, 2, 3), -1),  # the leader is near
        ("north", 7, (1, 2, 3), -1),  # nobody is near
        ("west", 7, (1, 2, 3), 3),  # the one that has more
        ("west", 3, (1, 2, 3), 2),  # the other one begins too late
        ("west", 11, (1, 2, 3), 3),  # the other one does not have it yet
        ("west", 13, (1, 2, 3), -1),  # none of them has
        ("west", 7, (1, 2), 2),  # the other one is not in sync
        ("west", 7, (1,), -1),
    ],
)
def test_the_closest_in_sync_replica_that_has_the_offset(
    rack: str, offset: int, isr: tuple[int, ...], chosen: int
) -> None:
    """By rack, then by how much it has; the leader where none is better."""
    assert choose(rack, offset, isr=isr) == chosen


def test_of_two_equals_the_one_that_caught_up_last_is_taken() -> None:
    """And the lower id if there is nothing to choose; a broker that is gone is never chosen."""
    leadership = Leadership(1, 0, 0, (1, 2, 3), (1, 2, 3))
    later = {2: state(2, 9, caught_up_ms=1), 3: state(3, 9, caught_up_ms=2)}
    assert select_read_replica(leadership, RACKS, "west", later, 5) == 3
    same = {2: state(2, 9), 3: state(3, 9)}
    assert select_read_replica(leadership, RACKS, "west", same, 5) == 2
    alive = {1: "east", 3: "west"}
    assert select_read_replica(leadership, alive, "west", same, 5) == 3


def test_a_follower_answers_below_its_own_high_watermark() -> None:
    """What it does not have yet is not available; what nobody has any more is out of range."""
    cluster = Cluster(1, 2)
    cluster.elect(1)
    for value in "abc":
        cluster.leader.partition.append(batch(value), acks=1, now_ms=cluster.now_ms)
    follower = cluster[2].partition
    with pytest.raises(ClientFault) as refused:
        follower.read(2, 1000, committed_only=False, at_least_one=True)
    assert refused.value.error == Error.OFFSET_NOT_AVAILABLE
    for _ in range(3):
        cluster.fetch(2)
    assert cluster[2].readable() == ["a", "b", "c"]
    follower.log.delete_records_before(2)
    with pytest.raises(ClientFault) as refused:
        follower.read(0, 1000, committed_only=False, at_least_one=True)
    assert refused.value.error == Error.OFFSET_OUT_OF_RANGE
    with pytest.raises(ClientFault) as refused:
        follower.append(batch("d"), acks=1, now_ms=cluster.now_ms)
    assert refused.value.error == Error.NOT_LEADER_OR_FOLLOWER
