"""TxnOffsetCommit, v0-v5.

Behaviour: offsets that become those of the group when the transaction commits. The transaction
coordinator is asked first whether the group's offsets are part of the transaction; from v5 on this
request makes them part of it (KIP-890).

Version notes: v2 leader epoch · v3 flexible, member and generation (KIP-447) · v4
TRANSACTION_ABORTABLE · v5 transactions v2 (KIP-890).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Final

from headrace.broker.dispatch import Answer, Handler
from headrace.broker.transactional_writes import (
    Unsettled,
    admit,
    as_told_to_committer,
    must_ask,
    settled,
)
from headrace.coordinator.effects import ProducerIdentity
from headrace.errors import ClientFault, Error
from headrace.types import TopicPartition
from headrace.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.call import Call
    from headrace.broker.remote_transactions import RemoteTransactions

_ABORTABLE_SINCE: Final = 4
_ADDS_SINCE: Final = 5


def handle(
    broker: Broker, request: TxnOffsetCommitRequest, call: Call, awaited: Unsettled | None = None
) -> Answer:
    groups = broker.groups
    adds = call.version >= _ADDS_SINCE
    if must_ask(broker.config, adds=adds):
        try:
            offsets = TopicPartition(groups.topic_name, groups.index_of(request.group_id))
            groups.host_of(request.group_id)  # Who is not the group's coordinator adds nothing.
        except ClientFault as fault:
            return _refused(request, fault.error)
        producer = ProducerIdentity(request.producer_id, request.producer_epoch)
        remote = broker.remote_transactions
        if remote is not None and remote.is_elsewhere(request.transactional_id):
            return _when_admitted(remote, offsets, producer, broker, request, call)
        errors, unsettled = admit(
            broker.transactions,
            request.transactional_id,
            producer,
            [offsets],
            adds=adds,
            awaited=awaited,
        )
        if errors[offsets]:
            return _not_admitted(request, errors[offsets], call)
        if unsettled is not None:
            return _ask_again(unsettled, broker, request, call)
    return _commit(broker, request, call)


def _commit(broker: Broker, request: TxnOffsetCommitRequest, call: Call) -> Answer:
    return broker.groups.ask(
        request.group_id,
        call,
        lambda shard, who, now_ms: shard.handle_txn_offset_commit(request, who, now_ms),
        lambda error: _refused(request, error),
    )


async def _when_admitted(
    remote: RemoteTransactions,
    offsets: TopicPartition,
    producer: ProducerIdentity,
    broker: Broker,
    request: TxnOffsetCommitRequest,
    call: Call,
) -> Answer:
    """Ask the transaction coordinator on another broker."""
    errors = await remote.admit_remote(
        request.transactional_id, producer, [offsets], adds=call.version >= _ADDS_SINCE
    )
    if errors[offsets]:
        return _not_admitted(request, errors[offsets], call)
    return _commit(broker, request, call)


async def _ask_again(
    unsettled: Unsettled, broker: Broker, request: TxnOffsetCommitRequest, call: Call
) -> Answer:
    """Ask again when the coordinator's record is committed: by then it may be too late."""
    try:
        async with asyncio.timeout(broker.config.get_int("offsets.commit.timeout.ms") / 1000):
            await settled(unsettled)
    except TimeoutError:
        return _not_admitted(request, Error.COORDINATOR_NOT_AVAILABLE, call)
    answer = handle(broker, request, call, unsettled)
    return await answer if isinstance(answer, Coroutine) else answer


def _not_admitted(
    request: TxnOffsetCommitRequest, error: Error, call: Call
) -> TxnOffsetCommitResponse:
    knows_abortable = call.version >= _ABORTABLE_SINCE
    return _refused(request, as_told_to_committer(error, knows_abortable=knows_abortable))


def _refused(request: TxnOffsetCommitRequest, error: Error) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=partition.partition_index, error_code=error
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


HANDLER = Handler(key=28, versions=(0, 5), request=TxnOffsetCommitRequest, handle=handle)
