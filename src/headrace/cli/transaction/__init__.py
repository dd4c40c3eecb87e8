"""`headrace transaction`: see what producers have open, find what hangs, end it."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any, Final

import typer

from headrace.admin import transactions
from headrace.admin.hanging import find_hanging
from headrace.cli.asking import connect, explained, raise_all
from headrace.cli.completion import complete_topic
from headrace.cli.durations import parse_duration_ms, show_duration
from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.options import MADE, NONE_GIVEN, OutputOption, TargetOptions, parse_states
from headrace.cli.output import Output, emit, emit_rows, table
from headrace.cli.parameters import argument, option
from headrace.cli.progress import Progress
from headrace.cli.record_text import iso_timestamp
from headrace.cli.transaction import ending

app = typer.Typer(help="List transactions, find hanging ones and abort them.")

_PRODUCER_COLUMNS: Final = (
    "producer_id", "producer_epoch", "coordinator_epoch", "last_sequence", "last_timestamp",
    "start_offset",
)  # fmt: skip
_HANGING_COLUMNS: Final = (
    "topic", "partition", "producer_id", "producer_epoch", "coordinator_epoch", "start_offset",
    "last_timestamp", "age",
)  # fmt: skip


@app.command("list", epilog="Example: headrace transaction list --state Ongoing --older-than 5m")
def list_command(
    state: Annotated[
        list[str], option("STATE", f"{', '.join(transactions.STATES)}; may be repeated.")
    ] = NONE_GIVEN,
    producer_id: Annotated[
        list[int] | None, option("ID", "Only this producer id; may be repeated.")
    ] = None,
    older_than: Annotated[
        str | None, option("DURATION", "Only transactions open for longer: 5m or PT5M.")
    ] = None,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """List transactional ids with their producer and state."""
    states = parse_states(state, transactions.STATES, "transaction")
    older_than_ms = None if older_than is None else parse_duration_ms(older_than, "--older-than")
    with connect(target) as admin, explained("transactions"):
        rows = [
            listed._asdict()
            for listed in transactions.list_transactions(
                admin,
                states=states,
                producer_ids=producer_id or (),
                older_than_ms=older_than_ms,
            )
        ]
    emit_rows(rows, output, ["transactional_id", "producer_id", "state", "coordinator"])


@app.command(epilog="Example: headrace transaction describe billing-1")
def describe(
    transactional_ids: Annotated[list[str], argument("ID…")],
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the producer, state and open transaction of transactional ids."""
    views: list[dict[str, Any]] = []
    failures: list[Failure] = []
    now_ms = time.time_ns() // 1_000_000
    with connect(target) as admin:
        for name in dict.fromkeys(transactional_ids):
            try:
                with explained(f'transactional id "{name}"'):
                    views.append(_view(transactions.describe_transaction(admin, name), now_ms))
            except Failure as failure:
                failures.append(failure)
    if views:
        emit(views, output, lambda: "\n".join(map(_as_text, views)))
    raise_all(failures)


def _view(described: transactions.Described, now_ms: int) -> dict[str, Any]:
    started = described.open_since_ms
    return {
        "transactional_id": described.transactional_id,
        "state": described.state,
        "producer_id": described.producer_id,
        "producer_epoch": described.producer_epoch,
        "coordinator": described.coordinator,
        "timeout_ms": described.timeout_ms,
        "started": None if started is None else iso_timestamp(started),
        "open_for_ms": None if started is None else max(now_ms - started, 0),
        "partitions": [
            {"topic": topic, "partition": partition} for topic, partition in described.partitions
        ],
    }


def _as_text(view: dict[str, Any]) -> str:
    text = f"{view['transactional_id']}: {view['state']}, producer {view['producer_id']} "
    text += f"epoch {view['producer_epoch']}, time-out {show_duration(view['timeout_ms'])}, "
    text += f"coordinator {view['coordinator']}"
    if view["started"] is not None:
        text += f", open since {view['started']} ({show_duration(view['open_for_ms'])})"
    text += "\n"
    if view["partitions"]:
        text += table(view["partitions"], ["topic", "partition"])
    return text


@app.command(epilog="Example: headrace transaction producers orders:0")
def producers(
    where: Annotated[str, argument("TOPIC:PARTITION")],
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the active producers of a partition and where their open transactions begin."""
    topic, colon, number = where.rpartition(":")
    if not colon or not topic or not (number.isdecimal() and len(number) < 10):
        raise WrongUsage(f'"{where}" is not a partition', "write TOPIC:PARTITION, such as orders:0")
    with connect(target) as admin, explained(f'topic "{topic}"'):
        rows = [
            _producer(each) for each in transactions.describe_producers(admin, topic, [int(number)])
        ]
    emit_rows(rows, output, _PRODUCER_COLUMNS)


def _producer(producer: transactions.ProducerState) -> dict[str, Any]:
    row = producer._asdict()
    timestamp_ms = row.pop("last_timestamp_ms")
    return row | {"last_timestamp": None if timestamp_ms is None else iso_timestamp(timestamp_ms)}


@app.command("find-hanging", epilog="Example: headrace transaction find-hanging --topic orders")
def find_hanging_command(
    topic: Annotated[
        list[str],
        option(
            "--topic -t TOPIC", "Only this topic; may be repeated.", autocompletion=complete_topic
        ),
    ] = NONE_GIVEN,
    older_than: Annotated[
        str, option("DURATION", "Only transactions without a write for this long: 5m or PT5M.")
    ] = "15m",
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Find transactions that are open in a partition and that no coordinator will end."""
    older_than_ms = parse_duration_ms(older_than, "--older-than")
    now_ms = time.time_ns() // 1_000_000
    with connect(target) as admin, explained():
        names = topic or [each.name for each in admin.topics()]
        with Progress("asking leaders", len(names), watched=sys.stderr.isatty()) as progress:
            found = find_hanging(
                admin,
                names,
                older_than_ms=older_than_ms,
                now_ms=now_ms,
                began=progress.update,
            )
    rows = [
        _producer(each) | {"age": show_duration(now_ms - (each.last_timestamp_ms or 0))}
        for each in found
    ]
    emit_rows(rows, output, _HANGING_COLUMNS)


app.command(
    epilog="Example: headrace transaction abort --topic orders --partition 0 --start-offset 1200"
)(ending.abort)
app.command("force-terminate", epilog="Example: headrace transaction force-terminate billing-1")(
    ending.force_terminate
)
