"""`kafka-share-groups`: list, describe, delete and move queues, as Kafka 4.3 does it (KIP-932)."""

from __future__ import annotations

import sys
from typing import Final

from headrace.cli.administration.client import Admin, Fault, Refused
from headrace.cli.administration.groups import delete_group
from headrace.cli.administration.share_groups import (
    ShareGroup,
    describe_share_group,
    forget_share_topics,
    list_share_groups,
    move_share_group,
    read_share_offsets,
)
from headrace.cli.kafka_compat.administering import (
    CONNECTING,
    Told,
    as_whole_number,
    bare,
    complain,
    need,
    open_admin,
    read_flags,
    refuse_together,
)
from headrace.cli.kafka_compat.columns import known, row, widest
from headrace.cli.kafka_compat.consumer_groups import filter_of, tell_deleted
from headrace.cli.kafka_compat.flags import Given, Takes
from headrace.cli.kafka_compat.group_report import show_assignment
from headrace.cli.kafka_compat.group_resets import check_scenarios, named_places, plan, print_plans
from headrace.cli.kafka_compat.java_errors import as_exception, said, told, words_of
from headrace.errors import Error, HeadraceError
from headrace.types import TopicPartition

_ACTIONS: Final = ("--list", "--describe", "--delete", "--reset-offsets", "--delete-offsets")
_VIEWS: Final = ("--members", "--offsets", "--state")
_SCENARIOS: Final = {
    "--to-datetime": Takes.VALUE,
    "--to-earliest": Takes.NOTHING,
    "--to-latest": Takes.NOTHING,
}
FLAGS: Final = {
    **CONNECTING,
    **dict.fromkeys(_ACTIONS, Takes.NOTHING),
    "--group": Takes.VALUE,
    "--all-groups": Takes.NOTHING,
    "--topic": Takes.VALUE,
    "--all-topics": Takes.NOTHING,
    "--members": Takes.NOTHING,
    "--offsets": Takes.NOTHING,
    "--state": Takes.MAYBE,
    "--verbose": Takes.NOTHING,
    "--timeout": Takes.VALUE,
    **_SCENARIOS,
    "--dry-run": Takes.NOTHING,
    "--execute": Takes.NOTHING,
}
_EXAMPLE: Final = "kafka-share-groups --bootstrap-server localhost:9092 --describe --group jobs"
STATES: Final = ("Stable", "Dead", "Empty")
_TIMEOUT_MS: Final = 30_000
_COORDINATOR: Final = 25
_ABOUT_THE_GROUP: Final = (
    Error.INVALID_GROUP_ID,
    Error.GROUP_ID_NOT_FOUND,
    Error.GROUP_AUTHORIZATION_FAILED,
    Error.NON_EMPTY_GROUP,
)


def run(words: list[str]) -> int:
    try:
        given = read_flags("kafka-share-groups", words, FLAGS, _EXAMPLE)
        if given is None:
            return 0
        need(given, "--bootstrap-server")
        action = _checked(given)
        filter_of(given, "--state", "state", STATES)
        timeout_ms = as_whole_number(given, "--timeout") or _TIMEOUT_MS
        servers, config = given.needed("--bootstrap-server"), given.text("--command-config")
        admin = open_admin(servers, config, timeout_ms)
    except HeadraceError as error:
        return complain(bare(error))
    with admin:
        try:
            _WORK[action](admin, given)
        except Told as error:
            return complain(str(error))
        except HeadraceError as error:
            why = said(error) if action == "--reset-offsets" else told(error)
            print(f"\nError: Executing share group command failed due to {why}")
    return 0


