"""`headrace topic reassign`: move replicas to other brokers, and watch them move.

A throttle lasts as long as somebody waits for the move: it is taken away at the end. Whoever went
away in between takes it up again with `--wait`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Collection
from typing import Annotated, Any, Final
from zlib import crc32

from headrace.admin import throttles
from headrace.admin.client import Admin
from headrace.admin.views import Reassignment, TopicView
from headrace.cli import replica_plans as plans
from headrace.cli.asking import connect, find_topic
from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.options import MADE, OutputOption, TargetOptions
from headrace.cli.output import Output, emit, emit_rows, table
from headrace.cli.parameters import argument, option
from headrace.cli.progress import Progress
from headrace.cli.replica_plans import Assignment, BadPlan
from headrace.cli.small_files import read_text
from headrace.types import TopicPartition

EPILOG = "Example: headrace topic reassign --drop-broker 4 --dry-run"
_PAUSE_S: Final = 0.2
_COLUMNS: Final = ["topic", "partition", "replicas", "adding", "removing"]


def reassign(
    names: Annotated[list[str] | None, argument("TOPIC…", "The topics.")] = None,
    plan: Annotated[
        str | None, option("FILE", "A plan in JSON, as kafka-reassign-partitions reads it.")
    ] = None,
    to_brokers: Annotated[
        str | None, option("ID,…", "Spread the topics over these brokers.")
    ] = None,
    drop_broker: Annotated[int | None, option("ID", "Move all replicas off this broker.")] = None,
    replication_factor: Annotated[
        int | None, option("--replication-factor -r", "Change the replication factor.", min=1)
    ] = None,
    cancel: Annotated[bool, option("--cancel", "Cancel active reassignments.")] = False,
    status: Annotated[bool, option("--status", "Show active reassignments.")] = False,
    wait: Annotated[
        bool, option("--wait", "Wait for active reassignments, then remove the throttle.")
    ] = False,
    everything: Annotated[bool, option("--all -a", "All topics.")] = False,
    throttle: Annotated[
        int | None,
        option("BYTES/S", "Replication throttle, in bytes per second per broker.", min=1),
    ] = None,
    dry_run: Annotated[bool, option("--dry-run", "Print the plan only.")] = False,
    no_wait: Annotated[bool, option("--no-wait", "Do not wait for completion.")] = False,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Move replicas to other brokers: print the plan, execute it and wait for completion."""
    actions = [plan, to_brokers, drop_broker, replication_factor, *(cancel, status, wait)]
    if sum(each is not None and each is not False for each in actions) != 1:
        raise WrongUsage(
            "no action is given, or more than one",
            "give one of --plan, --to-brokers, --drop-broker, --replication-factor, --cancel, "
            "--status, --wait",
        )
    if throttle is not None and no_wait:
        raise WrongUsage("the throttle would never be removed", "leave out --no-wait")
    with connect(target) as admin:
        if status or cancel or wait:
            _under_way(admin, names, output, cancel=cancel, wait=wait)
            return
        topics = admin.topics()
        chosen = topics if everything else [find_topic(topics, name) for name in names or ()]
        try:
            wanted = _planned(
                admin, topics, chosen, plan, _ids(to_brokers), drop_broker, replication_factor
            )
        except BadPlan as error:
            raise Failure(str(error)) from None
        now = plans.current(topics)
        _show(wanted, now, output)
        if dry_run or not wanted:
            return
        _carry_out(admin, wanted, now, throttle, no_wait=no_wait)


# -- what shall move ------------------------------------------------------------------------------


def _planned(
    admin: Admin,
    topics: list[TopicView],
    chosen: list[TopicView],
    plan: str | None,
    to_brokers: list[int] | None,
    drop_broker: int | None,
    replication_factor: int | None,
) -> Assignment:
    """What is to change; partitions that are where they should be are left out."""
    brokers = admin.describe_cluster().brokers
    live = {broker.id for broker in brokers}
    _require(live, to_brokers or ())
    if plan is not None:
        read = plans.parse_plan(read_text(plan, f"--plan {plan}", failure=Failure))
        plans.check(read)
        wanted = read.assignment
    elif drop_broker is not None:
        everywhere = plans.current(chosen or topics)
        wanted = plans.without_broker(everywhere, drop_broker, brokers)
    elif not chosen:
        raise WrongUsage("no topic is named", "write their names, or --all")
    elif to_brokers is not None:
        there = [broker for broker in brokers if broker.id in to_brokers]
        wanted = {}
        for topic in chosen:
            # Where a topic begins is its own, so that not every first partition is on one broker.
            start = crc32(topic.name.encode()) % max(len(there), 1)
            wanted |= plans.spread(plans.current([topic]), there, start_index=start, shift=0)
    else:
        assert replication_factor is not None
        now = plans.current(chosen)
        wanted = plans.with_replication_factor(now, replication_factor, brokers)
    _require(live, {each for replicas in wanted.values() for each in replicas})
    known = plans.current(topics)
    missing = sorted(wanted.keys() - known.keys())
    if missing:
        raise BadPlan(f"there is no partition {missing[0]}; see headrace topic list")
    return {where: replicas for where, replicas in wanted.items() if known[where] != replicas}


