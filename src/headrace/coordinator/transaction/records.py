"""The records of `__transaction_state`: one for each transactional id, in its latest state.

    TYPE  KEY                VALUE                WRITTEN VERSION
       0  TransactionLogKey  TransactionLogValue  1

The bytes are those of Apache Kafka 4.3; docs/formats/transaction-state.md describes them.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.formats import RecordFormats, RecordType
from headrace.types import NO_EPOCH, NO_PRODUCER_ID
from headrace.wire.schema import data, struct, tagged
from headrace.wire.types import Int8, Int16, Int32, Int64


@data(versions="0")
class TransactionLogKey:
    transactional_id: str


@struct
class TransactionTopic:
    """The partitions of one topic that take part in a transaction."""

    topic: str
    partition_ids: list[Int32]


@data(versions="0-1", flexible=1)
class TransactionLogValue:
    producer_id: Int64
    previous_producer_id: Int64 = tagged(0, since=1, default=NO_PRODUCER_ID)
    next_producer_id: Int64 = tagged(1, since=1, default=NO_PRODUCER_ID)
    producer_epoch: Int16
    next_producer_epoch: Int16 = tagged(3, since=1, default=NO_EPOCH)
    transaction_timeout_ms: Int32
    transaction_status: Int8
    # None in the state Empty, in which no partition can take part.
    transaction_partitions: list[TransactionTopic] | None
    transaction_last_update_timestamp_ms: Int64
    transaction_start_timestamp_ms: Int64
    client_transaction_version: Int16 = tagged(2, since=1, default=0)


TransactionRecord: TypeAlias = StateRecord[TransactionLogKey, TransactionLogValue]

FORMATS: Final = RecordFormats(
    "__transaction_state",
    {0: RecordType(TransactionLogKey, TransactionLogValue, lambda _: 1)},
)
encode_record: Final = FORMATS.encode
decode_record: Final = FORMATS.decode
