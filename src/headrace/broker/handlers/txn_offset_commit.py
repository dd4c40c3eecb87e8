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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from headrace.broker.net.handler import Answer, Handler, Outcome
from headrace.broker.transactions.admission import Unsettled, admit, as_told_to_committer, must_ask
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
    from headrace.broker.groups.groups import Groups
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call
    from headrace.broker.transactions.remote import RemoteTransactions
    from headrace.broker.transactions.transactions import Transactions

_ABORTABLE_SINCE: Final = 4
_ADDS_SINCE: Final = 5


@dataclass(frozen=True, slots=True)
class Parts:
    """What TxnOffsetCommit needs of the broker."""

    metadata: Metadata
    groups: Groups
    transactions: Transactions
    remote_transactions: RemoteTransactions | None


def handle(
    parts: Parts, request: TxnOffsetCommitRequest, call: Call
) -> Answer[TxnOffsetCommitResponse]:
    return _admit_and_commit(parts, request, call, None)


def _admit_and_commit(
    parts: Parts, request: TxnOffsetCommitRequest, call: Call, awaited: Unsettled | None
) -> Answer[TxnOffsetCommitResponse]:
    groups = parts.groups
    adds = call.version >= _ADDS_SINCE
    if must_ask(parts.metadata.settings.config, adds=adds):
        try:
            offsets = TopicPartition(groups.topic_name, groups.index_of(request.group_id))
            groups.host_of(request.group_id)  # Who is not the group's coordinator adds nothing.
        except ClientFault as fault:
            return _refused(request, fault.error)
        producer = ProducerIdentity(request.producer_id, request.producer_epoch)
        remote = parts.remote_transactions
        if remote is not None and remote.is_elsewhere(request.transactional_id):
            return _when_admitted(remote, offsets, producer, parts, request, call)
        errors, unsettled = admit(
            parts.transactions,
            request.transactional_id,
            producer,
            [offsets],
            adds=adds,
            awaited=awaited,
        )
        if errors[offsets]:
            return _not_admitted(request, errors[offsets], call)
        if unsettled is not None:
            return _ask_again(unsettled, parts, request, call)
    return _commit(parts, request, call)


def _commit(
    parts: Parts, request: TxnOffsetCommitRequest, call: Call
) -> Outcome[TxnOffsetCommitResponse]:
    return parts.groups.ask(
        request.group_id,
        call,
        lambda shard, who, now_ms: shard.handle_txn_offset_commit(request, who, now_ms),
        lambda error: _refused(request, error),
    )


async def _when_admitted(
    remote: RemoteTransactions,
    offsets: TopicPartition,
    producer: ProducerIdentity,
    parts: Parts,
    request: TxnOffsetCommitRequest,
    call: Call,
) -> Outcome[TxnOffsetCommitResponse]:
    """Ask the transaction coordinator on another broker."""
    errors = await remote.admit_remote(
        request.transactional_id, producer, [offsets], adds=call.version >= _ADDS_SINCE
    )
    if errors[offsets]:
        return _not_admitted(request, errors[offsets], call)
    return _commit(parts, request, call)


async def _ask_again(
    unsettled: Unsettled, parts: Parts, request: TxnOffsetCommitRequest, call: Call
) -> Outcome[TxnOffsetCommitResponse]:
    """Ask again when the coordinator's record is committed: by then it may be too late."""
    try:
        timeout_ms = parts.metadata.settings.config.get_int("offsets.commit.timeout.ms")
        async with asyncio.timeout(timeout_ms / 1000):
            await unsettled.wait()
    except TimeoutError:
        return _not_admitted(request, Error.COORDINATOR_NOT_AVAILABLE, call)
    answer = _admit_and_commit(parts, request, call, unsettled)
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


HANDLER = Handler(request=TxnOffsetCommitRequest, handle=handle)
