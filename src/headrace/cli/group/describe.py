"""`headrace group describe` and `headrace group lag`: who reads what, and how far behind."""

from __future__ import annotations

import sys
from itertools import groupby
from typing import Annotated, Any, Final

from headrace.admin.groups import GroupView, MemberView, list_consumer_groups
from headrace.cli.asking import connect, explained, raise_all
from headrace.cli.group.offsets import Standing, read_standings
from headrace.cli.group.options import GroupNames
from headrace.cli.group.view import require_groups
from headrace.cli.options import MADE, OutputOption, TargetOptions
from headrace.cli.output import Output, emit, emit_rows, table
from headrace.cli.parameters import argument, option
from headrace.cli.progress import Progress
from headrace.types import TopicPartition

OPTIONAL_GROUPS = Annotated[list[str] | None, argument("[GROUP…]", "Default: all.")]
_OFFSET_COLUMNS: Final = (
    "topic", "partition", "current_offset", "log_end_offset", "lag", "member", "host", "client_id"
)  # fmt: skip
_MEMBER_COLUMNS: Final = (
    "member", "instance", "host", "client_id", "epoch", "partitions", "assignment"
)  # fmt: skip


def describe(
    groups: GroupNames,
    members: Annotated[bool, option("--members", "Show the members.")] = False,
    offsets: Annotated[bool, option("--offsets", "Show offsets and lag (default).")] = False,
    state: Annotated[bool, option("--state", "Show only the state of the group.")] = False,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show a group's state, offsets and lag per partition, and its members."""
    with connect(target) as admin, explained():
        found, failures = require_groups(admin, groups)
        described = []
        for group in found:
            view = _summary(group)
            if offsets or not (members or state):
                view["offsets"] = [each._asdict() for each in read_standings(admin, group)]
            if members:
                by_id = sorted(group.members, key=lambda each: each.id)
                view["members"] = [_member(member) for member in by_id]
            described.append(view)
            if not group.members:
                print(f'headrace: group "{group.group}" has no active members', file=sys.stderr)
    if described:
        emit(described, output, lambda: "\n".join(map(_as_text, described)))
    raise_all(failures)


def _summary(group: GroupView) -> dict[str, Any]:
    broker, host, port = group.coordinator
    return {
        "group": group.group,
        "type": group.type.lower(),
        "state": group.state,
        "assignor": group.assignor or None,
        "coordinator": broker,
        "coordinator_address": f"{host}:{port}",
        "group_epoch": group.group_epoch,
        "assignment_epoch": group.assignment_epoch,
        "member_count": len(group.members),
    }


def _member(member: MemberView) -> dict[str, Any]:
    return {
        "member": member.id,
        "instance": member.instance_id,
        "host": member.host.lstrip("/"),
        "client_id": member.client_id,
        "epoch": member.epoch,
        "partitions": len(member.assignment),
        "assignment": show_parts(member.assignment),
        "target_assignment": (
            None if member.target_assignment is None else show_parts(member.target_assignment)
        ),
    }


def show_parts(parts: tuple[TopicPartition, ...]) -> list[str]:
    """`["orders:0,1", "bills:2"]`, as `--topic` takes them."""
    return [
        f"{topic}:{','.join(str(part.partition) for part in these)}"
        for topic, these in groupby(sorted(parts), lambda part: part.topic)
    ]


def _as_text(view: dict[str, Any]) -> str:
    facts = [view["state"], f"{view['type']} protocol"]
    if view["assignor"]:
        facts.append(f"assignor {view['assignor']}")
    if view["group_epoch"] is not None:
        facts.append(f"group epoch {view['group_epoch']}")
        facts.append(f"assignment epoch {view['assignment_epoch']}")
    facts.append(f"{view['member_count']} members")
    facts.append(f"coordinator {view['coordinator']} ({view['coordinator_address']})")
    text = f"{view['group']}: {', '.join(facts)}\n"
    if "offsets" in view:
        text += table(view["offsets"], _OFFSET_COLUMNS)
    if "members" in view:
        rows = [row | {"assignment": " ".join(row["assignment"])} for row in view["members"]]
        text += table(rows, _MEMBER_COLUMNS)
    return text


def lag(
    groups: OPTIONAL_GROUPS = None,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show how many records each group has yet to read, by topic."""
    rows: list[dict[str, Any]] = []
    with connect(target) as admin, explained():
        names = groups or [listed.group for listed in list_consumer_groups(admin)]
        found, failures = require_groups(admin, names)
        with Progress("asking for offsets", len(found), watched=sys.stderr.isatty()) as progress:
            for done, group in enumerate(found):
                progress.update(done)
                rows += sum_lag(group.group, read_standings(admin, group))
    if rows or not failures:
        emit_rows(rows, output, ["group", "topic", "partitions", "uncommitted", "lag", "max_lag"])
    raise_all(failures)


def sum_lag(group: str, standings: list[Standing]) -> list[dict[str, Any]]:
    """One row per topic. Where nothing is committed there is no lag to count, only a partition."""
    rows = []
    for topic, these in groupby(standings, lambda each: each.topic):
        lags = [each.lag for each in these]
        known = [each for each in lags if each is not None]
        rows.append(
            {
                "group": group,
                "topic": topic,
                "partitions": len(lags),
                "uncommitted": len(lags) - len(known),
                "lag": sum(known),
                "max_lag": max(known, default=0),
            }
        )
    return rows
