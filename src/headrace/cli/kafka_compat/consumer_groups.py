"""`kafka-consumer-groups`: list, describe, delete, reset and forget, as Kafka 4.3 does it.

What goes wrong at a broker is told on standard output and ends with 0, as Kafka's tool does; wrong
usage, and a broker that cannot be reached, end with 1. Of the past it still takes `--zookeeper`,
`--broker-list` and `--new-consumer`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Final

from headrace.cli.administration.client import Admin, Fault, Refused
from headrace.cli.administration.groups import (
    CLASSIC,
    CONSUMER,
    GroupView,
    delete_group,
    delete_offsets,
    describe_group,
    list_consumer_groups,
)
from headrace.cli.administration.offset_plans import Step
from headrace.cli.administration.records import offsets_at
from headrace.cli.kafka_compat.administering import (
    CONNECTING,
    Told,
    as_whole_number,
    bare,
    complain,
    open_admin,
    read_flags,
    refuse_together,
)
from headrace.cli.kafka_compat.columns import row, widest
from headrace.cli.kafka_compat.flags import Given, Takes
from headrace.cli.kafka_compat.group_report import (
    members_table,
    offsets_table,
    places_of,
    state_table,
)
from headrace.cli.kafka_compat.group_resets import (
    RESET_FLAGS,
    check_scenarios,
    named_places,
    parse_place,
    plan,
    print_csv,
    print_plans,
)
from headrace.cli.kafka_compat.java_errors import as_exception, said, told, words_of
from headrace.cli.kafka_compat.regexes import regex_fault
from headrace.cli.kafka_compat.superseded import OF_THE_PAST, servers_of
from headrace.client.group_offsets import commit_offsets, committed_positions
from headrace.client.offsets import LATEST
from headrace.errors import Error, HeadraceError
from headrace.types import TopicPartition

_ACTIONS: Final = (
    "--list", "--describe", "--delete", "--reset-offsets", "--delete-offsets", "--validate-regex",
)  # fmt: skip
_VIEWS: Final = ("--members", "--offsets", "--state")
FLAGS: Final = {
    **CONNECTING,
    **OF_THE_PAST,
    **dict.fromkeys(_ACTIONS, Takes.NOTHING),
    "--validate-regex": Takes.VALUE,
    "--group": Takes.VALUE,
    "--all-groups": Takes.NOTHING,
    "--topic": Takes.VALUE,
    "--all-topics": Takes.NOTHING,
    "--members": Takes.NOTHING,
    "--offsets": Takes.NOTHING,
    "--state": Takes.MAYBE,
    "--type": Takes.MAYBE,
    "--verbose": Takes.NOTHING,
    "--timeout": Takes.VALUE,
    **RESET_FLAGS,
    "--dry-run": Takes.NOTHING,
    "--execute": Takes.NOTHING,
    "--export": Takes.NOTHING,
}
_EXAMPLE: Final = "kafka-consumer-groups --bootstrap-server localhost:9092 --describe --group g"
STATES: Final = (
    "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning",
    "Reconciling",
)  # fmt: skip
_REBALANCING: Final = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
_TIMEOUT_MS: Final = 5_000
_ABOUT_THE_GROUP: Final = (
    Error.INVALID_GROUP_ID,
    Error.GROUP_ID_NOT_FOUND,
    Error.GROUP_AUTHORIZATION_FAILED,
    Error.NON_EMPTY_GROUP,
)
_DRY_BY_DEFAULT: Final = (
    "WARN: No action will be performed as the --execute option is missing. In version 5.0, this "
    "command will require either --dry-run or --execute to be specified. You should add the "
    "--dry-run option explicitly if you are scripting this command and want to keep the current "
    "default behavior without prompting."
)


def run(words: list[str]) -> int:
    try:
        given = read_flags("kafka-consumer-groups", words, FLAGS, _EXAMPLE)
        if given is None:
            return 0
        if regex := given.text("--validate-regex"):
            return _validate_regex(given, regex)
        servers = servers_of(given)
        action = _checked(given)
        _check_filters(given)
        timeout_ms = as_whole_number(given, "--timeout") or _TIMEOUT_MS
        admin = open_admin(servers, given.text("--command-config"), timeout_ms)
    except HeadraceError as error:
        return complain(bare(error))
    with admin:
        try:
            _WORK[action](admin, given)
        except Told as error:
            return complain(str(error))
        except HeadraceError as error:
            # Kafka's tool unwraps what a reset fails with, and nothing else.
            why = said(error) if action == "--reset-offsets" else told(error)
            print(f"\nError: Executing consumer group command failed due to {why}")
    return 0


# -- the command line -----------------------------------------------------------------------------


def _checked(given: Given) -> str:
    """The action, once all flags go together."""
    if given.has("--describe"):
        _need_scope(given, "--describe")
        views = [flag for flag in _VIEWS if given.has(flag)]
        if len(views) > 1:
            listed = ", ".join(f"[{flag[2:]}]" for flag in _VIEWS)
            raise Told(f"Option [describe] takes at most one of these options: {listed}")
        if given.text("--state"):
            raise Told("Option [describe] does not take a value for [state]")
    else:
        for flag in ("--members", "--offsets", "--verbose"):
            if given.has(flag):
                raise Told(_unavailable(flag))
    if given.has("--delete"):
        _need_scope(given, "--delete")
        if given.has("--topic"):
            raise Told(
                "The consumer does not support topic-specific offset deletion from a consumer "
                "group."
            )
    if given.has("--delete-offsets") and not (given.has("--group") and given.has("--topic")):
        raise Told("Option [delete-offsets] takes the following options: [topic], [group]")
    if given.has("--reset-offsets"):
        if given.has("--dry-run") and given.has("--execute"):
            raise Told("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
        if not given.has("--dry-run") and not given.has("--execute"):
            complain(_DRY_BY_DEFAULT)
        _need_scope(given, "--reset-offsets")
        check_scenarios(given, RESET_FLAGS)
    refuse_together(given, "--group", "--all-groups", "--list")
    refuse_together(given, "--topic", "--list", "--describe")
    actions = [flag for flag in _ACTIONS if given.has(flag)]
    if len(actions) != 1:
        raise Told(f"Command must include exactly one action: {', '.join(_ACTIONS)}")
    return actions[0]


def _need_scope(given: Given, action: str) -> None:
    if not given.has("--group") and not given.has("--all-groups"):
        raise Told(f"Option [{action[2:]}] takes one of these options: [group], [all-groups]")


def _unavailable(flag: str) -> str:
    return f"Option(s) [{flag[2:]}] are unavailable given other options on the command line"


def _check_filters(given: Given) -> None:
    if given.has("--type") and not given.has("--list"):
        raise Told(_unavailable("--type"))
    if given.has("--state") and not (given.has("--list") or given.has("--describe")):
        raise Told(_unavailable("--state"))
    filter_of(given, "--state", "state", STATES)
    filter_of(given, "--type", "types", (CLASSIC, CONSUMER))


def filter_of(given: Given, flag: str, what: str, allowed: tuple[str, ...]) -> list[str]:
    """The names after a flag, as Kafka writes them; none means all."""
    text = given.text(flag) or ""
    wanted = [part.strip().lower() for part in text.split(",") if part.strip()]
    known = {name.lower(): name for name in allowed}
    if not set(wanted) <= known.keys():
        plural = "states" if what == "state" else what
        raise Told(f"Invalid {what} list '{text}'. Valid {plural} are: {', '.join(allowed)}")
    return [known[name] for name in wanted]


def _validate_regex(given: Given, regex: str) -> int:
    for flag in _ACTIONS[:-1]:
        if given.has(flag):
            raise Told(f"Command must include exactly one action: {', '.join(_ACTIONS)}")
    fault = regex_fault(regex)
    print(f"The regular expression `{regex}` is " + (f"invalid: {fault}." if fault else "valid."))
    return 0


# -- actions --------------------------------------------------------------------------------------


def _groups(admin: Admin, given: Given) -> list[str]:
    if given.has("--all-groups"):
        return [each.group for each in list_consumer_groups(admin)]
    return list(dict.fromkeys(given.all("--group")))


def _list(admin: Admin, given: Given) -> None:
    states = filter_of(given, "--state", "state", STATES)
    types = filter_of(given, "--type", "types", (CLASSIC, CONSUMER))
    groups = list_consumer_groups(admin, states=states, types=types)
    if not (given.has("--state") or given.has("--type")):
        for each in groups:
            print(each.group)
        return
    widths = [widest(each.group for each in groups) + 10]
    rows = [["GROUP"], *([each.group] for each in groups)]
    for flag, head, cells in (
        ("--type", "TYPE", [each.type or "Unknown" for each in groups]),
        ("--state", "STATE", [each.state or "Unknown" for each in groups]),
    ):
        if given.has(flag):
            widths.append(20)
            for line, cell in zip(rows, [head, *cells], strict=True):
                line.append(cell)
    for line in rows:
        print(row(line, widths))


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
            ends = _ends(admin, places_of(group, committed))
            table = offsets_table(group, committed, ends, verbose=verbose)
            if _say_state(group):
                print(table, end="")


def _say_state(group: GroupView) -> bool:
    """Tell what keeps a group from reading; False for one that does not exist."""
    if group.state == "Dead":
        print(f"\nError: Consumer group '{group.group}' does not exist.")
        return False
    sys.stdout.flush()
    if group.state == "Empty":
        print(f"\nConsumer group '{group.group}' has no active members.", file=sys.stderr)
    elif group.state in _REBALANCING:
        print(f"\nWarning: Consumer group '{group.group}' is rebalancing.", file=sys.stderr)
    return True


def _ends(admin: Admin, places: set[TopicPartition]) -> dict[TopicPartition, int]:
    """Where the logs end, of the partitions that have a leader."""
    led = {
        TopicPartition(topic.name, each.number)
        for topic in admin.topics()
        for each in topic.partitions
        if each.leader is not None
    }
    return {place: each.offset for place, each in offsets_at(admin, places & led, LATEST).items()}


def _delete(admin: Admin, given: Given) -> None:
    tell_deleted("consumer", {name: delete_group(admin, name) for name in _groups(admin, given)})


def tell_deleted(kind: str, outcome: Mapping[str, Fault | str | None]) -> None:
    """What became of each group; `kind` is `consumer` or `share`."""
    done = ", ".join(f"'{name}'" for name, fault in outcome.items() if fault is None)
    failed = {name: fault for name, fault in outcome.items() if fault is not None}
    if not failed:
        print(f"Deletion of requested {kind} groups ({done}) was successful.")
        return
    print(f"\nError: Deletion of some {kind} groups failed:")
    for name, fault in failed.items():
        words = as_exception(fault) if isinstance(fault, Fault) else fault
        print(f"* Group '{name}' could not be deleted due to: {words}")
    if done:
        print(f"\nThese {kind} groups were deleted successfully: {done}")


def _reset(admin: Admin, given: Given) -> None:
    groups = _groups(admin, given)
    plans: dict[str, list[Step]] = {}
    for name in groups:
        state = _state_of(admin, name)
        if state in ("Empty", "Dead"):
            plans[name] = _reset_one(admin, given, name)
        else:
            plans[name] = []
            print(
                f"\nError: Assignments can only be reset if the group '{name}' is inactive, but "
                f"the current state is {state}."
            )
    if given.has("--export"):
        print_csv(plans, with_group=len(given.all("--group")) != 1)
    else:
        print_plans(plans)


def _state_of(admin: Admin, name: str) -> str:
    try:
        return describe_group(admin, name).state
    except Refused as error:
        if error.error is Error.GROUP_ID_NOT_FOUND:
            return "Dead"
        raise


def _reset_one(admin: Admin, given: Given, name: str) -> list[Step]:
    def current() -> dict[TopicPartition, int]:
        found = committed_positions(admin.cluster, name)
        return {place: each.offset for place, each in found.items()}

    if given.has("--all-topics"):
        places = list(current())
    elif given.has("--topic"):
        places = named_places(admin, given.all("--topic"))
    elif given.has("--from-file"):
        places = []
    else:
        raise Told("One of the reset scopes should be defined: --all-topics, --topic.")
    steps = plan(admin, given, name, places, current)
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
            places += parse_place(text) if ":" in text else named_places(admin, [text])
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
    elif refused.error in _ABOUT_THE_GROUP:
        print(f"\nError: {words_of(refused)}")
    else:
        print("\nError: Encountered some partition-level error, see the follow-up details.")
    widths = [widest(place.topic for place in outcome), 10, 15]
    print("\n" + row(("TOPIC", "PARTITION", "STATUS"), widths), end="")
    for place in sorted(outcome, key=lambda each: f"{each.topic}{each.partition}"):
        fault = outcome[place]
        number = "-" if place.partition < 0 else place.partition
        status = "Successful" if fault is None else f"Error: {as_exception(fault)}"
        print("\n" + row((place.topic, number, status), widths), end="")
    print()


_WORK: Final = {
    "--list": _list,
    "--describe": _describe,
    "--delete": _delete,
    "--reset-offsets": _reset,
    "--delete-offsets": _delete_offsets,
}
