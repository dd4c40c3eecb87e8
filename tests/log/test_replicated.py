"""Appending as a follower: the leader's offsets and epochs stay, damage is refused."""

from __future__ import annotations

import pytest

from headrace.errors import CorruptData
from headrace.log import Origin, PartitionLog
from tests.log.logs import (
    EVERYTHING,
    NOW_MS,
    append,
    batch,
    content,
    file_bytes,
    marker,
    new_disk,
    new_log,
    offsets,
    read_everything,
    replicated,
)
from tests.settings import log_config

LOG = "00000000000000000000.log"


def fetched(leader: PartitionLog, offset: int, max_bytes: int = EVERYTHING) -> memoryview:
    """What a follower gets for a fetch; it may end inside a batch."""
    return memoryview(content(leader.read(offset, max_bytes, up_to=leader.log_end_offset)))


def test_a_follower_has_its_leaders_bytes() -> None:
    """Replication copies the log byte for byte, epochs and append times included."""
    leader_disk, follower_disk = new_disk(), new_disk()
    leader = new_log(leader_disk, log_config(message_timestamp_type="LogAppendTime"))
    for number in range(10):
        append(leader, count=3, leader_epoch=number // 4)
    follower = new_log(follower_disk)
    result = replicated(follower, fetched(leader, 0))
    assert (result.base_offset, result.last_offset) == (0, 29)
    assert file_bytes(follower_disk, LOG) == file_bytes(leader_disk, LOG)
    assert follower.leader_epochs.entries == leader.leader_epochs.entries
    assert read_everything(follower) == read_everything(leader)


def test_indexes_are_the_leaders_too() -> None:
    """Index entries depend on the batches only, not on how many came in one fetch."""
    config = log_config(index_interval_bytes=100)
    leader_disk, follower_disk = new_disk(), new_disk()
    leader, follower = new_log(leader_disk, config), new_log(follower_disk, config)
    for number in range(30):
        append(leader, count=2, timestamp=number)
    replicated(follower, fetched(leader, 0, 1000))
    replicated(follower, fetched(leader, follower.log_end_offset))
    leader.close()
    follower.close()
    for kind in ("index", "timeindex"):
        name = f"00000000000000000000.{kind}"
        assert file_bytes(follower_disk, name) == file_bytes(leader_disk, name)
        assert len(file_bytes(leader_disk, name)) > 24


def test_a_batch_cut_by_the_fetch_is_left_for_the_next() -> None:
    """A fetch may end anywhere; only whole batches are written."""
    leader, follower = new_log(new_disk()), new_log(new_disk())
    sizes = [append(leader, count=2).size for _ in range(5)]
    result = replicated(follower, fetched(leader, 0, sum(sizes[:3]) + 30))
    assert result.size == sum(sizes[:3])
    assert follower.log_end_offset == 6
    replicated(follower, fetched(leader, 6))
    assert offsets(follower) == list(range(10))


def test_an_empty_fetch_changes_nothing() -> None:
    """A follower that has everything gets nothing, again and again."""
    follower = new_log(new_disk())
    result = replicated(follower)
    assert (result.base_offset, result.last_offset, result.size) == (0, -1, 0)
    assert follower.log_end_offset == 0


def test_damage_on_the_way_is_refused_as_a_whole() -> None:
    """If one of several batches is damaged none is written."""
    leader, follower = new_log(new_disk()), new_log(new_disk())
    for _ in range(3):
        append(leader, count=2)
    data = bytearray(fetched(leader, 0))
    data[-1] ^= 1
    with pytest.raises(CorruptData, match="offset 4 cannot be appended: its CRC"):
        replicated(follower, memoryview(data))
    assert follower.log_end_offset == 0
    assert follower.size_bytes == 0


def test_what_the_log_has_is_not_written_again() -> None:
    """Offsets must go on where the log ends; an overlap is a fault of the fetcher."""
    leader, follower = new_log(new_disk()), new_log(new_disk())
    for _ in range(3):
        append(leader, count=2)
    replicated(follower, fetched(leader, 0))
    with pytest.raises(CorruptData, match="already has offsets up to 5"):
        replicated(follower, fetched(leader, 4))
    assert follower.log_end_offset == 6


def test_gaps_of_a_compacted_leader_are_kept() -> None:
    """Compaction removes offsets for good; a follower must not close the gap."""
    follower = new_log(new_disk())
    replicated(follower, batch(1, base_offset=5, leader_epoch=0))
    replicated(follower, batch(1, base_offset=9, leader_epoch=0))
    assert follower.log_end_offset == 10
    assert offsets(follower) == [5, 9]


def test_a_gap_too_wide_for_an_index_begins_a_segment() -> None:
    """Relative offsets have 31 bits: a batch beyond them gets a segment of its own."""
    follower = new_log(new_disk())
    far = 2**31 + 7
    replicated(
        follower,
        batch(1, base_offset=0, leader_epoch=0),
        batch(1, base_offset=2**31 - 1, leader_epoch=0),
        batch(1, base_offset=far, leader_epoch=0),
    )
    assert [segment.base_offset for segment in follower.segments] == [0, far]
    assert offsets(follower) == [0, 2**31 - 1, far]


def test_one_fetch_fills_several_segments() -> None:
    """A follower rolls by its own settings in the middle of a fetch."""
    leader = new_log(new_disk())
    for _ in range(20):
        append(leader, count=2)
    follower = new_log(new_disk(), log_config(segment_bytes=500))
    result = replicated(follower, fetched(leader, 0))
    assert result.rolled
    assert len(follower.segments) > 2
    assert all(segment.size <= 500 for segment in follower.segments)
    assert read_everything(follower) == read_everything(leader)


def test_one_fetch_rolls_by_the_records_time() -> None:
    """The age of a segment is looked at for each batch of a fetch, not once for all."""
    leader = new_log(new_disk())
    for day in range(5):
        append(leader, timestamp=NOW_MS - day)
    for day in range(5):
        append(leader, timestamp=NOW_MS + 1000 * day)
    follower = new_log(new_disk(), log_config(segment_ms=1500))
    replicated(follower, fetched(leader, 0))
    assert [segment.base_offset for segment in follower.segments] == [0, 7, 9]


def test_one_fetch_is_one_write() -> None:
    """Copying a leader costs one write for all batches of a fetch."""
    leader, disk = new_log(new_disk()), new_disk()
    follower = new_log(disk)
    for _ in range(20):
        append(leader, count=2)
    replicated(follower, fetched(leader, 0, 90))
    before = disk.operations
    replicated(follower, fetched(leader, 2))
    assert disk.operations == before + 1


def test_producers_and_transactions_follow() -> None:
    """A follower knows sequences and open transactions, since it may lead tomorrow."""
    leader, follower = new_log(new_disk()), new_log(new_disk())
    append(leader, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    replicated(follower, fetched(leader, 0))
    follower.high_watermark = 1
    assert follower.last_stable_offset == 0
    retry = append(follower, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    assert (retry.duplicate, retry.base_offset) == (True, 0)
    append(leader, marker(commit=False, producer_id=7), origin=Origin.COORDINATOR)
    replicated(follower, fetched(leader, 1))
    follower.high_watermark = 2
    assert follower.last_stable_offset == 2
    assert follower.aborted_transactions(0, 2) == leader.aborted_transactions(0, 2) != []
