"""`headrace group delete`, `delete-offsets` and `remove-members`: what ends a group or a part."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from headrace.cli.direct import Keeper, fault_of, open_brokers, raise_for
from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.group.describe import show_parts
from headrace.cli.group.offsets import read_committed
from headrace.cli.group.options import GroupName, GroupNames, ScopeOption, YesFlag, parse_scope
from headrace.cli.group.view import TopicPart, require_groups
from headrace.cli.kafka import TIMEOUT_S, open_admin, raise_all, settle
from headrace.cli.options import MADE, NONE_GIVEN, OutputOption, TargetOptions, confirm
from headrace.cli.output import Output, emit_rows
from headrace.cli.parameters import option
from headrace.cli.target import Target
from headrace.errors import Error


def delete(
    groups: GroupNames,
    yes: YesFlag = False,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete groups without members, and all their offsets. Asks for confirmation on a terminal."""
    admin = open_admin(target)
    found, failures = require_groups(admin, target, groups)
    names = []
    for group in found:
        if group.members:
            failures.append(_still_busy(group.group, len(group.members)))
        else:
            names.append(group.group)
    if names:
        confirm(f"Delete {', '.join(names)}?", yes=yes)
        futures = admin.delete_consumer_groups(names, request_timeout=TIMEOUT_S)
        done, refused = settle(futures, target, "group")
        failures += refused
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
    admin = open_admin(target)
    raise_all(require_groups(admin, target, [group])[1])
    committed = read_committed(admin, target, group)
    parts: list[TopicPart] = []
    for name, numbers in scope.items():
        present = [part for part in sorted(committed) if part.topic == name]
        chosen = [part for part in present if numbers is None or part.partition in numbers]
        missing = (numbers or set()) - {part.partition for part in present}
        if missing or not chosen:
            where = f"{name}:{','.join(map(str, sorted(missing)))}" if missing else name
            raise Failure(
                f'group "{group}" has no offset in {where}',
                f'see "headrace group describe {group}"',
            )
        parts += chosen
    refused = _forget(target, group, parts)
    done = [part for part in parts if part not in refused]
    if done:
        rows = [part._asdict() | {"result": "deleted"} for part in done]
        emit_rows(rows, output, ["topic", "partition", "result"])
    raise_all(
        [
            fault_of(code, " ".join(show_parts(tuple(p for p in refused if refused[p] == code))))
            for code in sorted(set(refused.values()))
        ]
    )


def _forget(target: Target, group: str, parts: Iterable[TopicPart]) -> dict[TopicPart, int]:
    """Delete the offsets; returns the error codes of those that were refused."""
    from headrace.wire.messages.offset_delete import (
        OffsetDeleteRequest,
        OffsetDeleteRequestPartition,
        OffsetDeleteRequestTopic,
    )

    numbers: dict[str, list[int]] = {}
    for part in parts:
        numbers.setdefault(part.topic, []).append(part.partition)
    request = OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=topic,
                partitions=[OffsetDeleteRequestPartition(partition_index=each) for each in these],
            )
            for topic, these in numbers.items()
        ],
    )
    with open_brokers(target) as brokers:
        answer = brokers.ask_coordinator(
            Keeper.GROUP, group, request, lambda response: int(response.error_code)
        )
    raise_for(answer.error_code, f'group "{group}"')
    return {
        TopicPart(topic.name, each.partition_index): each.error_code
        for topic in answer.topics
        for each in topic.partitions
        if each.error_code != Error.NONE
    }


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
    admin = open_admin(target)
    found, failures = require_groups(admin, target, [group])
    raise_all(failures)
    leaving: list[tuple[str, str | None]] = [(each, None) for each in member]
    leaving += [("", each) for each in instance]
    if everyone:
        leaving = [
            (each.member, None) if each.instance is None else ("", each.instance)
            for each in found[0].members
        ]
    rows, failures = _expel(target, group, leaving) if leaving else ([], [])
    if rows or not failures:
        emit_rows(rows, output, ["member", "instance", "result"])
    raise_all(failures)


def _expel(
    target: Target, group: str, leaving: Iterable[tuple[str, str | None]]
) -> tuple[list[dict[str, Any]], list[Failure]]:
    from headrace.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity

    request = LeaveGroupRequest(
        group_id=group,
        members=[
            MemberIdentity(
                member_id=member_id, group_instance_id=instance, reason="removed with headrace"
            )
            for member_id, instance in leaving
        ],
    )
    with open_brokers(target) as brokers:
        answer = brokers.ask_coordinator(
            Keeper.GROUP, group, request, lambda response: int(response.error_code)
        )
    raise_for(answer.error_code, f'group "{group}"')
    rows, failures = [], []
    for each in answer.members:
        who = each.group_instance_id or each.member_id
        if each.error_code != Error.NONE:
            failures.append(fault_of(each.error_code, f'member "{who}"'))
            continue
        rows.append(
            {
                "member": each.member_id or None,
                "instance": each.group_instance_id,
                "result": "removed",
            }
        )
    return rows, failures
