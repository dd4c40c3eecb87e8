"""A host appends before it replays, answers after the commit, and survives what its log does."""

from __future__ import annotations

import errno
from typing import Any
from uuid import UUID

from headrace.coordinator.effects import Caller, Effects, Reply
from headrace.coordinator.group.effects import ShareStatesEnd
from headrace.coordinator.host import Hooks, Host, HostState
from headrace.coordinator.transaction.records import FORMATS, TransactionRecord
from headrace.coordinator.transaction.shard import TransactionShard
from headrace.errors import Error
from headrace.log import PartitionLog
from headrace.records.builder import BatchBuilder
from headrace.replica.leadership import Leadership
from headrace.replica.partition import Partition
from headrace.testing import MemoryDisk
from headrace.types import TopicPartition
from headrace.wire.messages.delete_groups import DeletableGroupResult
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from tests.settings import log_config, transaction_settings

NOW_MS = 1_700_000_000_000
WHERE = TopicPartition("__transaction_state", 0)
FOLDER = "/data/__transaction_state-0"


class Ticket:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def answer(self, response: Any) -> None:
        self.told.append(response.error_code)

    def refuse(self, error: Error) -> None:
        self.told.append(error)


class World:
    """One partition of the internal topic on a disk in memory."""

    def __init__(self, *, flush_messages: int = 1 << 62) -> None:
        self.disk = MemoryDisk(folders=["/data"])
        self.notes: list[str] = []
        self.sent: list[Any] = []
        self.config = log_config(flush_messages=flush_messages, cleanup_policy=("compact",))
        self.log = PartitionLog.create(self.disk, FOLDER, WHERE, UUID(int=7), self.config, NOW_MS)
        self.host = self.new_host()
        self.load()

    def new_host(self) -> Host[TransactionShard, TransactionRecord, Any]:
        partition = Partition(WHERE, UUID(int=7), self.log, broker_id=1)
        partition.lead(Leadership(1, 0, 0, (1,), (1,)), NOW_MS)

        return Host(
            FORMATS,
            partition,
            lambda: TransactionShard(transaction_settings(), 0, iter(range(1000)).__next__),
            lambda _, what: self.sent.append(what),
            Hooks(note=self.notes.append),
        )

    def load(self) -> None:
        for _ in self.host.load(NOW_MS):
            pass

    def restart(self) -> None:
        self.log.close()
        self.reopen(clean=True)

    def reopen(self, *, clean: bool) -> None:
        self.log = PartitionLog.open(
            self.disk, FOLDER, WHERE, self.config, clean=clean, now_ms=NOW_MS
        )
        self.host = self.new_host()
        self.load()

    def init(self, name: str) -> Ticket:
        ticket = Ticket()
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
        shard = self.host.shard
        effects = shard.handle_init_producer_id(request, Caller(ticket, "c", "/h", 4), NOW_MS)
        self.host.perform(effects, NOW_MS)
        return ticket


def test_a_shard_is_what_its_log_says() -> None:
    """What was answered is there after a restart, because it was in the log first."""
    world = World()
    assert world.init("a").told == [0]
    assert world.init("b").told == [0]
    before = dict(world.host.shard.transactions)
    world.restart()
    assert world.host.state is HostState.ACTIVE
    assert dict(world.host.shard.transactions) == before


def test_an_answer_waits_until_its_records_are_committed() -> None:
    """Where the log must be flushed first, nobody hears of what a power cut may still take."""
    world = World(flush_messages=1)
    ticket = world.init("a")
    assert ticket.told == []
    assert "a" in world.host.shard.transactions
    world.log.flush()
    world.host.partition.on_flushed(world.log.log_end_offset)  # type: ignore[attr-defined]
    assert ticket.told == [0]


