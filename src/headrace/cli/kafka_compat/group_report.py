"""What `kafka-consumer-groups --describe` prints: offsets and lag, members, state. Pure text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from headrace.cli.administration.groups import GroupView, MemberView
from headrace.cli.kafka_compat.columns import known, row, widest
from headrace.client.group_offsets import Committed
from headrace.types import TopicPartition

_COORDINATOR: Final = 25
_INSTANCE: Final = 17
_ASSIGNMENT: Final = 20


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
    head = ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"]
    head += ["CONSUMER-ID", "HOST", "CLIENT-ID"]
    widths = [widest([group.group]), widest(line.place.topic for line in lines), 10, 15, 15, 15]
    widths += [widest(line.owner[0] for line in lines), widest(line.owner[1] for line in lines), 0]
    rows: list[list[object]] = [[*head]]
    for line in lines:
        offset = None if line.committed is None else line.committed.offset
        cells = [*line.place, known(offset), known(line.end), known(line.lag), *line.owner]
        rows.append([group.group, *cells])
    if verbose:
        widths.insert(3, 15)
        rows[0].insert(3, "LEADER-EPOCH")
        for cells, line in zip(rows[1:], lines, strict=True):
            cells.insert(3, known(_epoch(line.committed)))
    return _text(row(cells, widths) for cells in rows)


def _epoch(committed: Committed | None) -> int | None:
    return None if committed is None or committed.leader_epoch < 0 else committed.leader_epoch


def members_table(group: GroupView, *, verbose: bool) -> str:
    """A head even where there is no member, as Kafka's tool has it."""
    members = group.members
    is_static = any(member.instance_id for member in members)
    is_mixed = {True, False} <= {member.is_upgraded for member in members}
    columns = ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]
    widths = [
        widest([group.group]),
        widest(member.id for member in members),
        widest(member.host for member in members),
        widest(member.client_id for member in members),
        15,
    ]
    cells: list[list[object]] = [
        [group.group, member.id, member.host, member.client_id, len(member.assignment)]
        for member in members
    ]
    if is_static:
        columns.insert(2, "GROUP-INSTANCE-ID")
        names = [member.instance_id or "" for member in members]
        widths.insert(2, widest(names, _INSTANCE))
        for line, name in zip(cells, names, strict=True):
            line.insert(2, name)
    rows: list[list[object]] = [[*columns], *cells]
    if not verbose:
        return _text(row(line, widths) + " " for line in rows)
    more = [_details(group, member, is_mixed) for member in members]
    heads = ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
    widths += [15, widest((line[1] for line in more), _ASSIGNMENT), 15]
    widths.append(widest((line[3] for line in more), _ASSIGNMENT))
    if is_mixed:
        heads.append("UPGRADED")
        widths.append(0)
    rows = [[*columns, *heads], *([*one, *two] for one, two in zip(cells, more, strict=True))]
    return _text(row(line, widths) for line in rows)


def _details(group: GroupView, member: MemberView, is_mixed: bool) -> list[str]:
    cells = [
        known(member.epoch),
        show_assignment(member.assignment),
        known(group.assignment_epoch),
        show_assignment(member.target_assignment or ()),
    ]
    if is_mixed:
        cells.append("-" if member.is_upgraded is None else str(member.is_upgraded).lower())
    return cells


def show_assignment(places: Sequence[TopicPartition]) -> str:
    """`bills:2;orders:0,1`; a dash for nothing."""
    parts = [
        f"{topic}:{','.join(str(place.partition) for place in these)}"
        for topic, these in groupby(sorted(places), lambda place: place.topic)
    ]
    return ";".join(sorted(parts)) or "-"


def state_table(group: GroupView, *, verbose: bool) -> str:
    broker, host, port = group.coordinator
    coordinator = f"{host}:{port}  ({broker})"
    widths = [widest([group.group]), widest([coordinator], _COORDINATOR), 20, 20]
    head = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE"]
    cells = [group.group, coordinator, group.assignor or "-", group.state]
    if verbose:
        head += ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"]
        cells += [known(group.group_epoch), known(group.assignment_epoch)]
        widths += [15, 25]
    lines = [[*head, "#MEMBERS"], [*cells, str(len(group.members))]]
    return _text(row(line, [*widths, 0]) for line in lines)


def _text(lines: Iterable[str]) -> str:
    """An empty line, then these."""
    return "".join(f"\n{line}" for line in lines) + "\n"