def _checked(given: Given) -> str:
    """The action, once all flags go together."""
    if given.has("--describe"):
        if not (given.has("--group") or given.has("--all-groups")):
            raise Told("Option [describe] takes one of these options: [group], [all-groups]")
        if sum(map(given.has, _VIEWS)) > 1:
            listed = ", ".join(f"[{flag[2:]}]" for flag in _VIEWS)
            raise Told(f"Option [describe] takes at most one of these options: {listed}")
        if given.text("--state"):
            raise Told("Option [describe] does not take a value for [state]")
    if given.has("--delete"):
        if given.has("--group") == given.has("--all-groups"):
            raise Told("Option [delete] takes either [group] or [all-groups], not both.")
        if given.has("--topic"):
            raise Told("Option [delete] does not take the option: [topic]")
    if given.has("--delete-offsets") and not (given.has("--group") and given.has("--topic")):
        raise Told("Option [delete-offsets] takes the following options: [topic], [group]")
    if given.has("--reset-offsets"):
        _check_reset(given)
    refuse_together(given, "--group", "--all-groups", "--list")
    refuse_together(given, "--topic", "--list", "--describe")
    actions = [flag for flag in _ACTIONS if given.has(flag)]
    if len(actions) != 1:
        raise Told(f"Command must include exactly one action: {', '.join(_ACTIONS)}.")
    return actions[0]


def _check_reset(given: Given) -> None:
    if given.has("--dry-run") and given.has("--execute"):
        raise Told("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not given.has("--dry-run") and not given.has("--execute"):
        raise Told("Option [reset-offsets] takes the option: [execute] or [dry-run]")
    if not given.has("--group"):
        raise Told("Option [reset-offsets] takes the option: [group]")
    check_scenarios(given, _SCENARIOS)


# -- actions --------------------------------------------------------------------------------------


def _groups(admin: Admin, given: Given) -> list[str]:
    if given.has("--all-groups"):
        return [each.group for each in list_share_groups(admin)]
    return list(dict.fromkeys(given.all("--group")))


def _list(admin: Admin, given: Given) -> None:
    states = filter_of(given, "--state", "state", STATES)
    groups = list_share_groups(admin, states=states)
    if not given.has("--state"):
        for each in groups:
            print(each.group)
        return
    widths = [widest(each.group for each in groups), 0]
    print(row(("GROUP", "STATE"), widths))
    for each in groups:
        print(row((each.group, each.state or "Unknown"), widths))


def _describe(admin: Admin, given: Given) -> None:
    verbose = given.has("--verbose")
    groups = [describe_share_group(admin, name) for name in sorted(_groups(admin, given))]
    for group in groups:
        if given.has("--members"):
            if _say_state(group) and group.members:
                print(_members(group, verbose), end="")
        elif given.has("--state"):
            _say_state(group)
            print(_state(group, verbose), end="")
        else:
            print(_offsets(admin, group, verbose), end="")


def _say_state(group: ShareGroup) -> bool:
    """Tell what keeps a queue from being read; False for one that does not exist."""
    if group.state == "Dead":
        print(f"\nError: Share group '{group.group}' does not exist.")
        return False
    if group.state == "Empty":
        print(f"\nShare group '{group.group}' has no active members.", file=sys.stderr)
    return True


def _offsets(admin: Admin, group: ShareGroup, verbose: bool) -> str:
    offsets = read_share_offsets(admin, group.group)
    if not offsets:
        return f"\nShare group '{group.group}' has no offset information.\n"
    head = ["GROUP", "TOPIC", "PARTITION", "START-OFFSET", "LAG"]
    widths = [widest([group.group]), widest(place.topic for place in offsets), 10, 13, 0]
    rows: list[list[object]] = [[*head]]
    rows += [
        [group.group, *place, known(each.start), known(each.lag)] for place, each in offsets.items()
    ]
    if verbose:
        widths.insert(3, 13)
        epochs = [known(each.leader_epoch) for each in offsets.values()]
        for cells, epoch in zip(rows, ["LEADER-EPOCH", *epochs], strict=True):
            cells.insert(3, epoch)
    return "".join(f"\n{row(cells, widths)}" for cells in rows) + "\n"


def _members(group: ShareGroup, verbose: bool) -> str:
    head = ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]
    widths = [
        widest([group.group]),
        widest(member.id for member in group.members),
        widest(member.host for member in group.members),
        widest(member.client_id for member in group.members),
        12,
    ]
    if verbose:
        head.append("MEMBER-EPOCH")
        widths.append(13)
    lines = [row([*head, "ASSIGNMENT"], [*widths, 0])]
    for member in group.members:
        cells: list[object] = [group.group, member.id, member.host, member.client_id]
        cells.append(len(member.assignment))
        if verbose:
            cells.append(member.epoch)
        # Kafka's tool has nothing at all, not a dash, for a member without partitions.
        cells.append(show_assignment(member.assignment) if member.assignment else "")
        lines.append(row(cells, [*widths, 0]))
    return "".join(f"\n{line}" for line in lines) + "\n"


