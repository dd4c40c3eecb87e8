"""`kafka-consumer-groups`: list, describe, delete, reset and forget, as Kafka 4.3 does it.

Of the past it still takes `--zookeeper`, `--broker-list` and `--new-consumer`.
"""

from __future__ import annotations

import sys
from typing import Final

from headrace.admin.client import Admin
from headrace.admin.faults import Fault, Refused
from headrace.admin.groups import (
    CLASSIC,
    CONSUMER,
    DEAD,
    GroupView,
    delete_group,
    delete_offsets,
    describe_group,
    find_group,
    list_consumer_groups,
)
from headrace.admin.records import led_offsets
from headrace.cli.kafka_compat import group_resets, group_tools
from headrace.cli.kafka_compat.administering import CONNECTING, Told, complain
from headrace.cli.kafka_compat.columns import column, lines_of, text_of
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.group_report import (
    members_table,
    offsets_table,
    places_of,
    state_table,
)
from headrace.cli.kafka_compat.java_errors import as_exception, words_of
from headrace.cli.kafka_compat.regexes import regex_fault
from headrace.cli.kafka_compat.superseded import OF_THE_PAST, servers_of
from headrace.cli.kafka_compat.tool import Tool, Work
from headrace.cli.offset_plans import Step
from headrace.client.group_offsets import commit_offsets, committed_positions
from headrace.client.offsets import LATEST
from headrace.types import TopicPartition

STATES: Final = (
    "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning",
    "Reconciling",
)  # fmt: skip
_REBALANCING: Final = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
_DRY_BY_DEFAULT: Final = (
    "WARN: No action will be performed as the --execute option is missing. In version 5.0, this "
    "command will require either --dry-run or --execute to be specified. You should add the "
    "--dry-run option explicitly if you are scripting this command and want to keep the current "
    "default behavior without prompting."
)


def _plan(given: Given) -> Work:
    if regex := given.text("--validate-regex"):
        _refuse_others(given)
        return lambda: _validate_regex(regex)
    servers = servers_of(given)
    action = _checked(given)
    _check_filters(given)
    return group_tools.on_groups(given, servers, _WORK[action], timeout_ms=5_000)


# -- the command line -----------------------------------------------------------------------------


def _checked(given: Given) -> str:
    """The action, once all flags go together."""
    if given.has("--describe"):
        group_tools.check_describe(given)
    else:
        for flag in ("--members", "--offsets", "--verbose"):
            if given.has(flag):
                raise Told(_unavailable(flag))
    if given.has("--delete"):
        group_tools.need_scope(given, "--delete")
        if given.has("--topic"):
            raise Told(
                "The consumer does not support topic-specific offset deletion from a consumer "
                "group."
            )
    group_tools.check_delete_offsets(given)
    if given.has("--reset-offsets"):
        group_tools.check_reset(given, lambda: complain(_DRY_BY_DEFAULT))
        group_tools.need_scope(given, "--reset-offsets")
        group_tools.check_scenarios(given, group_resets.RESET_FLAGS)
    return group_tools.chosen(given, (*_WORK, "--validate-regex"))


def _unavailable(flag: str) -> str:
    return f"Option(s) [{flag[2:]}] are unavailable given other options on the command line"


def _check_filters(given: Given) -> None:
    if given.has("--type") and not given.has("--list"):
        raise Told(_unavailable("--type"))
    if given.has("--state") and not (given.has("--list") or given.has("--describe")):
        raise Told(_unavailable("--state"))
    group_tools.filter_of(given, "--state", "state", STATES)
    group_tools.filter_of(given, "--type", "types", (CLASSIC, CONSUMER))


def _refuse_others(given: Given) -> None:
    if any(map(given.has, _WORK)):
        listed = ", ".join((*_WORK, "--validate-regex"))
        raise Told(f"Command must include exactly one action: {listed}")


def _validate_regex(regex: str) -> None:
    fault = regex_fault(regex)
    print(f"The regular expression `{regex}` is " + (f"invalid: {fault}." if fault else "valid."))


# -- actions --------------------------------------------------------------------------------------


def _groups(admin: Admin, given: Given) -> list[str]:
    if given.has("--all-groups"):
        return [each.group for each in list_consumer_groups(admin)]
    return list(dict.fromkeys(given.all("--group")))


def _list(admin: Admin, given: Given) -> None:
    states = group_tools.filter_of(given, "--state", "state", STATES)
    types = group_tools.filter_of(given, "--type", "types", (CLASSIC, CONSUMER))
    groups = list_consumer_groups(admin, states=states, types=types)
    if not (given.has("--state") or given.has("--type")):
        for each in groups:
            print(each.group)
        return
    names = column("GROUP", [each.group for each in groups])
    kinds = [each.type or "Unknown" for each in groups]
    now = [each.state or "Unknown" for each in groups]
    table = lines_of(
        names._replace(width=names.width + 10),
        column("TYPE", kinds, 20) if given.has("--type") else None,
        column("STATE", now, 20) if given.has("--state") else None,
    )
    print("\n".join(table))


