"""`headrace group delete`, `delete-offsets` and `remove-members`: what ends a group or a part."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from headrace.admin import groups as coordinated
from headrace.admin.faults import Fault
from headrace.cli.asking import connect, explained, failure_of, raise_all
from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.group.describe import show_parts
from headrace.cli.group.offsets import read_committed
from headrace.cli.group.options import (
    GroupName,
    GroupNames,
    Scope,
    ScopeOption,
    YesFlag,
    parse_scope,
)
from headrace.cli.group.view import require_groups
from headrace.cli.options import MADE, NONE_GIVEN, OutputOption, TargetOptions, confirm
from headrace.cli.output import Output, emit_rows
from headrace.cli.parameters import option
from headrace.types import TopicPartition


def delete(
    groups: GroupNames,
    yes: YesFlag = False,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete groups without members, and all their offsets. Asks for confirmation on a terminal."""
    with connect(target) as admin, explained():
        found, failures = require_groups(admin, groups)
        failures += [_still_busy(each.group, len(each.members)) for each in found if each.members]
        names = [each.group for each in found if not each.members]
        if names:
            confirm(f"Delete {', '.join(names)}?", yes=yes)
        done = []
        for name in names:
            fault = coordinated.delete_group(admin, name)
            if fault is None:
                done.append(name)
            else:
                failures.append(failure_of(*fault, f'group "{name}"'))
    if done:
        rows = [{"group": name, "result": "deleted"} for name in done]
        emit_rows(rows, output, ["group", "result"])
    raise_all(failures)


def _still_busy(name: str, members: int) -> Failure:
    return Failure(
        f'group "{name}" has {members} members',
        f'stop them first, or see "headrace group remove-members {name} --all"',
    )


def delete_offsets(
    group: GroupName,
    topic: ScopeOption = NONE_GIVEN,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete committed offsets of topics that no member of the group is subscribed to."""
    if not topic:
        raise WrongUsage("no topic is named", "give --topic TOPIC or --topic TOPIC:0,1")
    scope = parse_scope(topic)
    with connect(target) as admin, explained(f'group "{group}"'):
        raise_all(require_groups(admin, [group])[1])
        places = _choose(group, scope, read_committed(admin, group))
        outcome = coordinated.delete_offsets(admin, group, places)
    done = [place for place in places if outcome[place] is None]
    if done:
        rows = [place._asdict() | {"result": "deleted"} for place in done]
        emit_rows(rows, output, ["topic", "partition", "result"])
    refused: dict[Fault, list[TopicPartition]] = {}
    for place, fault in outcome.items():
        if fault is not None:
            refused.setdefault(fault, []).append(place)
    raise_all(
        [
            failure_of(*fault, " ".join(show_parts(tuple(places))))
            for fault, places in refused.items()
        ]
    )


def _choose(
    group: str, scope: Scope, committed: Collection[TopicPartition]
) -> list[TopicPartition]:
    """The partitions of the scope, of those that the group has committed to."""
    places: list[TopicPartition] = []
    for name, numbers in scope.items():
        present = [place for place in sorted(committed) if place.topic == name]
        chosen = [place for place in present if numbers is None or place.partition in numbers]
        missing = (numbers or set()) - {place.partition for place in present}
        if missing or not chosen:
            where = f"{name}:{','.join(map(str, sorted(missing)))}" if missing else name
            raise Failure(
                f'group "{group}" has no offset in {where}',
                f'see "headrace group describe {group}"',
            )
        places += chosen
    return places


def remove_members(
    group: GroupName,
    member: Annotated[list[str], option("ID", "A member id; may be repeated.")] = NONE_GIVEN,
    instance: Annotated[
        list[str], option("ID", "A group.instance.id; may be repeated.")
    ] = NONE_GIVEN,
    everyone: Annotated[bool, option("--all", "All members.")] = False,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Remove members from a group, such as static members of a lost host; a live one rejoins."""
    if everyone == bool(member or instance):
        raise WrongUsage("no member is named", "give --member, --instance or --all")
    leaving = [coordinated.Leaving(each, None) for each in member]
    leaving += [coordinated.Leaving("", each) for each in instance]
    with connect(target) as admin, explained(f'group "{group}"'):
        found, failures = require_groups(admin, [group])
        raise_all(failures)
        if everyone:
            leaving = [
                coordinated.Leaving("" if each.instance_id else each.id, each.instance_id)
                for each in found[0].members
            ]
        outcome = (
            coordinated.remove_members(admin, group, leaving, "removed with headrace")
            if leaving
            else {}
        )
    failures = [
        failure_of(*fault, f'member "{who.instance_id or who.member_id}"')
        for who, fault in outcome.items()
        if fault is not None
    ]
    rows = [
        {"member": who.member_id or None, "instance": who.instance_id, "result": "removed"}
        for who, fault in outcome.items()
        if fault is None
    ]
    if rows or not failures:
        emit_rows(rows, output, ["member", "instance", "result"])
    raise_all(failures)
