"""Plans of reassignments: their JSON, and how a wish becomes one.

The JSON is that of Kafka's tool, `{"version":1,"partitions":[{"topic":…,"partition":…,
"replicas":[…],"log_dirs":[…]}]}`. Pure: what there is comes in, what there shall be goes out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from headrace.admin.views import BrokerView, TopicView
from headrace.errors import HeadraceError
from headrace.types import TopicPartition

ANY_LOG_DIR: Final = "any"

Assignment = dict[TopicPartition, tuple[int, ...]]


class BadPlan(HeadraceError):
    """A plan that cannot be read, or a wish that the brokers there are cannot fulfil."""


class Replica(NamedTuple):
    """One copy of a partition, as Kafka's tools write it: orders-0-2."""

    topic: str
    partition: int
    broker: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}-{self.broker}"


NOWHERE: Final[Mapping[Replica, str]] = MappingProxyType({})


class Plan(NamedTuple):
    """Where partitions shall be, and on which disk, where one is named."""

    partitions: list[tuple[TopicPartition, tuple[int, ...]]]
    log_dirs: dict[Replica, str]

    @property
    def assignment(self) -> Assignment:
        return dict(self.partitions)


def current(topics: Sequence[TopicView]) -> Assignment:
    """Where the partitions of these topics are."""
    return {
        TopicPartition(topic.name, each.number): each.replicas
        for topic in topics
        for each in topic.partitions
    }


# -- JSON -----------------------------------------------------------------------------------------


def to_json(
    assignment: Mapping[TopicPartition, Sequence[int]], log_dirs: Mapping[Replica, str] = NOWHERE
) -> str:
    """One line, as Kafka's tool prints and reads it; a replica of unknown disk is on any."""
    partitions = [
        {
            "topic": each.topic,
            "partition": each.partition,
            "replicas": list(replicas),
            "log_dirs": [log_dirs.get(Replica(*each, broker), ANY_LOG_DIR) for broker in replicas],
        }
        for each, replicas in sorted(assignment.items())
    ]
    return json.dumps({"version": 1, "partitions": partitions}, separators=(",", ":"))


def parse_plan(text: str) -> Plan:
    """The plan in this JSON, duplicates and all; `check` finds those."""
    plan = Plan([], {})
    for entry in _entries(text, "partitions"):
        try:
            where = TopicPartition(str(entry["topic"]), int(entry["partition"]))
            replicas = tuple(int(each) for each in entry["replicas"])
            folders = [str(each) for each in entry.get("log_dirs", [ANY_LOG_DIR] * len(replicas))]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise BadPlan(
                f"{json.dumps(entry)} is not a partition of a plan: give topic, partition, replicas"
            ) from None
        if len(folders) != len(replicas):
            raise BadPlan(
                f"Size of replicas list {list(replicas)} is different from size of log dirs list "
                f"{folders} for partition {where}"
            )
        plan.partitions.append((where, replicas))
        for broker, folder in zip(replicas, folders, strict=True):
            if folder != ANY_LOG_DIR:
                plan.log_dirs[Replica(*where, broker)] = folder
    return plan


def check(plan: Plan) -> None:
    """Refuse a plan that no cluster could carry out."""
    if not plan.partitions:
        raise BadPlan("Partition reassignment list cannot be empty")
    if not all(replicas for _, replicas in plan.partitions):
        raise BadPlan("Partition replica list cannot be empty")
    twice = _repeated([where for where, _ in plan.partitions])
    if twice:
        raise BadPlan(
            "Partition reassignment contains duplicate topic partitions: "
            + ",".join(map(str, twice))
        )
    doubles = [
        f"{where} contains multiple entries for {','.join(map(str, _repeated(replicas)))}"
        for where, replicas in plan.partitions
        if _repeated(replicas)
    ]
    if doubles:
        raise BadPlan(
            "Partition replica lists may not contain duplicate entries: " + ". ".join(doubles)
        )


def parse_topics(text: str) -> list[str]:
    """The names in `{"version":1,"topics":[{"topic":"orders"}]}`."""
    names = []
    for entry in _entries(text, "topics"):
        if not isinstance(entry, dict) or not isinstance(entry.get("topic"), str):
            raise BadPlan(f'{json.dumps(entry)} names no topic: write {{"topic": "NAME"}}')
        names.append(entry["topic"])
    twice = _repeated(names)
    if twice:
        raise BadPlan(f"List of topics to reassign contains duplicate entries: {twice}")
    return names


def parse_partitions(text: str) -> list[TopicPartition]:
    """The partitions in `{"partitions":[{"topic":"orders","partition":0}]}`."""
    found = []
    for entry in _entries(text, "partitions", required=True):
        try:
            found.append(TopicPartition(str(entry["topic"]), int(entry["partition"])))
        except (KeyError, TypeError, ValueError):
            raise BadPlan(
                f"{json.dumps(entry)} is not a partition: give topic, partition"
            ) from None
    twice = _repeated(found)
    if twice:
        listed = ", ".join(map(str, twice))
        raise BadPlan(f"Replica election data contains duplicate partitions: {listed}")
    return found