def _describe(admin: Admin, given: Given) -> None:
    verbose = given.has("--verbose")
    for name in sorted(_groups(admin, given)):
        group = describe_group(admin, name)
        if given.has("--members"):
            _say_state(group)
            print(members_table(group, verbose=verbose), end="")
        elif given.has("--state"):
            if _say_state(group):
                print(state_table(group, verbose=verbose), end="")
        else:
            committed = committed_positions(admin.cluster, name)
            ends = led_offsets(admin, places_of(group, committed), LATEST)
            table = offsets_table(group, committed, ends, verbose=verbose)
            if _say_state(group):
                print(table, end="")


def _say_state(group: GroupView) -> bool:
    """Tell what keeps a group from reading; False for one that does not exist."""
    if group.state == DEAD:
        print(f"\nError: Consumer group '{group.group}' does not exist.")
        return False
    sys.stdout.flush()
    if group.state == "Empty":
        print(f"\nConsumer group '{group.group}' has no active members.", file=sys.stderr)
    elif group.state in _REBALANCING:
        print(f"\nWarning: Consumer group '{group.group}' is rebalancing.", file=sys.stderr)
    return True


def _delete(admin: Admin, given: Given) -> None:
    group_tools.tell_deleted(
        "consumer", {name: delete_group(admin, name) for name in _groups(admin, given)}
    )


def _reset(admin: Admin, given: Given) -> None:
    groups = _groups(admin, given)
    plans: dict[str, list[Step]] = {}
    for name in groups:
        found = find_group(admin, name)
        state = DEAD if found is None else found.state
        if state in ("Empty", DEAD):
            plans[name] = _reset_one(admin, given, name)
        else:
            plans[name] = []
            print(
                f"\nError: Assignments can only be reset if the group '{name}' is inactive, but "
                f"the current state is {state}."
            )
    if given.has("--export"):
        group_resets.print_csv(plans, with_group=len(given.all("--group")) != 1)
    else:
        group_resets.print_plans(plans)


def _reset_one(admin: Admin, given: Given, name: str) -> list[Step]:
    def current() -> dict[TopicPartition, int]:
        found = committed_positions(admin.cluster, name)
        return {place: each.offset for place, each in found.items()}

    if given.has("--all-topics"):
        places = list(current())
    elif given.has("--topic"):
        places = group_resets.named_places(admin, given.all("--topic"))
    elif given.has("--from-file"):
        places = []
    else:
        raise Told("One of the reset scopes should be defined: --all-topics, --topic.")
    steps = group_resets.plan(admin, given, name, places, current)
    if given.has("--execute"):
        offsets = {TopicPartition(*step[:2]): (step.new_offset, "") for step in steps}
        commit_offsets(admin.cluster, name, offsets)
    return steps


def _delete_offsets(admin: Admin, given: Given) -> None:
    group = given.needed("--group")
    outcome: dict[TopicPartition, Fault | None] = {}
    places: list[TopicPartition] = []
    for text in given.all("--topic"):
        try:
            places += (
                group_resets.parse_place(text)
                if ":" in text
                else group_resets.named_places(admin, [text])
            )
        except Refused as error:
            outcome[TopicPartition(text, -1)] = Fault(error.error, error.said)
    try:
        answered = delete_offsets(admin, group, places)
    except Refused as error:
        answered = dict.fromkeys(places, Fault(error.error, error.said))
    outcome |= answered
    refused = next((each for each in answered.values() if each is not None), None)
    if refused is None:
        print(f"Request succeeded for deleting offsets from group {group}.")
    elif refused.error in group_tools.ABOUT_THE_GROUP:
        print(f"\nError: {words_of(refused)}")
    else:
        print("\nError: Encountered some partition-level error, see the follow-up details.")
    places = sorted(outcome, key=lambda each: f"{each.topic}{each.partition}")
    faults = [outcome[place] for place in places]
    numbers = [None if place.partition < 0 else place.partition for place in places]
    status = ["Successful" if each is None else f"Error: {as_exception(each)}" for each in faults]
    table = lines_of(
        column("TOPIC", [place.topic for place in places]),
        column("PARTITION", numbers, 10),
        column("STATUS", status, 15),
    )
    print(text_of(table), end="")


_WORK: Final = {
    "--list": _list,
    "--describe": _describe,
    "--delete": _delete,
    "--reset-offsets": _reset,
    "--delete-offsets": _delete_offsets,
}


run: Final = Tool(
    "kafka-consumer-groups",
    {
        **flags(CONNECTING, OF_THE_PAST, *_WORK, "--validate-regex= --group= --all-groups"),
        **flags(
            "--topic= --all-topics --members --offsets --state=? --type=? --verbose --timeout="
        ),
        **group_resets.RESET_FLAGS,
        **flags("--dry-run --execute --export"),
    },
    "--bootstrap-server localhost:9092 --describe --group g",
    _plan,
    failed=group_tools.failed("consumer"),
)
