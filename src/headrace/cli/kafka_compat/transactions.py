"""`kafka-transactions`: what producers have open, what hangs, and how to end it (KIP-664)."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from headrace.admin import transactions
from headrace.admin.client import Admin
from headrace.admin.hanging import look_up, open_for, orphans_among
from headrace.cli.kafka_compat.administering import CONNECTING, Told, as_whole_number
from headrace.cli.kafka_compat.arguments import need_arguments, read_command
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.java_errors import said
from headrace.cli.kafka_compat.tool import Tool, Work, on_cluster
from headrace.errors import HeadraceError

_SCRIPT: Final = "kafka-transactions.sh"
_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "describe": ("--transactional-id",),
    "describe-producers": ("--topic", "--partition"),
    "abort": ("--topic", "--partition"),
    "forceTerminateTransaction": ("--transactionalId",),
}
_OLD_PRODUCER: Final = ("--producer-id", "--producer-epoch", "--coordinator-epoch")
_MINUTE_MS: Final = 60_000
_DEFAULT_MINUTES: Final = 15


def _plan(given: Given) -> Work:
    need_arguments(given, "--bootstrap-server", *_NEEDED.get(given.command, ()), tool=_SCRIPT)
    _check(given.command, given)
    return on_cluster(given, given.needed("--bootstrap-server"), _WORK[given.command])


def _check(command: str, given: Given) -> None:
    if command == "find-hanging":
        if not (given.has("--topic") or given.has("--broker-id")):
            raise Told(
                "The `find-hanging` command requires either --topic or --broker-id to limit the "
                "scope of the search"
            )
        if given.has("--partition") and not given.has("--topic"):
            raise Told("The --partition argument requires --topic to be provided")
    if command == "abort" and not given.has("--start-offset"):
        if not given.has("--producer-id"):
            raise Told(
                "The transaction to abort must be identified either with --start-offset (for "
                "brokers on 3.0 or above) or with --producer-id, --producer-epoch, and "
                "--coordinator-epoch (for older brokers)"
            )
        for flag in ("--producer-epoch", "--coordinator-epoch"):
            if not given.has(flag):
                raise Told(f"Missing required argument {flag}")


def _list(admin: Admin, given: Given) -> None:
    older_than_ms = as_whole_number(given, "--duration-filter")
    pattern = given.text("--transactional-id-pattern")
    rows = [
        (each.transactional_id, each.coordinator, each.producer_id, each.state)
        for each in transactions.list_transactions(admin, older_than_ms=older_than_ms)
        if not pattern or re.fullmatch(pattern, each.transactional_id)
    ]
    _print(("TransactionalId", "Coordinator", "ProducerId", "TransactionState"), rows)


def _describe(admin: Admin, given: Given) -> None:
    name = given.needed("--transactional-id")
    with _failing(f"Failed to describe transaction state of transactional-id `{name}`"):
        each = transactions.describe_transaction(admin, name)
    started = each.start_time_ms
    heads = (
        "CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState",
        "TransactionTimeoutMs", "CurrentTransactionStartTimeMs", "TransactionDurationMs",
        "TopicPartitions",
    )  # fmt: skip
    cells = (
        each.coordinator,
        each.transactional_id,
        each.producer_id,
        each.producer_epoch,
        each.state,
        each.timeout_ms,
        "None" if started is None else started,
        "None" if started is None else max(_now_ms() - started, 0),
        ",".join(f"{topic}-{partition}" for topic, partition in each.partitions),
    )
    _print(heads, [cells])


def _describe_producers(admin: Admin, given: Given) -> None:
    topic, partition = _place(given)
    broker = as_whole_number(given, "--broker-id")
    where = "leader" if broker is None else f"broker {broker}"
    with _failing(f"Failed to describe producers for partition {topic}-{partition} on {where}"):
        found = transactions.describe_producers(admin, topic, [partition], broker_id=broker)
    heads = (
        "ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp",
        "CurrentTransactionStartOffset",
    )  # fmt: skip
    rows = [
        (
            each.producer_id,
            each.producer_epoch,
            _or_minus_one(each.coordinator_epoch),
            _or_minus_one(each.last_sequence),
            _or_minus_one(each.last_timestamp_ms),
            "None" if each.start_offset is None else each.start_offset,
        )
        for each in found
    ]
    _print(heads, rows)


def _abort(admin: Admin, given: Given) -> None:
    topic, partition = _place(given)
    start_offset = as_whole_number(given, "--start-offset")
    if start_offset is None:
        numbers = [as_whole_number(given, flag) or 0 for flag in _OLD_PRODUCER]
        producer_id, epoch, coordinator_epoch = numbers
        producer = transactions.ProducerState(
            topic, partition, producer_id, epoch, max(coordinator_epoch, 0), None, None, None
        )
    else:
        with _failing(f"Failed to validate producer state for partition {topic}-{partition}"):
            found = transactions.describe_producers(admin, topic, [partition])
        matching = [each for each in found if each.start_offset == start_offset]
        if not matching:
            raise Told(
                f"Could not find any open transactions starting at offset {start_offset} on "
                f"partition {topic}-{partition}"
            )
        producer = matching[0]
    with _failing(f"Failed to abort transaction of producer {producer.producer_id}"):
        transactions.write_abort(admin, producer)


def _find_hanging(admin: Admin, given: Given) -> None:
    minutes = as_whole_number(given, "--max-transaction-timeout")
    limit_ms = (_DEFAULT_MINUTES if minutes is None else minutes) * _MINUTE_MS
    broker = as_whole_number(given, "--broker-id")
    number = as_whole_number(given, "--partition")
    topic = given.text("--topic")
    now_ms = _now_ms()
    candidates: list[transactions.ProducerState] = []
    with _failing("Failed to describe 1 topics"):
        topics = admin.topics(None if topic is None else [topic])
    for described in topics:
        partitions = [
            each.number
            for each in described.partitions
            if number in (None, each.number) and (broker is None or broker in each.replicas)
        ]
        with _failing(f"Failed to describe producers for {len(partitions)} partitions"):
            found = transactions.describe_producers(
                admin, described.name, partitions, broker_id=broker
            )
        candidates += open_for(found, older_than_ms=limit_ms, now_ms=now_ms)
    known = look_up(admin, {each.producer_id for each in candidates})
    heads = (
        "Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset",
        "LastTimestamp", "Duration(min)",
    )  # fmt: skip
    rows = [
        (
            each.topic,
            each.partition,
            each.producer_id,
            each.producer_epoch,
            _or_minus_one(each.coordinator_epoch),
            _or_minus_one(each.start_offset),
            _or_minus_one(each.last_timestamp_ms),
            (now_ms - (each.last_timestamp_ms or 0)) // _MINUTE_MS,
        )
        for each in orphans_among(candidates, known)
    ]
    _print(heads, rows)


def _force_terminate(admin: Admin, given: Given) -> None:
    name = given.needed("--transactionalId")
    with _failing(f"Failed to force terminate transactionalId `{name}`"):
        transactions.terminate(admin, name)


_WORK: Final = {
    "list": _list,
    "describe": _describe,
    "describe-producers": _describe_producers,
    "abort": _abort,
    "find-hanging": _find_hanging,
    "forceTerminateTransaction": _force_terminate,
}


# -- words ----------------------------------------------------------------------------------------


@contextmanager
def _failing(what: str) -> Iterator[None]:
    """Put what was tried in front of why it failed."""
    try:
        yield
    except HeadraceError as error:
        why = said(error).rstrip(".")
        raise Told(f"{what}: {why}. Enable debug logging for additional detail.") from None


def _place(given: Given) -> tuple[str, int]:
    return given.needed("--topic"), as_whole_number(given, "--partition") or 0


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _or_minus_one(number: int | None) -> int:
    return -1 if number is None else number


def _print(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns as wide as their longest cell, each with a tab behind it."""
    texts = [[str(cell) for cell in cells] for cells in (heads, *rows)]
    widths = [max(len(cells[place]) for cells in texts) for place in range(len(heads))]
    for cells in texts:
        print("".join(f"{c.ljust(w)}\t" for c, w in zip(cells, widths, strict=True)))


run: Final = Tool(
    "kafka-transactions",
    flags(
        CONNECTING,
        "--topic= --partition= --start-offset= --producer-id= --producer-epoch= "
        "--coordinator-epoch= --broker-id= --transactional-id= --transactionalId= "
        "--duration-filter= --transactional-id-pattern= --max-transaction-timeout=",
    ),
    "--bootstrap-server localhost:9092 list",
    _plan,
    read=read_command,
    commands={
        "list": ("--duration-filter", "--transactional-id-pattern"),
        "describe": ("--transactional-id",),
        "describe-producers": ("--broker-id", "--topic", "--partition"),
        "abort": ("--topic", "--partition", "--start-offset", *_OLD_PRODUCER),
        "find-hanging": ("--broker-id", "--max-transaction-timeout", "--topic", "--partition"),
        "forceTerminateTransaction": ("--transactionalId",),
    },
    short={"-h": "--help", "-v": "--version"},
)
