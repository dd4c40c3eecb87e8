"""The transaction coordinator for one partition of `__transaction_state`.

Handlers decide on the metadata as it is and return effects; `replay` is the only one that changes
it, live and at load. Beside it the shard keeps two things that a crash may take: which markers are
still to be written (all of them are, after a load: a partition takes a marker twice without harm),
and whom the last InitProducerId answered (see `init_producer_id`).

Whoever runs the shard looks after authorization, after partitions that do not exist, and after
fresh producer ids: `fresh_producer_id` gives the next one or raises ClientFault with an error that
tells the client to come again.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Hashable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from headrace.coordinator.effects import (
    AnyReply,
    Caller,
    Effects,
    ProducerIdentity,
    Reply,
    TransactionMarkers,
)
from headrace.coordinator.timers import Timers
from headrace.coordinator.transaction.ending import (
    end_with_next_epoch,
    end_with_same_epoch,
    fence_and_abort,
)
from headrace.coordinator.transaction.expiry import Timer, TimerKind, due_ms, timer_for
from headrace.coordinator.transaction.init_producer_id import Succession, initialize, named_producer
from headrace.coordinator.transaction.listing import described
from headrace.coordinator.transaction.metadata import (
    TRANSACTIONS_V1,
    TRANSACTIONS_V2,
    TransactionMetadata,
    from_record,
    to_record,
    to_tombstone,
)
from headrace.coordinator.transaction.partitions import (
    add_partitions,
    flattened,
    topic_results,
    verify_partitions,
)
from headrace.coordinator.transaction.records import TransactionRecord
from headrace.coordinator.transaction.settings import TransactionSettings
from headrace.coordinator.transaction.state import TransactionState
from headrace.errors import ClientFault, Error
from headrace.types import NO_EPOCH, NO_PRODUCER_ID, TopicPartition
from headrace.wire.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from headrace.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
)
from headrace.wire.messages.describe_transactions import TransactionState as Description
from headrace.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from headrace.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

BATCHED_SINCE: Final = 4  # AddPartitionsToTxn: several transactions at once, sent by brokers
NEXT_EPOCH_SINCE: Final = 5  # EndTxn: each end raises the epoch

_NOBODY: Final = ProducerIdentity(NO_PRODUCER_ID, NO_EPOCH)


TransactionEffects: TypeAlias = Effects[TransactionRecord, TransactionMarkers]


class TransactionShard:
    """The transactional ids of one partition, with their transactions."""

    def __init__(
        self,
        settings: TransactionSettings,
        coordinator_epoch: int,
        fresh_producer_id: Callable[[], int],
    ) -> None:
        self.settings = settings
        self.timers = Timers()
        self._coordinator_epoch = coordinator_epoch
        self._fresh_producer_id = fresh_producer_id
        self._transactions: dict[str, TransactionMetadata] = {}
        # Only transactions that are ending, with the partitions that have no marker yet.
        self._outstanding: dict[str, set[TopicPartition]] = {}
        self._successions: dict[str, Succession] = {}

    @property
    def transactions(self) -> Mapping[str, TransactionMetadata]:
        """Everything that was replayed and is still known, by transactional id."""
        return MappingProxyType(self._transactions)

    def replay(
        self, record: TransactionRecord, *, offset: int, transaction: ProducerIdentity | None
    ) -> None:
        """Let the shard know what a record says; CorruptData if it can say nothing."""
        transactional_id = record.key.transactional_id
        if record.value is None:
            self._forget(transactional_id)
            return
        metadata = from_record(record.key, record.value)
        self._transactions[transactional_id] = metadata
        if metadata.is_ending:
            self._outstanding[transactional_id] = set(metadata.partitions)
        else:
            self._outstanding.pop(transactional_id, None)
        timer = timer_for(metadata, self.settings)
        if timer is not None:
            self.timers.set(*timer)

    def replay_end_transaction(self, producer: ProducerIdentity, commit: bool) -> None:
        """Nobody writes to this topic in a transaction; a marker that is here means nothing."""

    def _forget(self, transactional_id: str) -> None:
        self._transactions.pop(transactional_id, None)
        self._outstanding.pop(transactional_id, None)
        self._successions.pop(transactional_id, None)
        for kind in TimerKind:
            self.timers.cancel(Timer(kind, transactional_id))

    def on_loaded(self, now_ms: int) -> TransactionEffects:
        """Go on with every end that is decided and perhaps not written everywhere."""
        effects: TransactionEffects = Effects()
        for transactional_id in self._outstanding:
            metadata = self._transactions[transactional_id]
            if metadata.partitions:
                effects.sends.append(self._markers(metadata))
            else:
                effects.records.append(to_record(metadata.completed(now_ms)))
        return effects

    def on_timer(self, key: Hashable, now_ms: int) -> TransactionEffects:
        """Abort a transaction that is too old; forget a transactional id that nobody uses."""
        assert isinstance(key, Timer)
        metadata = self._transactions.get(key.transactional_id)
        if metadata is None:
            return Effects()
        deadline_ms = due_ms(metadata, key.kind, self.settings)
        if deadline_ms < 0:
            return Effects()
        if deadline_ms > now_ms:  # the settings allow more than when the timer was set
            self.timers.set(key, deadline_ms)
            return Effects()
        if key.kind is TimerKind.ID_EXPIRATION:
            return Effects(records=[to_tombstone(metadata)])
        try:
            aborted = fence_and_abort(
                metadata, self.settings.transaction_version, now_ms, self._fresh_producer_id
            )
        except ClientFault:  # there is no fresh producer id at the moment
            self.timers.set(
                key,
                now_ms + self.settings.transaction_abort_timed_out_transaction_cleanup_interval_ms,
            )
            return Effects()
        return self._end(aborted, now_ms)

    def abandon(self, _error: Error) -> list[AnyReply]:
        """Nobody is parked here: every request is answered with the effects of its handler."""
        return []

    def on_markers_written(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: Collection[TopicPartition],
        now_ms: int,
    ) -> TransactionEffects:
        """These partitions have the marker that was sent for this producer.

        Under transactions v1 one identity ends many transactions: whoever sends markers must not
        report a partition of an earlier one, which it does not if it waits for the answer to one
        request about a transaction before it sends the next.
        """
        metadata = self._transactions.get(transactional_id)
        if metadata is None or not metadata.is_ending or metadata.producer != producer:
            return Effects()  # late: the transaction that it was about is complete
        outstanding = self._outstanding[transactional_id]
        outstanding.difference_update(partitions)
        if outstanding:
            return Effects()
        return Effects(records=[to_record(metadata.completed(now_ms))])

    def handle_init_producer_id(
        self, request: InitProducerIdRequest, caller: Caller[InitProducerIdResponse], now_ms: int
    ) -> TransactionEffects:
        """Give a transactional producer its identity; an open transaction is aborted first."""
        transactional_id = request.transactional_id or ""
        known = self._transactions.get(transactional_id)
        last = self._successions.get(transactional_id)
        try:
            named = named_producer(request)
            decided = initialize(
                known, request, last, self.settings, now_ms, self._fresh_producer_id
            )
        except ClientFault as fault:
            return Effects(replies=[_init_producer_id_reply(caller, fault.error, _NOBODY)])
        if decided.is_ending:
            effects = self._end(decided, now_ms)
            error = Error.CONCURRENT_TRANSACTIONS
            effects.replies.append(_init_producer_id_reply(caller, error, _NOBODY))
            return effects
        if named is not None and known is not None and decided.producer != known.producer:
            self._successions[transactional_id] = Succession(named, decided.producer)
        reply = _init_producer_id_reply(caller, Error.NONE, decided.producer)
        return Effects(records=[to_record(decided)], replies=[reply])

    def handle_add_partitions_to_txn(
        self,
        request: AddPartitionsToTxnRequest,
        caller: Caller[AddPartitionsToTxnResponse],
        now_ms: int,
    ) -> TransactionEffects:
        """Add partitions to one transaction, or from v4 on add to or verify several.

        A producer sends up to v3. What brokers send from v4 on must be divided by shard before.
        """
        if caller.version < BATCHED_SINCE:
            return self._add_to_one(request, caller, now_ms)
        effects: TransactionEffects = Effects()
        response = AddPartitionsToTxnResponse()
        # What an entry of the request adds is known to the next one, though not replayed yet.
        known = ChainMap({}, self._transactions)
        for entry in request.transactions:
            transactional_id = entry.transactional_id
            producer = ProducerIdentity(entry.producer_id, entry.producer_epoch)
            partitions = flattened(entry.topics)
            before = known.get(transactional_id)
            if entry.verify_only:
                errors = verify_partitions(transactional_id, before, producer, partitions)
            else:
                decided = add_partitions(
                    transactional_id, before, producer, partitions, TRANSACTIONS_V2, now_ms
                )
                if isinstance(decided, TransactionMetadata):
                    known[transactional_id] = decided
                error, records = _recorded(decided)
                effects.records += records
                errors = dict.fromkeys(partitions, error)
            response.results_by_transaction.append(
                AddPartitionsToTxnResult(
                    transactional_id=transactional_id,
                    topic_results=topic_results(entry.topics, errors),
                )
            )
        effects.replies.append(caller.reply(response))
        return effects

    def _add_to_one(
        self,
        request: AddPartitionsToTxnRequest,
        caller: Caller[AddPartitionsToTxnResponse],
        now_ms: int,
    ) -> TransactionEffects:
        transactional_id = request.v3_and_below_transactional_id
        producer = ProducerIdentity(
            request.v3_and_below_producer_id, request.v3_and_below_producer_epoch
        )
        partitions = flattened(request.v3_and_below_topics)
        known = self._transactions.get(transactional_id)
        error, records = _recorded(
            add_partitions(transactional_id, known, producer, partitions, TRANSACTIONS_V1, now_ms)
        )
        errors = dict.fromkeys(partitions, _for_version(error, caller.version, fenced_since=2))
        response = AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=topic_results(request.v3_and_below_topics, errors)
        )
        return Effects(records=records, replies=[caller.reply(response)])

    def handle_add_offsets_to_txn(
        self,
        request: AddOffsetsToTxnRequest,
        caller: Caller[AddOffsetsToTxnResponse],
        partition: TopicPartition,
        now_ms: int,
    ) -> TransactionEffects:
        """Let a group's offsets be part of the transaction: they are kept in `partition`."""
        transactional_id = request.transactional_id
        known = self._transactions.get(transactional_id)
        producer = ProducerIdentity(request.producer_id, request.producer_epoch)
        error, records = _recorded(
            add_partitions(transactional_id, known, producer, [partition], TRANSACTIONS_V1, now_ms)
        )
        response = AddOffsetsToTxnResponse(
            error_code=_for_version(error, caller.version, fenced_since=2)
        )
        return Effects(records=records, replies=[caller.reply(response)])

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: Collection[TopicPartition],
        now_ms: int,
    ) -> tuple[Error, list[TransactionRecord]]:
        """A producer of transactions v2 is about to write: its records are part of it from now on.

        The write may begin when the records that come back, if any, are committed.
        """
        known = self._transactions.get(transactional_id)
        return _recorded(
            add_partitions(transactional_id, known, producer, partitions, TRANSACTIONS_V2, now_ms)
        )

    def verify_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: Collection[TopicPartition],
    ) -> dict[TopicPartition, Error]:
        """Whether a producer of transactions v1 may write to these partitions (KIP-890)."""
        known = self._transactions.get(transactional_id)
        return verify_partitions(transactional_id, known, producer, partitions)

    def handle_end_txn(
        self, request: EndTxnRequest, caller: Caller[EndTxnResponse], now_ms: int
    ) -> TransactionEffects:
        """Commit or abort; the answer leaves when the decision is committed, markers follow."""
        transactional_id = request.transactional_id
        producer = ProducerIdentity(request.producer_id, request.producer_epoch)
        known = self._transactions.get(transactional_id)
        if caller.version < NEXT_EPOCH_SINCE:
            decided = end_with_same_epoch(
                transactional_id, known, producer, request.committed, now_ms
            )
        else:
            try:
                decided = end_with_next_epoch(
                    transactional_id,
                    known,
                    producer,
                    request.committed,
                    now_ms,
                    self._fresh_producer_id,
                )
            except ClientFault as fault:
                decided = fault.error
        if isinstance(decided, TransactionMetadata):
            effects = self._end(decided, now_ms)
            effects.replies.append(_end_txn_reply(caller, Error.NONE, decided.successor))
            return effects
        producer = known.producer if known is not None and decided is Error.NONE else _NOBODY
        return Effects(replies=[_end_txn_reply(caller, decided, producer)])

    def handle_describe_transactions(self, transactional_id: str) -> Description:
        """What DescribeTransactions shows of one transactional id."""
        known = self._transactions.get(transactional_id)
        partitions = known.partitions if known is not None else ()
        return described(
            transactional_id, known, self._outstanding.get(transactional_id, partitions)
        )

    def _end(self, prepared: TransactionMetadata, now_ms: int) -> TransactionEffects:
        """Write the decision, then markers; without partitions the end is complete at once."""
        if not prepared.partitions:
            completed = prepared.completed(now_ms)
            return Effects(records=[to_record(prepared), to_record(completed)])
        return Effects(records=[to_record(prepared)], sends=[self._markers(prepared)])

    def _markers(self, prepared: TransactionMetadata) -> TransactionMarkers:
        return TransactionMarkers(
            transactional_id=prepared.transactional_id,
            producer=prepared.producer,
            commit=prepared.state is TransactionState.PREPARE_COMMIT,
            coordinator_epoch=self._coordinator_epoch,
            transaction_version=prepared.client_transaction_version,
            partitions=tuple(sorted(prepared.partitions)),
        )


def _recorded(decided: TransactionMetadata | Error) -> tuple[Error, list[TransactionRecord]]:
    if isinstance(decided, TransactionMetadata):
        return Error.NONE, [to_record(decided)]
    return decided, []


def _for_version(error: Error, version: int, fenced_since: int) -> Error:
    """Clients before KIP-588 know only one error for a producer that was replaced."""
    if error is Error.PRODUCER_FENCED and version < fenced_since:
        return Error.INVALID_PRODUCER_EPOCH
    return error


def _init_producer_id_reply(
    caller: Caller[InitProducerIdResponse], error: Error, producer: ProducerIdentity
) -> Reply[InitProducerIdResponse]:
    response = InitProducerIdResponse(
        error_code=_for_version(error, caller.version, fenced_since=4),
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
    )
    return caller.reply(response)


def _end_txn_reply(
    caller: Caller[EndTxnResponse], error: Error, producer: ProducerIdentity
) -> Reply[EndTxnResponse]:
    response = EndTxnResponse(error_code=_for_version(error, caller.version, fenced_since=2))
    if caller.version >= NEXT_EPOCH_SINCE:
        response.producer_id, response.producer_epoch = producer
    return caller.reply(response)
