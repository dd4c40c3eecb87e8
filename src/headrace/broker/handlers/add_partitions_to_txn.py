"""AddPartitionsToTxn, v0-v5.

Behaviour: a producer of transactions v1 names the partitions that it is going to write to. If one
of them does not exist, none is added: it is UNKNOWN_TOPIC_OR_PARTITION, the others are
OPERATION_NOT_ATTEMPTED. From v4 on brokers ask for several transactions at once, to add or to
verify (KIP-890); each of them is refused on its own.

Version notes: v2 PRODUCER_FENCED (KIP-588) · v3 flexible · v4 batches and verification · v5
TRANSACTION_ABORTABLE (KIP-890).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from headrace.broker.net.handler import Answer, Handler
from headrace.coordinator.effects import Caller, Effects
from headrace.coordinator.transaction.partitions import flattened, topic_results
from headrace.coordinator.transaction.shard import TransactionEffects, TransactionShard
from headrace.errors import Error
from headrace.types import TopicPartition
from headrace.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call
    from headrace.broker.transactions.transactions import Transactions

_BATCHED_SINCE: Final = 4


def handle(
    metadata: Metadata, transactions: Transactions, request: AddPartitionsToTxnRequest, call: Call
) -> Answer[AddPartitionsToTxnResponse]:
    if call.version < _BATCHED_SINCE:
        return _handle_one(metadata, transactions, request, call)
    return _handle_batch(metadata, transactions, request, call)


def _handle_one(
    metadata: Metadata, transactions: Transactions, request: AddPartitionsToTxnRequest, call: Call
) -> Answer[AddPartitionsToTxnResponse]:
    topics = request.v3_and_below_topics

    def answer(errors: dict[TopicPartition, Error]) -> AddPartitionsToTxnResponse:
        return AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=topic_results(topics, errors)
        )

    absent = _errors_if_absent(metadata, topics)
    if absent:
        return answer(absent)
    return transactions.ask(
        request.v3_and_below_transactional_id,
        call,
        lambda shard, who, now_ms: shard.handle_add_partitions_to_txn(request, who, now_ms),
        lambda error: answer(dict.fromkeys(flattened(topics), error)),
    )


def _handle_batch(
    metadata: Metadata, transactions: Transactions, request: AddPartitionsToTxnRequest, call: Call
) -> Answer[AddPartitionsToTxnResponse]:
    entries = request.transactions

    def work(
        index: int,
        shard: TransactionShard,
        who: Caller[AddPartitionsToTxnResponse],
        now_ms: int,
    ) -> TransactionEffects:
        absent = _errors_if_absent(metadata, entries[index].topics)
        if absent:
            return Effects(replies=[who.reply(outcome(index, absent))])
        part = AddPartitionsToTxnRequest(transactions=[entries[index]])
        return shard.handle_add_partitions_to_txn(part, who, now_ms)

    def outcome(index: int, errors: dict[TopicPartition, Error]) -> AddPartitionsToTxnResponse:
        entry = entries[index]
        result = AddPartitionsToTxnResult(
            transactional_id=entry.transactional_id,
            topic_results=topic_results(entry.topics, errors),
        )
        return AddPartitionsToTxnResponse(results_by_transaction=[result])

    def refusal(index: int, error: Error) -> AddPartitionsToTxnResponse:
        return outcome(index, dict.fromkeys(flattened(entries[index].topics), error))

    def combine(parts: list[AddPartitionsToTxnResponse]) -> AddPartitionsToTxnResponse:
        return AddPartitionsToTxnResponse(
            results_by_transaction=[
                result for part in parts for result in part.results_by_transaction
            ]
        )

    names = [entry.transactional_id for entry in entries]
    return transactions.ask_each(names, call, work, refusal, combine)


def _errors_if_absent(
    metadata: Metadata, topics: Sequence[AddPartitionsToTxnTopic]
) -> dict[TopicPartition, Error]:
    """An error for each partition if one of them does not exist; otherwise nothing."""
    image = metadata.image
    partitions = flattened(topics)
    if all(image.partition(*partition) is not None for partition in partitions):
        return {}
    return {
        partition: Error.UNKNOWN_TOPIC_OR_PARTITION
        if image.partition(*partition) is None
        else Error.OPERATION_NOT_ATTEMPTED
        for partition in partitions
    }


HANDLER = Handler(request=AddPartitionsToTxnRequest, handle=handle)
