"""A shard on its partition: what it decides is appended, replayed, and answered once committed.

The host is the only writer of its partition of the internal topic. It knows nothing of requests,
threads or time: `perform` is told the time, a load is a loop whose pace the caller sets, and a
partition that must be flushed first tells when it is.

    LOADING ──load──▶ ACTIVE ──the log cannot be written──▶ LOADING
       └────the log cannot be read────▶ FAILED
    any ──resign──▶ RESIGNED
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from enum import Enum
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from headrace.coordinator.effects import (
    AnyReply,
    Effects,
    ProducerIdentity,
    Record,
    Send,
    TransactionMarkers,
)
from headrace.coordinator.timers import Timers
from headrace.errors import ClientFault, CorruptData, Error
from headrace.log import PartitionLog
from headrace.log.append import Appended
from headrace.records.batch import BatchHeader, damage, split_batches
from headrace.records.builder import BatchBuilder
from headrace.records.control import parse_control
from headrace.records.record import iterate
from headrace.types import NO_EPOCH, NO_PRODUCER_ID, TopicPartition

_LOAD_BYTES: Final = 1 << 20


class HostState(Enum):
    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"
    RESIGNED = "resigned"


class Shard(Protocol[Record, Send]):
    """What a host needs of any state machine."""

    timers: Timers

    def replay(self, record: Record, *, offset: int, transaction: ProducerIdentity | None) -> None:
        """Apply a record that stands at `offset`, live or at load; CorruptData if it cannot be."""

    def replay_end_transaction(self, producer: ProducerIdentity, commit: bool) -> None:
        """Apply a marker: what the producer wrote in its transaction counts, or does not."""

    def on_loaded(self, now_ms: int) -> Effects[Record, Send]: ...

    def on_timer(self, key: Hashable, now_ms: int) -> Effects[Record, Send]: ...

    def abandon(self, error: Error) -> list[AnyReply]:
        """Answers for everybody who is still parked; the shard is not used any more."""


class StatePartition(Protocol):
    """What a host needs of the partition; `headrace.replica.partition.Partition` is one."""

    topic_partition: TopicPartition
    log: PartitionLog
    offline_reason: str

    @property
    def high_watermark(self) -> int: ...

    def append_internal(
        self, batch: bytes, *, now_ms: int, transaction_version: int = 0
    ) -> Appended: ...

    def when_committed(self, required: int, call: Callable[[], None]) -> None:
        """Call when the high watermark reaches `required`, or when it never will."""


class InternalTopic(Protocol[Record]):
    """How the records of one internal topic become bytes; a `RecordFormats` is one."""

    name: str

    def encode(self, record: Record, /) -> tuple[bytes, bytes | None]: ...

    def decode(self, key: bytes | None, value: bytes | None, /) -> Record | None: ...


S = TypeVar("S", bound=Shard[Any, Any])


class Hooks(NamedTuple):
    """What a host leaves to the broker. `wait` is `when_committed` with an end to its patience."""

    written: Callable[[Appended], None] = lambda _: None
    note: Callable[[str], None] = lambda _: None
    on_disk_fault: Callable[[OSError], object] = lambda _: None
    wait: Callable[[int, Callable[[], None]], None] | None = None


class Host(Generic[S, Record, Send]):
    """One shard, its partition, and the order between them."""

    def __init__(
        self,
        topic: InternalTopic[Record],
        partition: StatePartition,
        new_shard: Callable[[], S],
        send: Callable[[Host[S, Record, Send], Send], None],
        hooks: Hooks,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.state = HostState.LOADING
        self.reason = ""  # why the log could not be read
        self.bad_records = 0
        self.shard = new_shard()
        self._new_shard = new_shard
        self._send = send
        self._hooks = hooks
        self._wait = hooks.wait or partition.when_committed

    # Loading.

    def load(self, now_ms: int) -> Iterator[int]:
        """Replay the log into a new shard; yields the next offset after each piece of it."""
        assert self.state is HostState.LOADING
        shard = self.shard = self._new_shard()
        log = self.partition.log
        offset = log.log_start_offset
        try:
            while offset < log.log_end_offset:
                piece = log.read(offset, _LOAD_BYTES, up_to=log.log_end_offset)
                data = memoryview(piece.data())
                before = offset
                for header, batch in split_batches(data, allow_partial_tail=True):
                    if header.next_offset > offset:
                        self._replay_batch(shard, header, batch)
                        offset = header.next_offset
                if offset == before:
                    raise CorruptData(f"nothing can be read at offset {offset}")
                yield offset
                if self.state is not HostState.LOADING or shard is not self.shard:
                    return  # resigned meanwhile, or somebody began anew
        except (CorruptData, ClientFault, OSError) as fault:
            self.state = HostState.FAILED
            self.reason = str(fault)
            return
        self.state = HostState.ACTIVE
        self.perform(shard.on_loaded(now_ms), now_ms)

    def _replay_batch(self, shard: S, header: BatchHeader, batch: memoryview) -> None:
        found = damage(batch, header)
        if found is not None:
            raise CorruptData(f"the batch at offset {header.base_offset} is damaged: {found}")
        producer = ProducerIdentity(header.producer_id, header.producer_epoch)
        for record in iterate(header, batch):
            if header.is_control:
                marker = parse_control(record)
                if marker is not None:
                    shard.replay_end_transaction(producer, marker.commit)
                continue
            try:
                decoded = self.topic.decode(record.key, record.value)
                if decoded is not None:
                    within = producer if header.is_transactional else None
                    shard.replay(decoded, offset=record.offset, transaction=within)
            except CorruptData:
                # One record that makes no sense must not take a thousand groups with it.
                self.bad_records += 1

    def resign(self) -> None:
        """Stop being responsible: the partition has gone or moved."""
        self.state = HostState.RESIGNED
        self._abandon()

    def _abandon(self) -> None:
        for reply in self.shard.abandon(Error.NOT_COORDINATOR):
            reply.deliver()

    # Working.

    def perform(self, effects: Effects[Record, Send], now_ms: int) -> None:
        """Let happen what the shard asked for."""
        if effects.records and not self._append(effects, now_ms):
            return
        for note in effects.notes:
            self._hooks.note(note)
        if not (effects.replies or effects.sends):
            return
        end = self.partition.log.log_end_offset
        if self.partition.high_watermark >= end:
            self._carry_out(effects)
        else:
            # A reader, too, must not be told what is not committed yet. Who waits for an answer
            # may be told to come again; what must be sent is never given up by its coordinator.
            replies: Effects[Record, Send] = Effects(replies=effects.replies)
            self._wait(end, lambda: self._on_committed(end, replies))
            if effects.sends:
                sends: Effects[Record, Send] = Effects(sends=effects.sends)
                self.partition.when_committed(end, lambda: self._on_committed(end, sends))

    def _append(self, effects: Effects[Record, Send], now_ms: int) -> bool:
        producer = effects.transaction
        builder = BatchBuilder(
            producer_id=NO_PRODUCER_ID if producer is None else producer.producer_id,
            producer_epoch=NO_EPOCH if producer is None else producer.producer_epoch,
            transactional=producer is not None,
        )
        for record in effects.records:
            key, value = self.topic.encode(record)
            builder.append(key, value, now_ms)
        try:
            appended = self.partition.append_internal(builder.build(), now_ms=now_ms)
        except (ClientFault, OSError) as fault:
            self._on_unwritable(effects, fault)
            if isinstance(fault, OSError):
                self._hooks.on_disk_fault(fault)
            return False
        for offset, record in enumerate(effects.records, appended.base_offset):
            self.shard.replay(record, offset=offset, transaction=producer)
        self._hooks.written(appended)
        return True

    def _on_unwritable(self, effects: Effects[Record, Send], fault: ClientFault | OSError) -> None:
        """Nothing was replayed, but the shard may have counted on it: begin again from the log."""
        error = Error.COORDINATOR_NOT_AVAILABLE
        if isinstance(fault, ClientFault) and fault.error is Error.INVALID_PRODUCER_EPOCH:
            # A transactional commit of a fenced producer; the shard itself was not touched by it.
            error = fault.error
        effects.refuse(error)
        if error is Error.COORDINATOR_NOT_AVAILABLE:
            self.reason = str(fault)
            self.state = HostState.LOADING
            self._abandon()

    def _on_committed(self, required: int, effects: Effects[Record, Send]) -> None:
        if self.partition.offline_reason or self.partition.high_watermark < required:
            effects.refuse(Error.COORDINATOR_NOT_AVAILABLE)
            return
        self._carry_out(effects)

    def _carry_out(self, effects: Effects[Record, Send]) -> None:
        for reply in effects.replies:
            reply.deliver()
        for each in effects.sends:
            self._send(self, each)

    def end_transaction(self, markers: TransactionMarkers, now_ms: int) -> Appended:
        """Write the end of a transaction into this partition; raises what the log raises."""
        appended = self.partition.append_internal(
            markers.batch(now_ms), now_ms=now_ms, transaction_version=markers.transaction_version
        )
        self.shard.replay_end_transaction(markers.producer, markers.commit)
        self._hooks.written(appended)
        return appended

    # Time.

    def next_wake_ms(self) -> int | None:
        return self.shard.timers.next_wake_ms() if self.state is HostState.ACTIVE else None

    def on_time(self, now_ms: int) -> None:
        """Let everything that is due by now happen."""
        if self.state is not HostState.ACTIVE:
            return
        shard = self.shard
        for key in shard.timers.due(now_ms):
            self.perform(shard.on_timer(key, now_ms), now_ms)
            if self.shard is not shard or self.state is not HostState.ACTIVE:
                return
