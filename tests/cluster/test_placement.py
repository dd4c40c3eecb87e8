"""Replica placement: Kafka's printed results, the course's vector, and what must always hold."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cluster.placement import alternate_racks, assign_replicas
from headrace.errors import ClientFault, Error

RACKS = {0: "R1", 1: "R1", 2: "R1", 3: "R2", 4: "R2", 5: "R2"}


@pytest.mark.spec("slides:B06")
def test_thirteen_partitions_on_three_brokers_as_printed() -> None:
    """AdminUtils without racks, start index 2, shift 0: the 13 lines of the training slides."""
    brokers = {0: None, 1: None, 2: None}
    assert assign_replicas(brokers, 13, 3, start_index=2, shift=0) == [
        [2, 0, 1],
        [0, 1, 2],
        [1, 2, 0],
        [2, 1, 0],
        [0, 2, 1],
        [1, 0, 2],
        [2, 0, 1],
        [0, 1, 2],
        [1, 2, 0],
        [2, 1, 0],
        [0, 2, 1],
        [1, 0, 2],
        [2, 0, 1],
    ]


@pytest.mark.spec("admin:RC-06", "admin:RC-07")
def test_ten_partitions_on_two_racks_as_in_the_course() -> None:
    """Brokers alternate between racks; leader of partition i at slot i, follower k at slot i+k."""
    assert alternate_racks(RACKS) == [0, 3, 1, 4, 2, 5]
    assigned = assign_replicas(RACKS, 10, 3, start_index=0, shift=0, cycle_shift=0)
    by_broker: dict[int, list[list[int]]] = {broker: [[], [], []] for broker in RACKS}
    for partition, replicas in enumerate(assigned):
        for role, broker in enumerate(replicas):
            by_broker[broker][role].append(partition)
    assert by_broker == {
        0: [[0, 6], [5], [4]],
        3: [[1, 7], [0, 6], [5]],
        1: [[2, 8], [1, 7], [0, 6]],
        4: [[3, 9], [2, 8], [1, 7]],
        2: [[4], [3, 9], [2, 8]],
        5: [[5], [4], [3, 9]],
    }
    assert [sum(map(len, by_broker[broker])) for broker in (0, 3, 1, 4, 2, 5)] == [
        4,
        5,
        6,
        6,
        5,
        4,
    ]
    for replicas in assigned:
        assert {RACKS[broker] for broker in replicas} == {"R1", "R2"}


def test_kafka_shifts_followers_after_each_round() -> None:
    """With Kafka's own shift, partition 6 has the leader of partition 0 and other followers."""
    assigned = assign_replicas(RACKS, 7, 3, start_index=0, shift=0)
    assert assigned[0] == [0, 3, 1]
    assert assigned[6] == [0, 4, 2]


def test_racks_count_only_if_every_broker_has_one() -> None:
    """A broker without a rack makes the placement ignore racks, as Kafka's safe mode does."""
    half = {0: "R1", 1: None, 2: "R1", 3: "R2"}
    assert assign_replicas(half, 4, 2, start_index=0, shift=0) == [[0, 1], [1, 2], [2, 3], [3, 0]]


def test_uneven_racks_alternate_as_long_as_they_last() -> None:
    """A rack that has run out is passed over."""
    racks = {0: "a", 1: "b", 2: "b", 3: "b", 4: "c"}
    assert alternate_racks(racks) == [0, 1, 4, 2, 3]
    assert alternate_racks({}) == []


@pytest.mark.spec("admin:RC-03", "admin:RC-04")
def test_more_replicas_than_brokers_are_refused() -> None:
    """Replication factor 9 on 5 brokers: INVALID_REPLICATION_FACTOR names both numbers."""
    with pytest.raises(ClientFault, match=r"9 is larger than the number of available brokers: 5"):
        assign_replicas(dict.fromkeys(range(5)), 1, 9, start_index=0, shift=0)
    with pytest.raises(ClientFault) as caught:
        assign_replicas({}, 1, 1, start_index=0, shift=0)
    assert caught.value.error is Error.INVALID_REPLICATION_FACTOR
    with pytest.raises(ClientFault, match="at least 1"):
        assign_replicas({0: None}, 1, 0, start_index=0, shift=0)


