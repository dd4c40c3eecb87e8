"""`kafka-share-groups`: list, describe, delete and move queues, as Kafka 4.3 does it (KIP-932)."""

from __future__ import annotations

import sys
from typing import Final

from headrace.admin import share_groups
from headrace.admin.client import Admin
from headrace.admin.faults import Fault, Refused
from headrace.admin.groups import delete_group
from headrace.cli.kafka_compat import group_tools
from headrace.cli.kafka_compat.administering import CONNECTING, Told, need
from headrace.cli.kafka_compat.columns import AS_IT_IS, column, lines_of, text_of
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.group_report import show_assignment, shown_coordinator
from headrace.cli.kafka_compat.group_resets import named_places, plan, print_plans
from headrace.cli.kafka_compat.java_errors import as_exception, words_of
from headrace.cli.kafka_compat.tool import Tool, Work
from headrace.errors import Error
from headrace.types import TopicPartition

_SCENARIOS: Final = flags("--to-datetime= --to-earliest --to-latest")
STATES: Final = ("Stable", "Dead", "Empty")


def _plan(given: Given) -> Work:
    need(given, "--bootstrap-server")
    action = _checked(given)
    group_tools.filter_of(given, "--state", "state", STATES)
    return group_tools.on_groups(
        given, given.needed("--bootstrap-server"), _WORK[action], timeout_ms=30_000
    )


def _checked(given: Given) -> str:
    """The action, once all flags go together."""
    if given.has("--describe"):
        group_tools.check_describe(given)
    if given.has("--delete"):
        if given.has("--group") == given.has("--all-groups"):
            raise Told("Option [delete] takes either [group] or [all-groups], not both.")
        if given.has("--topic"):
            raise Told("Option [delete] does not take the option: [topic]")
    group_tools.check_delete_offsets(given)
    if given.has("--reset-offsets"):
        group_tools.check_reset(given, _refuse_undecided)
        if not given.has("--group"):
            raise Told("Option [reset-offsets] takes the option: [group]")
        group_tools.check_scenarios(given, _SCENARIOS)
    return group_tools.chosen(given, tuple(_WORK), end=".")


def _refuse_undecided() -> None:
    raise Told("Option [reset-offsets] takes the option: [execute] or [dry-run]")


# -- actions --------------------------------------------------------------------------------------


def _groups(admin: Admin, given: Given) -> list[str]:
    if given.has("--all-groups"):
        return [each.group for each in share_groups.list_share_groups(admin)]
    return list(dict.fromkeys(given.all("--group")))


def _list(admin: Admin, given: Given) -> None:
    groups = share_groups.list_share_groups(
        admin, states=group_tools.filter_of(given, "--state", "state", STATES)
    )
    if not given.has("--state"):
        for each in groups:
            print(each.group)
        return
    states = [each.state or "Unknown" for each in groups]
    names = column("GROUP", [each.group for each in groups])
    print("\n".join(lines_of(names, column("STATE", states, AS_IT_IS))))


def _describe(admin: Admin, given: Given) -> None:
    verbose = given.has("--verbose")
    groups = [
        share_groups.describe_share_group(admin, name) for name in sorted(_groups(admin, given))
    ]
    for group in groups:
        if given.has("--members"):
            if _say_state(group) and group.members:
                print(_members(group, verbose), end="")
        elif given.has("--state"):
            _say_state(group)
            print(_state(group, verbose), end="")
        else:
            print(_offsets(admin, group, verbose), end="")


def _say_state(group: share_groups.ShareGroup) -> bool:
    """Tell what keeps a queue from being read; False for one that does not exist."""
    if group.state == "Dead":
        print(f"\nError: Share group '{group.group}' does not exist.")
        return False
    if group.state == "Empty":
        print(f"\nShare group '{group.group}' has no active members.", file=sys.stderr)
    return True


