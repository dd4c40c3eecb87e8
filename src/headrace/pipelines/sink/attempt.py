"""One attempt of one task to write its rows, with either guarantee.

Exactly once, in this order, and each step relies on the one before it:

1. `begin` makes this attempt the only holder of the task's transactional id. An earlier attempt can
   commit nothing from here on; what it left open is aborted, what it was committing is committed.
2. Read the marker. Nobody else can change it any more, so what it says stays true.
3. A marker of this batch: an earlier attempt has written it. Count the rows and write nothing.
4. No marker of this batch: write the rows and the marker in one transaction, and commit.

An attempt that dies between any two of these leaves either all rows and the marker, or nothing that
a reader of committed records sees. A task without rows does nothing at all.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, TypeAlias

import pyarrow as pa

from headrace.client.cluster import Cluster
from headrace.client.connection import Unsupported
from headrace.client.faults import BrokerRefused, Fenced, TimedOut
from headrace.client.group_offsets import committed_offsets
from headrace.client.producing import RawProducer
from headrace.errors import Error, HeadraceError
from headrace.pipelines.sink.delivery import deliver
from headrace.pipelines.sink.faults import NoTransactions, NotRepeated
from headrace.pipelines.sink.identity import TaskIdentity
from headrace.pipelines.sink.marker import Marker, marker_offsets, newest_marker
from headrace.pipelines.sink.options import SinkOptions
from headrace.types import TopicPartition

_LOGGER: Final = logging.getLogger(__name__)

_UNAVAILABLE: Final = (BrokerRefused, Unsupported, TimedOut)

Batches: TypeAlias = Iterable[pa.RecordBatch]
OpenProducer: TypeAlias = Callable[[Cluster, SinkOptions, str | None], RawProducer]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attempt has done: rows by partition, or how many rows it found written already."""

    written: Counter[TopicPartition] = field(default_factory=Counter)
    skipped_rows: int = 0


def open_producer(
    cluster: Cluster, options: SinkOptions, transactional_id: str | None
) -> RawProducer:
    """A producer with the settings of the sink."""
    return RawProducer(
        cluster,
        transactional_id=transactional_id,
        transaction_timeout_ms=options.transaction_timeout_ms,
        acks=options.acks,
        max_request_bytes=options.request_bytes,
    )


def write_at_least_once(
    batches: Batches,
    columns: tuple[str, ...],
    options: SinkOptions,
    cluster: Cluster,
    producing: OpenProducer = open_producer,
) -> Outcome:
    """Write all rows and wait until they are acknowledged."""
    rows = _from_first_row(batches)
    if rows is None:
        return Outcome()
    producer = producing(cluster, options, None)
    try:
        producer.begin()
        written = deliver(rows, columns, options, cluster, producer)
        producer.flush()
    finally:
        producer.close()
    return Outcome(written)


def write_exactly_once(
    batches: Batches,
    columns: tuple[str, ...],
    options: SinkOptions,
    cluster: Cluster,
    identity: TaskIdentity,
    producing: OpenProducer = open_producer,
) -> Outcome:
    """Write all rows in a transaction, unless an earlier attempt at this batch has done so."""
    rows = _from_first_row(batches)
    if rows is None:
        return Outcome()
    producer = producing(cluster, options, identity.name)
    try:
        marker = _take_over(producer, cluster, identity, options)
        if marker is not None and marker.batch_id >= identity.batch_id:
            producer.abort()
            return _skip(rows, marker, identity)
        written = deliver(rows, columns, options, cluster, producer)
        _finish(producer, written, identity, options)
        return Outcome(written)
    except BaseException as fault:
        _give_up(producer, identity)
        if isinstance(fault, Fenced):
            raise _taken_over(fault, identity, options) from fault
        raise
    finally:
        producer.close()


def _from_first_row(batches: Batches) -> Iterator[pa.RecordBatch] | None:
    """The batches if there is a row in any of them. Spark runs tasks for empty partitions too."""
    iterator = iter(batches)
    for batch in iterator:
        if batch.num_rows:
            return chain([batch], iterator)
    return None


def _take_over(
    producer: RawProducer, cluster: Cluster, identity: TaskIdentity, options: SinkOptions
) -> Marker | None:
    """Steps 1 and 2."""
    try:
        producer.begin()
        return newest_marker(committed_offsets(cluster, identity.name, require_stable=True))
    except _UNAVAILABLE as fault:
        raise _no_transactions(fault, identity, options) from fault


def _skip(rows: Iterator[pa.RecordBatch], marker: Marker, identity: TaskIdentity) -> Outcome:
    """Step 3. The rows are counted because Spark promises the same ones, and may be mistaken."""
    if marker.batch_id > identity.batch_id:
        raise NotRepeated(
            f"{identity} comes after batch {marker.batch_id} of it was written: the checkpoint is "
            "an older one than the last run's, and its batches need not hold the same rows. Give "
            "the checkpoint back that belongs to the topic; or, to write the rows again, start "
            f"from a new checkpoint (or delete the groups {identity.name} and its siblings)"
        )
    count = sum(batch.num_rows for batch in rows)
    if marker.rows is not None and marker.rows != count:
        raise NotRepeated(
            f"{identity} was written before with {marker.rows} rows and comes again with {count}: "
            "the batch was not repeated identically. Look for what makes the query differ from run "
            "to run (rand, uuid or the time of day in a filter, a lookup that changes, another "
            "number of partitions than before the restart); nothing was written by this attempt"
        )
    _LOGGER.info("%s is written already: %d rows passed over", identity, count)
    return Outcome(skipped_rows=count)


def _finish(
    producer: RawProducer,
    written: Counter[TopicPartition],
    identity: TaskIdentity,
    options: SinkOptions,
) -> None:
    """Step 4, after the rows: all of them acknowledged, then the marker, then the commit."""
    producer.flush()
    marker = Marker(identity.batch_id, written.total())
    try:
        topics = {partition.topic for partition in written}
        producer.send_offsets(identity.name, marker_offsets(marker, topics))
    except _UNAVAILABLE as fault:
        raise _no_transactions(fault, identity, options) from fault
    producer.commit()


def _give_up(producer: RawProducer, identity: TaskIdentity) -> None:
    """Let readers pass at once. If that fails, the next attempt or the time-out does it."""
    try:
        producer.abort()
    except HeadraceError as fault:
        _LOGGER.warning("%s could not abort its transaction: %s", identity, fault)


def _no_transactions(
    fault: HeadraceError, identity: TaskIdentity, options: SinkOptions
) -> NoTransactions:
    if isinstance(fault, BrokerRefused) and fault.error is Error.INVALID_TRANSACTION_TIMEOUT:
        remedy = (
            f"the brokers allow no transaction of {options.transaction_timeout_ms} ms: lower "
            "kafka.transaction.timeout.ms, or raise transaction.max.timeout.ms of the brokers"
        )
    else:
        remedy = (
            "it needs brokers with transactions, and the rights to write with transactional ids "
            "and to commit offsets of groups that begin with 'headrace-sink-' (and to read the "
            "topic); without them choose guarantee = at-least-once"
        )
    return NoTransactions(f"{identity} cannot be written exactly once: {fault}; {remedy}")


def _taken_over(fault: Fenced, identity: TaskIdentity, options: SinkOptions) -> Fenced:
    return Fenced(
        f"{identity}: another attempt at it has begun since, or its transaction took longer than "
        f"kafka.transaction.timeout.ms = {options.transaction_timeout_ms} ms; nothing of this "
        f"attempt is visible ({fault})"
    )
