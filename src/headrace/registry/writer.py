"""Writes into the topic that only the newest primary can make.

A primary that was stopped for a while may wake up and not know yet that another one was elected. So
all primaries write as one producer: each begins by raising the epoch of the same transactional id
and by writing a record. From that record on the leader of the partition refuses the epochs before
it. The batches themselves are plain idempotent ones, not transactions: readers that know nothing of
transactions never see a record that was taken back.

A write that failed may still arrive, late. `fence` is the remedy there too: after it, what has not
arrived never will.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from headrace.client.cluster import Cluster
from headrace.client.delivery import Batch, Delivery
from headrace.client.faults import BrokerRefused
from headrace.client.transactions import Identity, Transactions, init_idempotent
from headrace.errors import Error
from headrace.records.builder import BatchBuilder
from headrace.types import TopicPartition
from headrace.wire.schema import LAST_VERSION

_LOG: Final = logging.getLogger(__name__)

_MAX_REQUEST_BYTES: Final = 64 << 20
"""Nothing is split here: what is too large is for the broker to refuse."""
_TRANSACTION_TIMEOUT_MS: Final = 60_000
_NOT_ALLOWED: Final = (
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    Error.CLUSTER_AUTHORIZATION_FAILED,
)

_LAST_SEQUENCE: Final = 0x7FFFFFFF

KeyValue = tuple[bytes, bytes | None]


class Mark(NamedTuple):
    """By which the reader recognises a batch of ours in the log."""

    producer_id: int
    epoch: int
    last_sequence: int


class FencedWriter:
    """For one thread at a time. After an exception only `fence` is of use."""

    def __init__(self, cluster: Cluster, place: TopicPartition, transactional_id: str) -> None:
        self._cluster = cluster
        self._place = place
        self._transactions = Transactions(cluster, transactional_id, _TRANSACTION_TIMEOUT_MS)
        self._identity = Identity(-1, -1)
        self._sequence = 0
        self._delivery = self._new_delivery()

    def fence(self) -> None:
        """Become the newest writer; the next write shuts all others out."""
        try:
            self._identity = self._transactions.init()
        except BrokerRefused as error:
            if error.error not in _NOT_ALLOWED:
                raise
            _LOG.warning(
                "%s. The registry goes on without it: a deposed primary is stopped by "
                "the group alone",
                error,
            )
            self._identity = init_idempotent(self._cluster)
        self._sequence = 0
        self._delivery = self._new_delivery()

    def write(self, records: Sequence[KeyValue]) -> Mark:
        """Append these records in one batch; returns when the brokers have acknowledged it."""
        identity = self._identity
        builder = BatchBuilder(
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            base_sequence=self._sequence,
        )
        now_ms = int(time.time() * 1000)
        for key, value in records:
            builder.append(key, value, now_ms)
        last = self._sequence + len(records) - 1
        self._delivery.add(Batch(self._place, builder.build(), len(records)))
        self._delivery.flush()
        self._sequence = (last + 1) & _LAST_SEQUENCE
        return Mark(*identity, last)

    def _new_delivery(self) -> Delivery:
        return Delivery(
            self._cluster,
            transactional_id=None,
            acks=-1,
            max_request_bytes=_MAX_REQUEST_BYTES,
            admit=_admit_all,
            last_version=_newest_version,
        )


def _admit_all(places: Collection[TopicPartition]) -> None:
    """Outside of transactions every partition may be written to."""


def _newest_version() -> int:
    return LAST_VERSION