def _entries(text: str, field: str, *, required: bool = False) -> list[Any]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise BadPlan(f"The input string is not a valid JSON ({error})") from None
    if not isinstance(data, dict):
        raise BadPlan(f'The JSON is not an object with "{field}" in it')
    if data.get("version", 1) != 1:
        raise BadPlan(f"Not supported version field value {data['version']}")
    if required and field not in data:
        raise BadPlan(f'Replica election data is missing "{field}" field')
    entries = data.get(field, [])
    if not isinstance(entries, list):
        raise BadPlan(f'"{field}" in the JSON is not a list')
    return entries


def _repeated(values: Sequence[Any]) -> list[Any]:
    return sorted(value for value, count in Counter(values).items() if count > 1)


# -- from a wish to a plan ------------------------------------------------------------------------


def spread(
    assignment: Assignment, brokers: Sequence[BrokerView], *, start_index: int, shift: int
) -> Assignment:
    """Place every partition anew on these brokers, as new topics are placed; replicas stay many."""
    from headrace.cluster.placement import assign_replicas

    racks = {broker.id: broker.rack for broker in brokers}
    placed: Assignment = {}
    for topic in dict.fromkeys(each.topic for each in assignment):
        numbers = sorted(each.partition for each in assignment if each.topic == topic)
        factor = len(assignment[TopicPartition(topic, numbers[0])])
        rows = assign_replicas(racks, len(numbers), factor, start_index=start_index, shift=shift)
        placed |= {
            TopicPartition(topic, number): tuple(row)
            for number, row in zip(numbers, rows, strict=True)
        }
    return placed


def without_broker(
    assignment: Assignment, leaving: int, brokers: Sequence[BrokerView]
) -> Assignment:
    """Replace one broker wherever it has a replica, at its place in the list, and move no other.

    The replacement is a broker that lacks the partition: of a rack that lacks it if there is one,
    and of those, who has the fewest replicas, and leads the fewest if the place is the first.
    """
    racks = {broker.id: broker.rack for broker in brokers if broker.id != leaving}
    load = _Load(assignment)
    planned: Assignment = {}
    for where, replicas in sorted(assignment.items()):
        if leaving not in replicas:
            continue
        others = [each for each in replicas if each != leaving]
        chosen = load.lightest(racks, others, leads=replicas[0] == leaving)
        if chosen is None:
            raise BadPlan(
                f"no broker is left to take {where} from broker {leaving}: it has "
                f"{len(replicas)} replicas, and {len(racks)} other brokers are live"
            )
        planned[where] = tuple(chosen if each == leaving else each for each in replicas)
        load.move(replicas, planned[where])
    return planned


def with_replication_factor(
    assignment: Assignment, factor: int, brokers: Sequence[BrokerView]
) -> Assignment:
    """Add replicas at the end of the list, or take them from there; the others stay."""
    if not 1 <= factor <= len(brokers):
        raise BadPlan(
            f"a replication factor of {factor} needs as many live brokers, there are {len(brokers)}"
        )
    racks = {broker.id: broker.rack for broker in brokers}
    load = _Load(assignment)
    planned: Assignment = {}
    for where, replicas in sorted(assignment.items()):
        wanted = list(replicas[:factor])
        while len(wanted) < factor:
            chosen = load.lightest(racks, wanted, leads=False)
            if chosen is None:
                raise BadPlan(f"no broker is left to take another replica of {where}")
            wanted.append(chosen)
        if tuple(wanted) != replicas:
            planned[where] = tuple(wanted)
            load.move(replicas, planned[where])
    return planned


class _Load:
    """How many replicas each broker has and leads, kept while a plan is made."""

    def __init__(self, assignment: Assignment) -> None:
        self._replicas = Counter(each for replicas in assignment.values() for each in replicas)
        self._leads = Counter(replicas[0] for replicas in assignment.values() if replicas)

    def lightest(
        self, racks: Mapping[int, str | None], having: Sequence[int], *, leads: bool
    ) -> int | None:
        """Who should take a replica of a partition that these brokers have."""
        used = {racks[each] for each in having if racks.get(each) is not None}

        def burden(broker: int) -> tuple[bool, int, int, int]:
            return (
                racks[broker] in used,
                self._leads[broker] if leads else 0,
                self._replicas[broker],
                broker,
            )

        return min((each for each in racks if each not in having), key=burden, default=None)

    def move(self, before: Sequence[int], after: Sequence[int]) -> None:
        self._replicas.subtract(before)
        self._replicas.update(after)
        self._leads.subtract(before[:1])
        self._leads.update(after[:1])