def test_ten_partitions_on_five_brokers() -> None:
    """The second round stands one further apart: Kafka's own example of its algorithm."""
    assert assign_replicas(dict.fromkeys(range(5)), 10, 3, start_index=0, shift=0) == [
        [0, 1, 2],
        [1, 2, 3],
        [2, 3, 4],
        [3, 4, 0],
        [4, 0, 1],
        [0, 2, 3],
        [1, 3, 4],
        [2, 4, 0],
        [3, 0, 1],
        [4, 1, 2],
    ]


def walk(
    racks: dict[int, str | None], count: int, factor: int, start: int, shift: int, first: int
) -> list[list[int]]:
    """The same placement told as a walk: one broker at a time, a shift that is counted up."""
    order = alternate_racks({broker: rack or "" for broker, rack in racks.items()})
    rack_count = len(set(racks.values()))
    result = []
    for partition in range(first, first + count):
        if partition > 0 and partition % len(order) == 0:
            shift += 1
        leader = (partition + start) % len(order)
        chosen = [order[leader]]
        step = shift * rack_count
        while len(chosen) < factor:
            candidate = order[(leader + 1 + step % (len(order) - 1)) % len(order)]
            step += 1
            used = {racks[broker] for broker in chosen}
            if candidate not in chosen and (
                racks[candidate] not in used or len(used) == rack_count
            ):
                chosen.append(candidate)
        result.append(chosen)
    return result


brokers_with_racks = st.lists(
    st.tuples(st.integers(0, 200), st.sampled_from(["a", "b", "c", "d"])),
    min_size=1,
    max_size=12,
    unique_by=lambda pair: pair[0],
).map(dict)
brokers_without_racks = st.lists(st.integers(0, 200), min_size=1, max_size=12, unique=True).map(
    lambda broker_ids: dict.fromkeys(broker_ids)
)


@pytest.mark.spec("admin:RC-03", "admin:RC-05", "slides:B05", "book1:B-11", "book2:J-11")
@given(brokers_without_racks, st.integers(1, 40), st.data())
def test_leaders_are_even_and_replicas_distinct(
    brokers: dict[int, None], partitions: int, data: st.DataObject
) -> None:
    """No two replicas share a broker; leaderships differ by at most one, full rounds are even."""
    factor = data.draw(st.integers(1, len(brokers)))
    start, shift = data.draw(st.integers(0, 50)), data.draw(st.integers(0, 50))
    assigned = assign_replicas(brokers, partitions, factor, start_index=start, shift=shift)
    assert all(len(set(replicas)) == factor for replicas in assigned)
    leaders = Counter(replicas[0] for replicas in assigned)
    counts = [leaders[broker] for broker in brokers]
    assert max(counts) - min(counts) <= 1
    if partitions % len(brokers) == 0:
        load = Counter(broker for replicas in assigned for broker in replicas)
        assert len(set(load.values())) == 1


@pytest.mark.spec("admin:RC-06", "admin:RC-08", "slides:A26")
@given(brokers_with_racks, st.integers(1, 40), st.data())
def test_replicas_cover_as_many_racks_as_possible(
    racks: dict[int, str], partitions: int, data: st.DataObject
) -> None:
    """A rack gets a second replica of a partition only when every rack has one."""
    factor = data.draw(st.integers(1, len(racks)))
    start, shift = data.draw(st.integers(0, 50)), data.draw(st.integers(0, 50))
    assigned = assign_replicas(racks, partitions, factor, start_index=start, shift=shift)
    rack_count = len(set(racks.values()))
    for replicas in assigned:
        assert len(set(replicas)) == factor
        assert len({racks[broker] for broker in replicas}) == min(factor, rack_count)
    leaders = Counter(replicas[0] for replicas in assigned)
    counts = [leaders[broker] for broker in racks]
    assert max(counts) - min(counts) <= 1


@given(
    st.one_of(brokers_without_racks, brokers_with_racks),
    st.integers(1, 30),
    st.integers(0, 30),
    st.data(),
)
def test_placement_is_a_walk_around_the_brokers(
    racks: dict[int, str | None], partitions: int, first: int, data: st.DataObject
) -> None:
    """The shift grows with each full round, also when partitions are added to existing ones."""
    factor = data.draw(st.integers(1, len(racks)))
    start, shift = data.draw(st.integers(0, 50)), data.draw(st.integers(0, 50))
    assigned = assign_replicas(
        racks, partitions, factor, start_index=start, shift=shift, first_partition=first
    )
    assert assigned == walk(racks, partitions, factor, start, shift, first)
