"""The share coordinator: states kept, fenced, forgotten, and a log that does not grow for ever."""

from __future__ import annotations

from uuid import UUID

import pytest

from headrace.broker.sharing.coordinators import prune
from headrace.coordinator.effects import Effects
from headrace.coordinator.share.records import ShareSnapshotKey, decode_record
from headrace.coordinator.share.state import ShareState, StateBatch, snapshot_record
from headrace.errors import Error
from headrace.records.batch import split_batches
from headrace.records.record import iterate
from headrace.types import SharePartitionKey
from tests.coordinator.share.share_world import ShareWorld

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4


@pytest.fixture
def world() -> ShareWorld:
    world = ShareWorld()
    assert world.initialize() == 0
    return world


def record_types(world: ShareWorld) -> list[str]:
    """The types of the records in the log, in order."""
    log = world.log
    data = log.read(log.log_start_offset, 1 << 20, up_to=log.log_end_offset).data()
    found = []
    for header, batch in split_batches(memoryview(data)):
        for record in iterate(header, batch):
            decoded = decode_record(record.key, record.value)
            assert decoded is not None
            is_snapshot = isinstance(decoded.key, ShareSnapshotKey)
            found.append(
                "tombstone" if decoded.value is None else "snapshot" if is_snapshot else "update"
            )
    return found


def test_what_is_written_is_read(world: ShareWorld) -> None:
    """A new leader gets the start offset and every batch from there on."""
    assert world.write((0, 4, ACKNOWLEDGED, 1), (7, 9, AVAILABLE, 2), start_offset=0) == 0
    assert world.write((7, 7, ARCHIVED, 3), start_offset=5, complete=1) == 0
    result = world.read()
    assert (result.state_epoch, result.start_offset) == (1, 5)
    batches = [(b.first_offset, b.last_offset, b.delivery_state) for b in result.state_batches]
    assert batches == [(7, 7, ARCHIVED), (8, 9, AVAILABLE)]


def test_a_restart_finds_the_same(world: ShareWorld) -> None:
    """Snapshots and updates add up to the state that was there, however many there were."""
    for offset in range(10):
        world.write((offset + 2, offset + 2, ACKNOWLEDGED, 1), start_offset=offset)
    before = world.state
    world.restart()
    assert world.state == before


def test_every_few_updates_a_snapshot(world: ShareWorld) -> None:
    """`share.coordinator.snapshot.update.records.per.snapshot` updates lie between two of them."""
    for offset in range(5):
        world.write((offset, offset, ACKNOWLEDGED, 1))
    assert record_types(world) == ["snapshot", *["update"] * 3, "snapshot", "update"]
    assert world.state.batches == (StateBatch(0, 4, ACKNOWLEDGED, 1),)
    assert world.state.snapshot_epoch == 1


def test_a_leader_that_was_replaced_writes_no_more(world: ShareWorld) -> None:
    """Once the leader of a later epoch has read the state, the old one is fenced, for good."""
    assert world.write((0, 0, ACKNOWLEDGED, 1), leader_epoch=3) == 0
    assert world.read(leader_epoch=4).error_code == 0
    assert world.write((1, 1, ACKNOWLEDGED, 1), leader_epoch=3) == Error.FENCED_LEADER_EPOCH
    assert world.read(leader_epoch=3).error_code == Error.FENCED_LEADER_EPOCH
    world.restart()
    assert world.write((1, 1, ACKNOWLEDGED, 1), leader_epoch=3) == Error.FENCED_LEADER_EPOCH
    assert world.write((1, 1, ACKNOWLEDGED, 1), leader_epoch=4) == 0


def test_a_state_that_was_begun_anew_is_written_by_those_who_know(world: ShareWorld) -> None:
    """Offsets that an administrator has set are not taken back by a leader that has the old."""
    world.write((0, 5, ACKNOWLEDGED, 1), start_offset=0)
    assert world.initialize(state_epoch=2, start_offset=100) == 0
    assert world.write((6, 6, ACKNOWLEDGED, 1)) == Error.FENCED_STATE_EPOCH
    assert world.initialize(state_epoch=1) == Error.FENCED_STATE_EPOCH
    result = world.read()
    assert (result.state_epoch, result.start_offset, result.state_batches) == (2, 100, [])


