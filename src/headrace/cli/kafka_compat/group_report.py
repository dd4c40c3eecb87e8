"""What `kafka-consumer-groups --describe` prints: offsets and lag, members, state. Pure text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from headrace.admin.groups import GroupView
from headrace.cli.kafka_compat.columns import AS_IT_IS, column, lines_of, text_of
from headrace.client.group_offsets import Committed
from headrace.types import TopicPartition


class _Line(NamedTuple):
    """One partition, and who reads it."""

    place: TopicPartition
    committed: Committed | None
    end: int | None
    owner: tuple[str, str, str]

    @property
    def lag(self) -> int | None:
        if self.committed is None or self.end is None:
            return None
        return self.end - self.committed.offset


def places_of(group: GroupView, committed: Iterable[TopicPartition]) -> set[TopicPartition]:
    """Every partition that has a line."""
    return {place for member in group.members for place in member.assignment} | set(committed)


def offsets_table(
    group: GroupView,
    committed: Mapping[TopicPartition, Committed],
    ends: Mapping[TopicPartition, int],
    *,
    verbose: bool,
) -> str:
    """Those with a reader first, whoever has most of them; nothing if there is nothing to tell."""
    lines: list[_Line] = []
    readers = [member for member in group.members if member.assignment]
    for member in sorted(readers, key=lambda each: -len(each.assignment)):
        owner = (member.id, member.host, member.client_id)
        lines += [
            _Line(place, committed.get(place), ends.get(place), owner)
            for place in sorted(member.assignment)
        ]
    read = {line.place for line in lines}
    lines += [
        _Line(place, committed[place], ends.get(place), ("-", "-", "-"))
        for place in sorted(committed)
        if place not in read
    ]
    if not lines:
        return ""
    members, hosts, clients = zip(*(line.owner for line in lines), strict=True)
    found = [line.committed for line in lines]
    return text_of(
        lines_of(
            column("GROUP", [group.group] * len(lines)),
            column("TOPIC", [line.place.topic for line in lines]),
            column("PARTITION", [line.place.partition for line in lines], 10),
            column("LEADER-EPOCH", map(_epoch, found), 15) if verbose else None,
            column("CURRENT-OFFSET", [None if each is None else each.offset for each in found], 15),
            column("LOG-END-OFFSET", [line.end for line in lines], 15),
            column("LAG", [line.lag for line in lines], 15),
            column("CONSUMER-ID", members),
            column("HOST", hosts),
            column("CLIENT-ID", clients, AS_IT_IS),
        )
    )


def _epoch(committed: Committed | None) -> int | None:
    return None if committed is None or committed.leader_epoch < 0 else committed.leader_epoch


def members_table(group: GroupView, *, verbose: bool) -> str:
    """A head even where there is no member, as Kafka's tool has it."""
    members = group.members
    is_static = any(member.instance_id for member in members)
    is_mixed = {True, False} <= {member.is_upgraded for member in members}
    columns = [
        column("GROUP", [group.group] * len(members)),
        column("CONSUMER-ID", [member.id for member in members]),
        column("GROUP-INSTANCE-ID", [member.instance_id or "" for member in members], least=17)
        if is_static
        else None,
        column("HOST", [member.host for member in members]),
        column("CLIENT-ID", [member.client_id for member in members]),
        column("#PARTITIONS", [len(member.assignment) for member in members], 15),
    ]
    if not verbose:
        return text_of(f"{line} " for line in lines_of(*columns))
    assigned = [show_assignment(member.assignment) for member in members]
    wanted = [show_assignment(member.target_assignment or ()) for member in members]
    upgraded = [_java(member.is_upgraded) for member in members]
    columns += [
        column("CURRENT-EPOCH", [member.epoch for member in members], 15),
        column("CURRENT-ASSIGNMENT", assigned, least=20),
        column("TARGET-EPOCH", [group.assignment_epoch] * len(members), 15),
        column("TARGET-ASSIGNMENT", wanted, least=20),
        column("UPGRADED", upgraded, AS_IT_IS) if is_mixed else None,
    ]
    return text_of(lines_of(*columns))


def _java(value: bool | None) -> str | None:
    return None if value is None else str(value).lower()


def show_assignment(places: Sequence[TopicPartition]) -> str:
    """`bills:2;orders:0,1`; a dash for nothing."""
    parts = [
        f"{topic}:{','.join(str(place.partition) for place in these)}"
        for topic, these in groupby(sorted(places), lambda place: place.topic)
    ]
    return ";".join(sorted(parts)) or "-"


def state_table(group: GroupView, *, verbose: bool) -> str:
    return text_of(
        lines_of(
            column("GROUP", [group.group]),
            column("COORDINATOR (ID)", [shown_coordinator(group.coordinator)], least=25),
            column("ASSIGNMENT-STRATEGY", [group.assignor or None], 20),
            column("STATE", [group.state], 20),
            column("GROUP-EPOCH", [group.group_epoch], 15) if verbose else None,
            column("TARGET-ASSIGNMENT-EPOCH", [group.assignment_epoch], 25) if verbose else None,
            column("#MEMBERS", [len(group.members)], AS_IT_IS),
        )
    )


def shown_coordinator(coordinator: tuple[int, str, int]) -> str:
    broker, host, port = coordinator
    return f"{host}:{port}  ({broker})"
