"""What `kafka-consumer-groups` and `kafka-share-groups` have in common.

What goes wrong at a broker is told on standard output and ends with 0, as Kafka's tools do; wrong
usage, and a broker that cannot be reached, end with 1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from headrace.admin.client import Admin
from headrace.admin.faults import Fault
from headrace.cli.kafka_compat.administering import (
    Told,
    as_whole_number,
    complain,
    open_admin,
    refuse_together,
)
from headrace.cli.kafka_compat.flags import Given
from headrace.cli.kafka_compat.java_errors import as_exception, said, told
from headrace.cli.kafka_compat.tool import Work
from headrace.errors import Error, HeadraceError

ABOUT_THE_GROUP: Final = (
    Error.INVALID_GROUP_ID,
    Error.GROUP_ID_NOT_FOUND,
    Error.GROUP_AUTHORIZATION_FAILED,
    Error.NON_EMPTY_GROUP,
)
_VIEWS: Final = ("--members", "--offsets", "--state")


def on_groups(
    given: Given, servers: str, work: Callable[[Admin, Given], None], *, timeout_ms: int
) -> Work:
    """Work with brokers that are there: one that is not refuses the command line."""
    wanted_ms = as_whole_number(given, "--timeout") or timeout_ms
    admin = open_admin(servers, given.text("--command-config"), wanted_ms)

    def run() -> None:
        with admin:
            work(admin, given)

    return run


def failed(kind: str) -> Callable[[HeadraceError, Given], int]:
    """How work on these groups ends that could not be done."""

    def end(error: HeadraceError, given: Given) -> int:
        if isinstance(error, Told):
            return complain(str(error))
        # Kafka's tool unwraps what a reset fails with, and nothing else.
        why = said(error) if given.has("--reset-offsets") else told(error)
        print(f"\nError: Executing {kind} group command failed due to {why}")
        return 0

    return end


# -- the command line -----------------------------------------------------------------------------


def need_scope(given: Given, action: str) -> None:
    if not given.has("--group") and not given.has("--all-groups"):
        raise Told(f"Option [{action[2:]}] takes one of these options: [group], [all-groups]")


def check_describe(given: Given) -> None:
    need_scope(given, "--describe")
    if sum(map(given.has, _VIEWS)) > 1:
        listed = ", ".join(f"[{flag[2:]}]" for flag in _VIEWS)
        raise Told(f"Option [describe] takes at most one of these options: {listed}")
    if given.text("--state"):
        raise Told("Option [describe] does not take a value for [state]")


def check_delete_offsets(given: Given) -> None:
    if given.has("--delete-offsets") and not (given.has("--group") and given.has("--topic")):
        raise Told("Option [delete-offsets] takes the following options: [topic], [group]")


def check_reset(given: Given, undecided: Callable[[], object]) -> None:
    """`undecided` is for who says neither that it be done nor that it be only shown."""
    if given.has("--dry-run") and given.has("--execute"):
        raise Told("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not given.has("--dry-run") and not given.has("--execute"):
        undecided()


def check_scenarios(given: Given, allowed: Collection[str]) -> None:
    """At most one of them."""
    for flag in allowed:
        refuse_together(given, flag, *(other for other in allowed if other != flag))


def chosen(given: Given, actions: Sequence[str], end: str = "") -> str:
    """The one action, once groups and topics are named only where they have a meaning."""
    refuse_together(given, "--group", "--all-groups", "--list")
    refuse_together(given, "--topic", "--list", "--describe")
    found = [flag for flag in actions if given.has(flag)]
    if len(found) != 1:
        raise Told(f"Command must include exactly one action: {', '.join(actions)}{end}")
    return found[0]


def filter_of(given: Given, flag: str, what: str, allowed: tuple[str, ...]) -> list[str]:
    """The names after a flag, as Kafka writes them; none means all."""
    text = given.text(flag) or ""
    wanted = [part.strip().lower() for part in text.split(",") if part.strip()]
    known = {name.lower(): name for name in allowed}
    if not set(wanted) <= known.keys():
        plural = "states" if what == "state" else what
        raise Told(f"Invalid {what} list '{text}'. Valid {plural} are: {', '.join(allowed)}")
    return [known[name] for name in wanted]


# -- printing -------------------------------------------------------------------------------------


def tell_deleted(kind: str, outcome: Mapping[str, Fault | str | None]) -> None:
    """What became of each group; `kind` is `consumer` or `share`."""
    done = ", ".join(f"'{name}'" for name, fault in outcome.items() if fault is None)
    faults = {name: fault for name, fault in outcome.items() if fault is not None}
    if not faults:
        print(f"Deletion of requested {kind} groups ({done}) was successful.")
        return
    print(f"\nError: Deletion of some {kind} groups failed:")
    for name, fault in faults.items():
        words = as_exception(fault) if isinstance(fault, Fault) else fault
        print(f"* Group '{name}' could not be deleted due to: {words}")
    if done:
        print(f"\nThese {kind} groups were deleted successfully: {done}")