def _state(group: ShareGroup, verbose: bool) -> str:
    broker, host, port = group.coordinator
    coordinator = f"{host}:{port}  ({broker})"
    head = ["GROUP", "COORDINATOR (ID)", "STATE"]
    cells = [group.group, coordinator, group.state]
    widths = [widest([group.group]), widest([coordinator], _COORDINATOR), 15]
    if verbose:
        head += ["GROUP-EPOCH", "ASSIGNMENT-EPOCH"]
        cells += [str(group.group_epoch), str(group.assignment_epoch)]
        widths += [12, 17]
    lines = [[*head, "#MEMBERS"], [*cells, str(len(group.members))]]
    return "".join(f"\n{row(line, [*widths, 0])}" for line in lines) + "\n"


def _delete(admin: Admin, given: Given) -> None:
    listed = {each.group: each.state for each in list_share_groups(admin)}
    outcome: dict[str, Fault | str | None] = {}
    for name in listed if given.has("--all-groups") else dict.fromkeys(given.all("--group")):
        if name not in listed:
            outcome[name] = (
                f"java.lang.IllegalArgumentException: Group '{name}' is not a share group."
            )
        elif listed[name] != "Empty":
            outcome[name] = Fault(Error.NON_EMPTY_GROUP, f"Share group '{name}' is not EMPTY.")
        else:
            outcome[name] = delete_group(admin, name)
    tell_deleted("share", outcome)


def _reset(admin: Admin, given: Given) -> None:
    name = given.needed("--group")
    try:
        if describe_share_group(admin, name).state not in ("Empty", "Dead"):
            raise Told(f"Share group '{name}' is not empty.")
    except Refused as error:
        if error.error is not Error.GROUP_ID_NOT_FOUND:
            raise
    if given.has("--topic"):
        places = named_places(admin, given.all("--topic"))
    else:
        places = list(read_share_offsets(admin, name))
    steps = plan(admin, given, name, places, dict)
    if given.has("--execute"):
        starts = {TopicPartition(*step[:2]): step.new_offset for step in steps}
        for fault in move_share_group(admin, name, starts).values():
            raise Refused(fault.error, fault.message)
    print_plans({name: steps} if steps else {})


def _delete_offsets(admin: Admin, given: Given) -> None:
    group, topics = given.needed("--group"), given.all("--topic")
    try:
        outcome = forget_share_topics(admin, group, topics)
    except Refused as error:
        fault = Fault(error.error, error.said)
        words = words_of(fault)
        if fault.error not in _ABOUT_THE_GROUP:
            words = f"Encounter some unknown error: {as_exception(fault)}"
        print(f"\nError: {words}")
        outcome = dict.fromkeys(topics, fault)
    width = widest(outcome)
    print("\n" + row(("TOPIC", "STATUS"), (width, 0)), end="")
    for topic in sorted(outcome):
        each = outcome[topic]
        status = "Successful" if each is None else f"Error: {words_of(each)}"
        print("\n" + row((topic, status), (width, 0)), end="")
    print()


_WORK: Final = {
    "--list": _list,
    "--describe": _describe,
    "--delete": _delete,
    "--reset-offsets": _reset,
    "--delete-offsets": _delete_offsets,
}
