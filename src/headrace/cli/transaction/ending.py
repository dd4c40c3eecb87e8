"""`headrace transaction abort` and `force-terminate`: end what its producer does not end."""

from __future__ import annotations

import time
from typing import Annotated, Final

import typer

from headrace.cli.completion import complete_topic
from headrace.cli.direct import Brokers, Keeper, open_brokers, raise_for
from headrace.cli.failures import Failure
from headrace.cli.options import (
    DEFAULT_SERVERS,
    NONE_GIVEN,
    OutputOption,
    Properties,
    Servers,
)
from headrace.cli.output import Output, emit_rows
from headrace.cli.target import parse_target
from headrace.cli.transaction.hanging import look_up, orphans_among
from headrace.cli.transaction.view import ProducerState, describe_producers, describe_transaction

_TIMEOUT_MS: Final = 60_000


def abort(
    topic: Annotated[
        str,
        typer.Option(
            "--topic", "-t", metavar="TOPIC", autocompletion=complete_topic, show_default=False
        ),
    ],
    partition: Annotated[
        int, typer.Option("--partition", "-p", metavar="N", min=0, show_default=False)
    ],
    start_offset: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Where the transaction begins.", show_default=False),
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Also one that a coordinator still looks after.")
    ] = False,
    servers: Servers = DEFAULT_SERVERS,
    properties: Properties = NONE_GIVEN,
    output: OutputOption = Output.TABLE,
) -> None:
    """Write the abort marker of a hanging transaction into its partition."""
    target = parse_target(servers, properties)
    with open_brokers(target) as brokers:
        producer = _find(brokers, topic, partition, start_offset)
        if not force:
            _require_hanging(brokers, producer)
        _write_abort(brokers, producer)
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


def _find(brokers: Brokers, topic: str, partition: int, start_offset: int) -> ProducerState:
    """The producer whose open transaction begins there."""
    producers = describe_producers(brokers, topic, [partition])
    starts = sorted(each.start_offset for each in producers if each.start_offset is not None)
    for producer in producers:
        if producer.start_offset == start_offset:
            return producer
    hint = f"open ones begin at {', '.join(map(str, starts))}" if starts else "none is open there"
    raise Failure(
        f"no open transaction begins at offset {start_offset} of {topic}:{partition}", hint
    )


def _require_hanging(brokers: Brokers, producer: ProducerState) -> None:
    """A marker behind its coordinator's back would tear a transaction apart."""
    known = look_up(brokers, [producer.producer_id])
    if orphans_among([producer], known):
        return
    owner = known[producer.producer_id]
    raise Failure(
        f'this transaction does not hang: its coordinator has "{owner.transactional_id}" as '
        f"{owner.state}",
        f'end it with "headrace transaction force-terminate {owner.transactional_id}"',
    )


def _write_abort(brokers: Brokers, producer: ProducerState) -> None:
    from headrace.wire.messages.write_txn_markers import (
        WritableTxnMarker,
        WritableTxnMarkerTopic,
        WriteTxnMarkersRequest,
    )

    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        topics=[
            WritableTxnMarkerTopic(name=producer.topic, partition_indexes=[producer.partition])
        ],
        # A producer that has never seen a marker has not seen a coordinator's epoch either.
        coordinator_epoch=producer.coordinator_epoch or 0,
    )
    answer = brokers.ask_leader(
        producer.topic,
        producer.partition,
        WriteTxnMarkersRequest(markers=[marker]),
        lambda response: int(response.markers[0].topics[0].partitions[0].error_code),
    )
    code = answer.markers[0].topics[0].partitions[0].error_code
    raise_for(code, f"{producer.topic}:{producer.partition}")


def force_terminate(
    transactional_id: Annotated[str, typer.Argument(metavar="ID", show_default=False)],
    servers: Servers = DEFAULT_SERVERS,
    properties: Properties = NONE_GIVEN,
    output: OutputOption = Output.TABLE,
) -> None:
    """Abort the open transaction of an id and fence the producer that had it."""
    from headrace.wire.messages.init_producer_id import InitProducerIdRequest

    target = parse_target(servers, properties)
    began = time.monotonic()
    with open_brokers(target) as brokers:
        # InitProducerId would create an id that nobody has ever used.
        before = describe_transaction(brokers, transactional_id)
        answer = brokers.ask_coordinator(
            Keeper.TRANSACTION,
            transactional_id,
            InitProducerIdRequest(
                transactional_id=transactional_id,
                transaction_timeout_ms=before.timeout_ms or _TIMEOUT_MS,
            ),
            lambda response: int(response.error_code),
        )
        raise_for(answer.error_code, f'transactional id "{transactional_id}"')
    rows = [
        {
            "transactional_id": transactional_id,
            "state_before": before.state,
            "producer_id": answer.producer_id,
            "producer_epoch": answer.producer_epoch,
            "result": "terminated",
            "seconds": round(time.monotonic() - began, 3),
        }
    ]
    emit_rows(
        rows,
        output,
        ["transactional_id", "state_before", "producer_id", "producer_epoch", "result"],
    )
