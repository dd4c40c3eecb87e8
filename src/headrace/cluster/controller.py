"""What the controller decides when brokers come and go, and when partitions move.

The controller looks at what is, not at how it came to be: `decide` compares the partitions that the
news may concern with the rules, and returns what brings each of them one step nearer. A step that
is written is news again, so a move of several steps goes on by itself; a decision that the tree
refused is simply made again on what has become known meanwhile. A new controller knows no news: it
looks at everything (`take_over`).

One step for a partition at a time: every step is one compare-and-set on its state, and whoever
reads between two of them sees a cluster that works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

from headrace.cluster.config_owners import ConfigOwner, OwnerKind
from headrace.cluster.image import (
    BrokerRegistered,
    BrokerUnregistered,
    Change,
    Changes,
    ClusterImage,
    ConfigChanged,
    PartitionChanged,
    PartitionImage,
    PartitionsAdded,
    TopicCreated,
)
from headrace.cluster.partitions import elect, with_leader
from headrace.cluster.reassignments import advance
from headrace.types import NO_LEADER


@dataclass(frozen=True, slots=True)
class Controllership:
    """The right to decide. Every write checks that `/controller_epoch` still has this version."""

    broker_id: int
    epoch: int
    epoch_version: int


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator allows: `unclean.leader.election.enable` of a topic."""

    unclean_allowed: Callable[[str], bool]


def decide(image: ClusterImage, news: Sequence[Change], policy: Policy) -> Changes:
    """What follows from the news, which the image contains already.

    If the tree refuses what is returned, ask again with the same news and those that came since.
    """
    returned: set[int] = set()
    left: set[int] = set()
    look_at_all = False
    for change in news:
        match change:
            case BrokerUnregistered(broker_id):
                left.add(broker_id)
                look_at_all = True
            case BrokerRegistered(broker):
                # Gone and back between two looks: what it had belongs to a life that is over.
                if broker.id in left:
                    returned.add(broker.id)
                look_at_all = True
            case ConfigChanged(ConfigOwner(OwnerKind.BROKER)):
                look_at_all = True  # it may allow unclean elections
    if look_at_all:
        return _steps(image, _everything(image), returned & image.brokers.keys(), policy)
    return _steps(image, _concerned(image, news), frozenset(), policy)


def take_over(image: ClusterImage, policy: Policy) -> Changes:
    """What a new controller does first: it knows no news, so it looks at everything."""
    return _steps(image, _everything(image), frozenset(), policy)


def balance_leaders(image: ClusterImage, *, imbalance_percentage: int) -> Changes:
    """Give leadership back to the preferred replicas of brokers that lead too few of theirs.

    A broker is left alone until more than `imbalance_percentage` of the partitions that it should
    lead are led by others: each election costs clients a refresh of their metadata.
    """
    preferred_count: dict[int, int] = {}
    led_by_others: dict[int, list[tuple[str, int, PartitionImage]]] = {}
    for name, number, partition in _everything(image):
        preferred = partition.replicas[0]
        preferred_count[preferred] = preferred_count.get(preferred, 0) + 1
        if partition.leader != preferred:
            led_by_others.setdefault(preferred, []).append((name, number, partition))
    changes: Changes = []
    for broker_id, partitions in led_by_others.items():
        if len(partitions) * 100 <= imbalance_percentage * preferred_count[broker_id]:
            continue
        for name, number, partition in partitions:
            is_eligible = broker_id in image.brokers and broker_id in partition.isr
            if is_eligible and not (partition.adding or partition.removing):
                after = with_leader(partition, broker_id, partition.isr)
                changes.append(PartitionChanged(name, number, after))
    return changes


_Place = tuple[str, int, PartitionImage]


def _everything(image: ClusterImage) -> Iterator[_Place]:
    for name, topic in image.topics.items():
        for number, partition in enumerate(topic.partitions):
            yield name, number, partition


def _concerned(image: ClusterImage, news: Iterable[Change]) -> Iterator[_Place]:
    """Each partition once that some news are about."""
    seen: set[tuple[str, int]] = set()
    for change in news:
        match change:
            case PartitionChanged(name, number, _):
                partition = image.partition(name, number)
                if partition is None or _was_given_up(image, partition):
                    continue
                numbers: Iterable[int] = (number,)
            case TopicCreated(topic) | PartitionsAdded(topic):
                name = topic.name
                numbers = range(len(topic.partitions))
            case ConfigChanged(ConfigOwner(OwnerKind.TOPIC, name)):
                numbers = range(len(image.topics[name].partitions)) if name in image.topics else ()
            case _:
                continue
        for number in numbers:
            partition = image.partition(name, number)
            if partition is not None and (name, number) not in seen:
                seen.add((name, number))
                yield name, number, partition


def _was_given_up(image: ClusterImage, partition: PartitionImage) -> bool:
    """Whether the only replica that could lead has said that it cannot: its disk has failed.

    A broker that comes, or a setting, is a reason to try again. This change is not: the replica
    would be elected for ever.
    """
    if partition.leader != NO_LEADER:
        return False
    return sum(broker in image.brokers for broker in partition.isr) < 2


def _steps(
    image: ClusterImage, partitions: Iterable[_Place], returned: Set[int], policy: Policy
) -> Changes:
    alive = frozenset(image.brokers)
    changes: Changes = []
    for name, number, before in partitions:
        after = before
        if returned and not returned.isdisjoint((before.leader, *before.isr)):
            after = _renewed(before, alive, returned)
        elif before.leader not in alive or not alive.issuperset(before.isr):
            after = elect(before, alive)
            if after.leader == NO_LEADER and policy.unclean_allowed(name):
                after = elect(before, alive, unclean=True)
        if after is before and (before.adding or before.removing):
            after = advance(before, alive)
        if after is not before:
            changes.append(PartitionChanged(name, number, after))
    return changes


def _renewed(partition: PartitionImage, alive: Set[int], returned: Set[int]) -> PartitionImage:
    """The partition without what brokers had in an earlier life.

    Where nobody else is in sync, one of them leads again, alone and in a new leader epoch.
    """
    after = elect(partition, alive - returned)
    if after.leader != NO_LEADER:
        return after
    again = elect(partition, alive)
    if again.leader == NO_LEADER:
        return again
    return with_leader(partition, again.leader, (again.leader,), begins_anew=True)
