"""`headrace transaction abort` and `force-terminate`: end what its producer does not end."""

from __future__ import annotations

import time
from typing import Annotated

from headrace.admin.client import Admin
from headrace.admin.hanging import look_up, orphans_among
from headrace.admin.transactions import (
    ProducerState,
    describe_producers,
    terminate,
    write_abort,
)
from headrace.cli.asking import connect, explained
from headrace.cli.completion import complete_topic
from headrace.cli.failures import Failure
from headrace.cli.options import MADE, OutputOption, TargetOptions
from headrace.cli.output import Output, emit_rows
from headrace.cli.parameters import argument, option


def abort(
    topic: Annotated[str, option("--topic -t TOPIC", "The topic.", autocompletion=complete_topic)],
    partition: Annotated[int, option("--partition -p N", "The partition.", min=0)],
    start_offset: Annotated[int, option("N", "Where the transaction begins.", min=0)],
    force: Annotated[bool, option("--force", "Also if a coordinator still manages it.")] = False,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Write the abort marker of a hanging transaction into its partition."""
    with connect(target) as admin, explained(f"{topic}:{partition}"):
        producer = _find(admin, topic, partition, start_offset)
        if not force:
            _require_hanging(admin, producer)
        write_abort(admin, producer)
    rows = [
        {
            "topic": topic,
            "partition": partition,
            "start_offset": start_offset,
            "producer_id": producer.producer_id,
            "producer_epoch": producer.producer_epoch,
            "result": "aborted",
        }
    ]
    emit_rows(rows, output, list(rows[0]))


def _find(admin: Admin, topic: str, partition: int, start_offset: int) -> ProducerState:
    """The producer whose open transaction begins there."""
    producers = describe_producers(admin, topic, [partition])
    starts = sorted(each.start_offset for each in producers if each.start_offset is not None)
    for producer in producers:
        if producer.start_offset == start_offset:
            return producer
    hint = f"open ones begin at {', '.join(map(str, starts))}" if starts else "none is open there"
    raise Failure(
        f"no open transaction begins at offset {start_offset} of {topic}:{partition}", hint
    )


def _require_hanging(admin: Admin, producer: ProducerState) -> None:
    """A marker behind its coordinator's back would tear a transaction apart."""
    known = look_up(admin, [producer.producer_id])
    if orphans_among([producer], known):
        return
    owner = known[producer.producer_id]
    raise Failure(
        f'this transaction does not hang: its coordinator has "{owner.transactional_id}" as '
        f"{owner.state}",
        f'end it with "headrace transaction force-terminate {owner.transactional_id}"',
    )


def force_terminate(
    transactional_id: Annotated[str, argument("ID")],
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Abort the open transaction of a transactional id and fence its producer."""
    began = time.monotonic()
    with connect(target) as admin, explained(f'transactional id "{transactional_id}"'):
        before, now = terminate(admin, transactional_id)
    rows = [
        {
            "transactional_id": transactional_id,
            "state_before": before.state,
            "producer_id": now.producer_id,
            "producer_epoch": now.producer_epoch,
            "result": "terminated",
            "seconds": round(time.monotonic() - began, 3),
        }
    ]
    emit_rows(
        rows,
        output,
        ["transactional_id", "state_before", "producer_id", "producer_epoch", "result"],
    )