def _require(live: Collection[int], wanted: Collection[int]) -> None:
    dead = sorted(set(wanted) - set(live))
    if dead:
        listed = ", ".join(map(str, sorted(live)))
        raise BadPlan(f"broker {dead[0]} is not live; live brokers are {listed}")


def _ids(text: str | None) -> list[int] | None:
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() for word in words) or len(set(words)) != len(words):
        raise WrongUsage(
            f'--to-brokers "{text}" is not a list of brokers', "write ids, such as 1,2,3"
        )
    return [int(word) for word in words]


def _show(wanted: Assignment, now: Assignment, output: Output) -> None:
    """A table for a person; for a program the plan itself, which --plan takes."""
    rows = [
        {"topic": where.topic, "partition": where.partition, "from": now[where], "to": replicas}
        for where, replicas in sorted(wanted.items())
    ]
    data: dict[str, Any] = {
        "version": 1,
        "partitions": [
            {"topic": where.topic, "partition": where.partition, "replicas": list(replicas)}
            for where, replicas in sorted(wanted.items())
        ],
    }
    text = table(rows, ["topic", "partition", "from", "to"])
    emit(data, output, lambda: text if rows else "nothing to move\n")


# -- moving ---------------------------------------------------------------------------------------


def _carry_out(
    admin: Admin, wanted: Assignment, now: Assignment, throttle: int | None, *, no_wait: bool
) -> None:
    if throttle is not None:
        moves = throttles.moves_of(admin.reassignments(), wanted, now)
        admin.alter_settings(throttles.replicas_to_throttle(moves))
        admin.alter_settings(throttles.rates(moves, throttle))
    faults = admin.reassign(wanted)
    begun = wanted.keys() - faults.keys()
    try:
        if not no_wait:
            _await(admin, begun)
    except KeyboardInterrupt:
        print("headrace: the reassignment continues; see --status and --wait", file=sys.stderr)
        raise
    if throttle is not None:
        _unthrottle(admin, {where.topic for where in wanted})
    if faults:
        told = " | ".join(f"{where}: {fault.message}" for where, fault in sorted(faults.items()))
        raise Failure(f"{len(faults)} of {len(wanted)} partitions were not moved: {told}")


def _await(admin: Admin, partitions: Collection[TopicPartition]) -> None:
    """Return when none of these is on the move any more."""
    with Progress("reassigning", len(partitions), watched=sys.stderr.isatty()) as progress:
        while True:
            left = admin.reassignments(partitions) if partitions else {}
            progress.update(len(partitions) - len(left))
            if not left:
                return
            time.sleep(_PAUSE_S)


def _unthrottle(admin: Admin, topics: Collection[str]) -> None:
    for changes in throttles.removal(admin.describe_cluster().ids, topics):
        admin.alter_settings(changes)


def _under_way(
    admin: Admin, names: list[str] | None, output: Output, *, cancel: bool, wait: bool
) -> None:
    """Show, call off, or wait for what moves."""
    ongoing = {
        where: each
        for where, each in admin.reassignments().items()
        if not names or where.topic in names
    }
    if cancel and ongoing:
        faults = admin.reassign(dict.fromkeys(ongoing))
        if faults:
            where, fault = next(iter(sorted(faults.items())))
            raise Failure(f"{where} was not cancelled: {fault.message}")
    if wait:
        _await(admin, ongoing.keys())
    if cancel or wait:
        topics = {where.topic for where in ongoing} or {topic.name for topic in admin.topics()}
        _unthrottle(admin, topics)
    rows = [_row(where, each) for where, each in sorted(ongoing.items())]
    if not rows and output is Output.TABLE:
        print("no active reassignments")
        return
    emit_rows(rows, output, _COLUMNS)


def _row(where: TopicPartition, each: Reassignment) -> dict[str, object]:
    return {
        "topic": where.topic,
        "partition": where.partition,
        "replicas": each.replicas,
        "adding": each.adding,
        "removing": each.removing,
    }
