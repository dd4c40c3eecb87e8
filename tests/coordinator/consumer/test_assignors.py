"""The server-side assignors: everything is given out, evenly, without needless moves."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.coordinator.group.consumer.assignors import ASSIGNORS, Assignor, Candidate
from headrace.coordinator.group.modern.member import Target

TOPICS = [UUID(int=number) for number in range(1, 6)]


def candidates(
    wishes: dict[str, set[UUID]], before: dict[str, Target] | None = None
) -> dict[str, Candidate]:
    before = before or {}
    return {
        name: Candidate(None, frozenset(topics), before.get(name, {}))
        for name, topics in wishes.items()
    }


def loads(targets: dict[str, Target]) -> dict[str, int]:
    return {name: sum(map(len, target.values())) for name, target in targets.items()}


def owners(targets: dict[str, Target]) -> dict[tuple[UUID, int], str]:
    found: dict[tuple[UUID, int], str] = {}
    for name, target in targets.items():
        for topic_id, partitions in target.items():
            assert partitions, "a topic is named without partitions"
            for partition in partitions:
                assert found.setdefault((topic_id, partition), name) == name, "given out twice"
    return found


counts = st.fixed_dictionaries({topic_id: st.integers(0, 9) for topic_id in TOPICS})
names = st.sampled_from([f"m{number}" for number in range(7)])
wishes_of_all = st.dictionaries(names, st.sets(st.sampled_from(TOPICS)), min_size=1)


@pytest.mark.parametrize("assignor", ASSIGNORS.values(), ids=ASSIGNORS.keys())
@settings(deadline=None)
@given(wishes=wishes_of_all, counts=counts)
def test_all_is_given_out(
    assignor: Assignor, wishes: dict[str, set[UUID]], counts: dict[UUID, int]
) -> None:
    """Each partition of each subscribed topic has one owner, who subscribes; ever the same one."""
    targets = assignor(candidates(wishes), counts)
    assert targets.keys() == wishes.keys()
    found = owners(targets)
    wanted = {topic_id for topics in wishes.values() for topic_id in topics}
    assert found.keys() == {(each, number) for each in wanted for number in range(counts[each])}
    assert all(topic_id in wishes[name] for (topic_id, _), name in found.items())
    shuffled = dict(reversed(wishes.items()))
    assert assignor(candidates(shuffled), counts) == targets


@settings(deadline=None)
@given(
    members=st.sets(names, min_size=1),
    later=st.sets(names, min_size=1),
    counts=counts,
    grown=counts,
)
def test_uniform_is_even_and_sticky(
    members: set[str], later: set[str], counts: dict[UUID, int], grown: dict[UUID, int]
) -> None:
    """Equal wishes: loads differ by one at most, and only what must move moves."""
    assign = ASSIGNORS["uniform"]
    topics = set(TOPICS)
    before = assign(candidates(dict.fromkeys(members, topics)), counts)
    assert max(loads(before).values()) - min(loads(before).values()) <= 1
    after = assign(candidates(dict.fromkeys(later, topics), before), grown)
    assert max(loads(after).values()) - min(loads(after).values()) <= 1
    # As many partitions stay as the new loads allow: each member keeps all that it has, up to the
    # share of all, and as many members as there are extras keep one more.
    had, has = owners(before), owners(after)
    stayed = sum(has.get(each) == name for each, name in had.items() if each in has)
    share, extra = divmod(sum(grown.values()), len(later))
    possible = {
        name: sum(each in has for each, owner in had.items() if owner == name) for name in later
    }
    best = sum(min(count, share) for count in possible.values())
    best += min(extra, sum(count > share for count in possible.values()))
    assert stayed == best


@settings(deadline=None)
@given(wishes=wishes_of_all, later=wishes_of_all, counts=counts)
def test_uniform_cannot_be_improved(
    wishes: dict[str, set[UUID]], later: dict[str, set[UUID]], counts: dict[UUID, int]
) -> None:
    """Different wishes: no single move makes the loads more equal, and repeating moves nothing."""
    assign = ASSIGNORS["uniform"]
    before = assign(candidates(wishes), counts)
    after = assign(candidates(later, before), counts)
    load = loads(after)
    for (topic_id, _), name in owners(after).items():
        for other, topics in later.items():
            if topic_id in topics:
                assert load[name] <= load[other] + 1, f"{name} should give to {other}"
    assert assign(candidates(later, after), counts) == after


def test_uniform_moves_as_little_as_it_must() -> None:
    """A third member takes from both, a member that leaves disturbs nobody else."""
    assign = ASSIGNORS["uniform"]
    topic = TOPICS[0]
    two = assign(candidates({"a": {topic}, "b": {topic}}), {topic: 6})
    three = assign(candidates({"a": {topic}, "b": {topic}, "c": {topic}}, two), {topic: 6})
    assert loads(three) == {"a": 2, "b": 2, "c": 2}
    assert three["a"][topic] < two["a"][topic]
    assert three["b"][topic] < two["b"][topic]
    left = assign(candidates({"a": {topic}, "c": {topic}}, three), {topic: 6})
    assert three["a"][topic] < left["a"][topic]
    assert three["c"][topic] < left["c"][topic]


def test_range_orders_members() -> None:
    """Static members come first, by their instance id, so a new member id changes nothing."""
    assign = ASSIGNORS["range"]
    topic, other = TOPICS[:2]
    everything = frozenset({topic, other})
    members = {
        "z": Candidate("i1", everything, {}),
        "y": Candidate("i2", everything, {}),
        "a": Candidate(None, everything, {}),
    }
    targets = assign(members, {topic: 4, other: 4})
    assert targets["z"] == {topic: {0, 1}, other: {0, 1}}, "what belongs together is together"
    assert targets["y"] == {topic: {2}, other: {2}}
    assert targets["a"] == {topic: {3}, other: {3}}


def test_more_members_than_partitions() -> None:
    """Useful members are as many as partitions; the others get nothing, and no error."""
    topic = TOPICS[0]
    for assign in ASSIGNORS.values():
        targets = assign(candidates({name: {topic} for name in "abc"}), {topic: 2})
        assert sorted(loads(targets).values()) == [0, 1, 1]