def test_a_reader_is_not_told_what_is_not_committed() -> None:
    """Effects without records wait, too, while something before them is not committed."""
    world = World(flush_messages=1)
    world.init("a")
    ticket = Ticket()
    shard = world.host.shard
    request = InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1)
    effects = shard.handle_init_producer_id(request, Caller(ticket, "c", "/h", 4), NOW_MS)
    assert not effects.records
    world.host.perform(effects, NOW_MS)
    assert ticket.told == []


def deletion(world: World, ticket: Ticket) -> Effects[Any, Any]:
    """Something to write, and then to ask of a share coordinator, before the ticket is answered."""
    request = InitProducerIdRequest(transactional_id="a", transaction_timeout_ms=60_000)
    caller = Caller(Ticket(), "c", "/h", 4)
    effects = world.host.shard.handle_init_producer_id(request, caller, NOW_MS)
    answer = DeletableGroupResult(group_id="g", error_code=Error.NONE)
    sends: list[Any] = effects.sends
    sends.append(ShareStatesEnd("g", frozenset(), Reply(ticket, answer)))
    return effects


def test_share_coordinators_are_asked_when_the_records_are_committed() -> None:
    """A crash before that leaves nothing of it; one after it finds in the log what was asked."""
    world = World(flush_messages=1)
    ticket = Ticket()
    world.host.perform(deletion(world, ticket), NOW_MS)
    assert world.sent == []
    world.log.flush()
    world.host.partition.on_flushed(world.log.log_end_offset)  # type: ignore[attr-defined]
    assert [change.group_id for change in world.sent] == ["g"]
    assert ticket.told == []


def test_who_waits_for_a_share_coordinator_that_is_not_asked_is_told() -> None:
    """The records could not be written, so nothing else happens either."""
    world = World()
    ticket = Ticket()
    effects = deletion(world, ticket)
    world.disk.fail_at(1, OSError(errno.ENOSPC, "No space left on device"))
    world.host.perform(effects, NOW_MS)
    assert ticket.told == [Error.COORDINATOR_NOT_AVAILABLE]
    assert world.sent == []


def test_a_log_that_cannot_be_written_changes_nothing() -> None:
    """The client is sent away, and the shard begins again from what the log holds."""
    world = World()
    world.init("a")
    world.disk.fail_at(1, OSError(errno.ENOSPC, "No space left on device"))
    assert world.init("b").told == [Error.COORDINATOR_NOT_AVAILABLE]
    assert world.host.state is HostState.LOADING
    world.load()
    assert list(world.host.shard.transactions) == ["a"]
    assert world.init("b").told == [0]


def test_a_record_that_makes_no_sense_is_reported_and_passed_over() -> None:
    """One bad record must not take every other group or transaction with it."""
    world = World()
    world.init("a")
    builder = BatchBuilder()
    builder.append(b"\x00\x00\xff", b"\x00\x01", NOW_MS)
    builder.append(b"\x00\x63", b"a type of the future", NOW_MS)
    world.host.partition.append_internal(builder.build(), now_ms=NOW_MS)
    world.init("b")
    world.restart()
    assert world.host.state is HostState.ACTIVE
    assert sorted(world.host.shard.transactions) == ["a", "b"]
    assert world.host.bad_records == 1


def test_a_damaged_batch_puts_the_shard_out_of_service() -> None:
    """Offsets that may be lost are worse than groups that must wait for an operator."""
    world = World()
    world.init("a")
    world.init("b")
    world.log.close()
    file = world.disk.open(f"{FOLDER}/00000000000000000000.log")
    file.write_at(70, b"\xff\xff")
    world.reopen(clean=True)
    assert world.host.state is HostState.FAILED
    assert "CRC" in world.host.reason


def test_whoever_resigns_writes_no_more() -> None:
    """After the partition has gone, timers and requests find nobody."""
    world = World()
    world.init("a")
    world.host.resign()
    end = world.log.log_end_offset
    world.host.on_time(NOW_MS + 10**12)
    assert world.log.log_end_offset == end
    assert world.host.next_wake_ms() is None