def test_nothing_is_known_before_it_is_initialized() -> None:
    """Reads and writes are refused; a summary is that of a new state; deleting is no error."""
    world = ShareWorld()
    assert world.read().error_code == Error.INVALID_REQUEST
    assert world.write((0, 0, ACKNOWLEDGED, 1)) == Error.INVALID_REQUEST
    assert world.delete() == 0
    summary = world.summary()
    assert (summary.error_code, summary.start_offset, summary.state_epoch) == (0, -1, 0)


def test_a_summary(world: ShareWorld) -> None:
    """Epochs, the start offset, and how many records behind it are done."""
    world.write((5, 7, ACKNOWLEDGED, 1), start_offset=4, complete=3, leader_epoch=2)
    summary = world.summary()
    assert (summary.state_epoch, summary.leader_epoch) == (1, 2)
    assert (summary.start_offset, summary.delivery_complete_count) == (4, 3)


@pytest.mark.parametrize(("topic", "partition"), [(UUID(int=99), 0), (UUID(int=1), 2)])
def test_partitions_that_do_not_exist_have_no_state(topic: UUID, partition: int) -> None:
    """Neither an unknown topic nor a partition behind the last one."""
    world = ShareWorld()
    key = SharePartitionKey("g", topic, partition)
    assert world.initialize(key=key) == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert world.summary(key=key).error_code == Error.UNKNOWN_TOPIC_OR_PARTITION


def test_deleted_states_are_forgotten(world: ShareWorld) -> None:
    """Also after a restart, and a state of the same name begins from nothing."""
    world.write((0, 3, ACKNOWLEDGED, 1))
    assert world.delete() == 0
    world.restart()
    assert not world.shard.states
    assert world.initialize(state_epoch=1) == 0
    assert world.state.batches == ()


def test_a_deleted_topic_takes_its_states_along(world: ShareWorld) -> None:
    """At once, or at the next load if nobody was there to see it."""
    world.topics.delete("orders")
    world.restart()
    assert not world.shard.states
    assert record_types(world) == ["snapshot", "tombstone"]


def test_what_snapshots_replace_is_redundant(world: ShareWorld) -> None:
    """The log is needed from the oldest latest snapshot on; a deleted state needs nothing."""
    other = world.key._replace(partition=1)
    assert world.shard.redundancy.needed_from == 0
    world.initialize(key=other)
    for offset in range(8):
        world.write((offset, offset, ACKNOWLEDGED, 1))
    assert record_types(world)[5] == "snapshot"
    assert world.shard.redundancy.needed_from == 1, "the other state was never written again"
    world.initialize(key=other, state_epoch=2)
    assert world.shard.redundancy.needed_from == 9
    before = dict(world.shard.states)
    prune([world.host])
    assert world.log.log_start_offset == 9
    world.restart()
    assert dict(world.shard.states) == before


def test_nothing_is_pruned_for_a_snapshot_that_may_be_lost() -> None:
    """Where a record is not committed, a new leader may have to begin with the one before it."""
    world = ShareWorld(flush_messages=1)
    state = ShareState(0, 1, 0, 5, 0, world.now_ms, world.now_ms)
    for _ in range(2):
        world.perform(Effects(records=[snapshot_record(world.key, state)]))
    assert world.shard.redundancy.needed_from == 1
    prune([world.host])
    assert world.log.log_start_offset == 0


def test_cold_states_are_written_anew(world: ShareWorld) -> None:
    """One that nobody writes would keep everything behind it from being deleted."""
    other = world.key._replace(partition=1)
    world.initialize(key=other)
    for offset in range(4):
        world.write((offset, offset, ACKNOWLEDGED, 1), key=other)
    world.pass_time(1000)
    assert world.shard.redundancy.needed_from > 1
    size = world.log.log_end_offset
    world.pass_time(1000)
    world.pass_time(1000)
    assert world.log.log_end_offset <= size + 2, "where nothing happens nothing is written"