def _offsets(admin: Admin, group: share_groups.ShareGroup, verbose: bool) -> str:
    offsets = share_groups.read_share_offsets(admin, group.group)
    if not offsets:
        return f"\nShare group '{group.group}' has no offset information.\n"
    found = offsets.values()
    return text_of(
        lines_of(
            column("GROUP", [group.group] * len(found)),
            column("TOPIC", [place.topic for place in offsets]),
            column("PARTITION", [place.partition for place in offsets], 10),
            column("LEADER-EPOCH", [each.leader_epoch for each in found], 13) if verbose else None,
            column("START-OFFSET", [each.start for each in found], 13),
            column("LAG", [each.lag for each in found], AS_IT_IS),
        )
    )


def _members(group: share_groups.ShareGroup, verbose: bool) -> str:
    members = group.members
    # Kafka's tool has nothing at all, not a dash, for a member without partitions.
    assigned = [(each.assignment and show_assignment(each.assignment)) or "" for each in members]
    return text_of(
        lines_of(
            column("GROUP", [group.group] * len(members)),
            column("CONSUMER-ID", [each.id for each in members]),
            column("HOST", [each.host for each in members]),
            column("CLIENT-ID", [each.client_id for each in members]),
            column("#PARTITIONS", [len(each.assignment) for each in members], 12),
            column("MEMBER-EPOCH", [each.epoch for each in members], 13) if verbose else None,
            column("ASSIGNMENT", assigned, AS_IT_IS),
        )
    )


def _state(group: share_groups.ShareGroup, verbose: bool) -> str:
    return text_of(
        lines_of(
            column("GROUP", [group.group]),
            column("COORDINATOR (ID)", [shown_coordinator(group.coordinator)], least=25),
            column("STATE", [group.state], 15),
            column("GROUP-EPOCH", [group.group_epoch], 12) if verbose else None,
            column("ASSIGNMENT-EPOCH", [group.assignment_epoch], 17) if verbose else None,
            column("#MEMBERS", [len(group.members)], AS_IT_IS),
        )
    )


def _delete(admin: Admin, given: Given) -> None:
    listed = {each.group: each.state for each in share_groups.list_share_groups(admin)}
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
    group_tools.tell_deleted("share", outcome)


def _reset(admin: Admin, given: Given) -> None:
    name = given.needed("--group")
    try:
        if share_groups.describe_share_group(admin, name).state not in ("Empty", "Dead"):
            raise Told(f"Share group '{name}' is not empty.")
    except Refused as error:
        if error.error is not Error.GROUP_ID_NOT_FOUND:
            raise
    if given.has("--topic"):
        places = named_places(admin, given.all("--topic"))
    else:
        places = list(share_groups.read_share_offsets(admin, name))
    steps = plan(admin, given, name, places, dict)
    if given.has("--execute"):
        starts = {TopicPartition(*step[:2]): step.new_offset for step in steps}
        for fault in share_groups.move_share_group(admin, name, starts).values():
            raise Refused(fault.error, fault.message)
    print_plans({name: steps} if steps else {})


def _delete_offsets(admin: Admin, given: Given) -> None:
    group, topics = given.needed("--group"), given.all("--topic")
    try:
        outcome = share_groups.forget_share_topics(admin, group, topics)
    except Refused as error:
        fault = Fault(error.error, error.said)
        words = words_of(fault)
        if fault.error not in group_tools.ABOUT_THE_GROUP:
            words = f"Encounter some unknown error: {as_exception(fault)}"
        print(f"\nError: {words}")
        outcome = dict.fromkeys(topics, fault)
    topics = sorted(outcome)
    faults = [outcome[topic] for topic in topics]
    status = ["Successful" if each is None else f"Error: {words_of(each)}" for each in faults]
    table = lines_of(column("TOPIC", topics), column("STATUS", status, AS_IT_IS))
    print(text_of(table), end="")


_WORK: Final = {
    "--list": _list,
    "--describe": _describe,
    "--delete": _delete,
    "--reset-offsets": _reset,
    "--delete-offsets": _delete_offsets,
}


run: Final = Tool(
    "kafka-share-groups",
    {
        **flags(CONNECTING, *_WORK, "--group= --all-groups --topic= --all-topics --members"),
        **flags("--offsets --state=? --verbose --timeout="),
        **_SCENARIOS,
        **flags("--dry-run --execute"),
    },
    "--bootstrap-server localhost:9092 --describe --group jobs",
    _plan,
    failed=group_tools.failed("share"),
)
