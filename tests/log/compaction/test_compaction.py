"""What is left of a log: the worked examples, tombstones, times, codecs, and bounded memory."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from headrace.errors import ConfigError, CorruptData
from headrace.log import LogConfig, PartitionLog
from headrace.log.compaction import CleanerMemory, Cleaning, CleaningPlan, make_plan, measure
from headrace.records.batch import HEADER_SIZE, TimestampType, read_header, seal
from headrace.records.builder import BatchBuilder
from headrace.records.compression import Codec
from tests.log.compaction.compacting import (
    COMPACT,
    DAY_MS,
    begin,
    carry_out,
    compact,
    headers,
    keyed,
    plan_for,
    settle,
    what_is_there,
    write,
    write_at,
)
from tests.log.logs import (
    FOLDER,
    NOW_MS,
    append,
    file_bytes,
    files,
    new_disk,
    new_log,
    offsets,
    read_everything,
    read_from,
    reopened,
)


def compacted_log(config: LogConfig = COMPACT) -> PartitionLog:
    return new_log(new_disk(), config)


# The worked examples of the specification.


@pytest.mark.spec("slides:F28", "slides:F08", "slides:F10", "slides:F11", "slides:F16")
def test_the_worked_compaction() -> None:
    """Twelve records, seven keys: exactly the last of each key is left, at its own offset."""
    log = compacted_log()
    log.truncate_fully_and_start_at(13)
    write_at(
        log,
        (13, b"K1", b"V5"),
        (17, b"K5", b"V2"),
        (19, b"K2", b"V7"),
        (20, b"K7", b"V1"),
        (21, b"K8", b"V4"),
        (22, b"K4", b"V6"),
        (23, b"K1", b"V1"),
        (24, b"K1", b"V2"),
        (25, b"K1", b"V9"),
        (26, b"K9", b"V6"),
        (27, b"K8", b"V22"),
        (28, b"K2", b"V25"),
    )
    compact(log)
    assert what_is_there(log) == [
        (17, b"K5", b"V2"),
        (20, b"K7", b"V1"),
        (22, b"K4", b"V6"),
        (25, b"K1", b"V9"),
        (26, b"K9", b"V6"),
        (27, b"K8", b"V22"),
        (28, b"K2", b"V25"),
    ]


@pytest.mark.spec("admin:CR-04", "admin:CR-05", "book1:B-18")
def test_five_records_of_two_keys() -> None:
    """Keys a, b, b, a, a: offsets 2 and 4 are kept."""
    log = compacted_log()
    write(log, *[(key.encode(), b"%d" % i) for i, key in enumerate("abbaa")])
    compact(log)
    assert what_is_there(log) == [(2, b"b", b"2"), (4, b"a", b"4")]


def problem_e() -> PartitionLog:
    """Clean segments of three and four records, a dirty one of four, and the active one."""
    log = compacted_log()
    log.truncate_fully_and_start_at(3)
    for segment in (
        {3: 2, 6: 1, 8: 12},
        {9: 11, 17: 10, 26: 7, 27: 9},
        {28: 1, 29: 7, 30: 15, 31: 7},
        {32: 15, 33: 7, 34: 12, 35: 6},
    ):
        if log.log_end_offset > 3:
            log.roll(min(segment))
        write_at(log, *[(offset, b"%d" % key, b"v") for offset, key in segment.items()])
    log.clean_offset = 28
    settle(log)
    return log


@pytest.mark.spec("admin:CR-08", "admin:CR-06")
def test_problem_e_forced() -> None:
    """The clean part loses what the dirty part replaces; the active segment stays as it is."""
    log = problem_e()
    carry_out(log, plan_for(log))
    kept = [(record.offset, int(record.key or b"")) for record in read_everything(log)]
    assert kept == [
        *[(3, 2), (8, 12), (9, 11), (17, 10), (27, 9), (28, 1), (30, 15), (31, 7)],
        *[(32, 15), (33, 7), (34, 12), (35, 6)],
    ]


@pytest.mark.spec("admin:CR-08", "admin:CR-07")
def test_problem_e_is_not_due_by_default() -> None:
    """Of eleven completed records four are dirty, less than half; a lower ratio would do."""
    log = problem_e()
    assert not measure(log, NOW_MS).is_due
    log.config = replace(COMPACT, min_cleanable_dirty_ratio=0.3)
    assert measure(log, NOW_MS).is_due


@pytest.mark.spec("admin:CR-09", "admin:LS-17")
def test_problem_c_files() -> None:
    """Four segments are twelve files and one for the epochs; names are first offsets, padded."""
    log = problem_e()
    log.segments.active.seal()
    names = [name for name in files(log.disk) if not name.endswith((".snapshot", ".metadata"))]
    assert len(names) == 13
    assert {name[:20] for name in names} - {"leader-epoch-checkpo"} == {
        f"{base:020d}" for base in (3, 9, 28, 32)
    }


# What readers see.


@pytest.mark.spec("slides:F10", "admin:CR-12")
def test_a_reader_at_a_removed_offset_goes_on_behind_it() -> None:
    """Offsets that are gone are not out of range: the next record that exists is returned."""
    log = compacted_log()
    write(log, *[(b"k", b"%d" % i) for i in range(10)], (b"other", b"x"))
    compact(log)
    write(log, (b"k", b"new"))
    for gone in range(9):
        assert read_from(log, gone)[0].offset == 9


@pytest.mark.spec("slides:F13", "slides:F09")
def test_a_reader_at_the_head_misses_nothing() -> None:
    """What was written last is in the active segment, where every record is kept."""
    log = compacted_log()
    write(log, *[(b"k", b"%d" % i) for i in range(5)])
    log.roll()
    write(log, *[(b"k", b"%d" % i) for i in range(5, 10)])
    carry_out(log, plan_for(log))
    assert offsets(log) == [4, 5, 6, 7, 8, 9]


@pytest.mark.spec("slides:F29")
def test_a_table_is_rebuilt_from_what_is_left() -> None:
    """The last value of every key, the deletions included, is in the compacted log."""
    log = compacted_log()
    table: dict[bytes, bytes | None] = {}
    for i in range(200):
        key, value = b"%d" % (i * 7 % 31), b"%d" % i if i % 5 else None
        table[key] = value
        write(log, (key, value))
        if i % 40 == 39:
            compact(log)
    compact(log)
    log.close()
    rebuilt = reopened(log.disk, COMPACT)
    assert {key: value for _, key, value in what_is_there(rebuilt)} == table
    assert len(what_is_there(rebuilt)) == 31


# Tombstones.


@pytest.mark.spec("slides:F12", "slides:F15", "slides:F30", "admin:CR-13")
def test_the_life_of_a_tombstone() -> None:
    """KIP-534: it removes the value at once, waits `delete.retention.ms` from the first compaction
    that meets it, and goes with the next one after that."""
    log = compacted_log()
    write(log, (b"k", b"v"), (b"k", None), (b"other", b"x"))
    compact(log, NOW_MS)
    assert what_is_there(log) == [(1, b"k", None), (2, b"other", b"x")]
    horizon = NOW_MS + DAY_MS
    assert [header.delete_horizon_ms for header in headers(log)] == [horizon, None]
    assert [record.timestamp for record in read_everything(log)] == [NOW_MS, NOW_MS]

    write(log, (b"more", b"1"))
    compact(log, horizon - 1)
    assert (1, b"k", None) in what_is_there(log), "its time is not over"
    assert headers(log)[0].delete_horizon_ms == horizon, "the horizon does not move"

    write(log, (b"more", b"2"))
    compact(log, horizon)
    assert [key for _, key, _ in what_is_there(log)] == [b"other", b"more"]


def test_a_tombstone_among_others_takes_its_batch_along() -> None:
    """The whole batch gets the horizon, its other records stay, and their times do too."""
    log = compacted_log()
    builder = BatchBuilder()
    for i, (key, value) in enumerate([(b"a", b"1"), (b"b", None), (b"a", b"2"), (b"c", b"3")]):
        builder.append(key, value, NOW_MS + i, [("h", b"x")])
    append(log, memoryview(builder.build()))
    write(log, (b"z", b"end"))
    compact(log)
    kept = read_everything(log)
    assert [(record.offset, record.timestamp) for record in kept[:3]] == [
        (1, NOW_MS + 1),
        (2, NOW_MS + 2),
        (3, NOW_MS + 3),
    ]
    assert all(record.headers == [("h", b"x")] for record in kept[:3])
    assert headers(log)[0].max_timestamp == NOW_MS + 3
    write(log, (b"z", b"later"))
    compact(log, NOW_MS + DAY_MS)
    assert [record.key for record in read_everything(log)] == [b"a", b"c", b"z"]
    assert read_everything(log)[0].timestamp == NOW_MS + 2


def test_a_new_value_ends_the_tombstone() -> None:
    """A key that comes back has only its value left."""
    log = compacted_log()
    write(log, (b"k", None))
    compact(log)
    write(log, (b"k", b"back"))
    compact(log)
    assert what_is_there(log) == [(1, b"k", b"back")]


# Batches.


def test_a_batch_that_keeps_everything_is_copied_as_it_is() -> None:
    """Byte by byte, even where it was written by another implementation."""
    log = compacted_log()
    append(log, keyed((b"a", b"1"), (b"b", b"2"), compression=Codec.ZSTD, timestamp=NOW_MS))
    before = file_bytes(log.disk, f"{0:020d}.log")
    compact(log)
    assert file_bytes(log.disk, f"{0:020d}.log") == before


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_that_loses_records_keeps_its_shape(codec: Codec) -> None:
    """Codec, offsets, producer, epoch and the times of what is left; the largest time is theirs."""
    log = compacted_log()
    builder = BatchBuilder(compression=codec, producer_id=5, producer_epoch=2, base_sequence=40)
    for i in range(100):
        builder.append(b"%d" % (i % 60), b"value %d" % i, NOW_MS + i % 60)
    append(log, memoryview(builder.build()), leader_epoch=3)
    write(log, *[(b"%d" % i, b"new") for i in range(40, 60)], (b"z", b""))
    before = headers(log)[0]
    compact(log)
    after = headers(log)[0]
    assert [record.offset for record in read_everything(log)][:40] == list(range(60, 100))
    assert after.record_count == 40
    assert after.max_timestamp == NOW_MS + 39
    for name in (
        *("base_offset", "last_offset", "compression", "timestamp_type"),
        *("producer_id", "producer_epoch", "base_sequence", "partition_leader_epoch"),
    ):
        assert getattr(after, name) == getattr(before, name)


def test_log_append_time_is_kept() -> None:
    """The time of such a batch is that of its append, whichever records are left."""
    log = compacted_log(replace(COMPACT, message_timestamp_type="LogAppendTime"))
    append(log, keyed((b"a", b"1"), (b"b", None), timestamp=5), now_ms=NOW_MS)
    write(log, (b"a", b"2"), now_ms=NOW_MS + 1)
    compact(log)
    assert headers(log)[0].timestamp_type is TimestampType.LOG_APPEND_TIME
    assert [record.timestamp for record in read_everything(log)] == [NOW_MS, NOW_MS + 1]


def test_records_without_key_go() -> None:
    """A topic that was not compacted before may hold some; nobody could ever replace them."""
    log = new_log(new_disk())
    append(log, keyed((None, b"1"), (b"k", b"2"), (None, b"3")))
    append(log, keyed((None, b"4")))
    log.config = COMPACT
    write(log, (b"z", b"5"))
    compact(log)
    assert what_is_there(log) == [(1, b"k", b"2"), (4, b"z", b"5")]


def test_an_empty_key_is_a_key() -> None:
    """No bytes are not the same as no key."""
    log = compacted_log()
    write(log, (b"", b"1"), (b"", b"2"), (b"z", b""))
    compact(log)
    assert what_is_there(log) == [(1, b"", b"2"), (2, b"z", b"")]


def test_the_end_of_what_was_compacted_is_remembered() -> None:
    """The last batch stays, without records if need be, so that the end is not forgotten."""
    log = compacted_log()
    write(log, (b"k", b"v"), (b"gone", None))
    compact(log)
    log.clean_offset = 0
    carry_out(log, plan_for(log, NOW_MS + DAY_MS))
    assert [(header.last_offset, header.record_count) for header in headers(log)] == [
        (0, 1),
        (1, 0),
    ]
    assert what_is_there(log) == [(0, b"k", b"v")]


# Segments.


def test_small_segments_become_one() -> None:
    """Neighbours are put together as long as they fit into `segment.bytes`."""
    log = compacted_log()
    for i in range(6):
        write(log, (b"%d" % i, b"v" * 100))
        log.roll()
    log.config = replace(COMPACT, segment_bytes=3 * log.segments[0].size)
    carry_out(log, plan_for(log))
    assert log.segments.base_offsets == [0, 3, 6]
    assert offsets(log) == [0, 1, 2, 3, 4, 5]
    assert not files(log.disk, ".cleaned")
    assert not files(log.disk, ".swap")


def test_a_gap_too_wide_for_an_index_keeps_segments_apart() -> None:
    """An index has 32 bits for an offset, counted from the segment's own."""
    log = compacted_log()
    write_at(log, (0, b"a", b"1"))
    log.roll()
    write_at(log, (2**31 + 5, b"b", b"2"))
    log.roll()
    write_at(log, (2**31 + 9, b"c", b"3"))
    compact(log)
    assert offsets(log) == [0, 2**31 + 5, 2**31 + 9]
    assert log.segments.base_offsets == [0, 2**31 + 5, 2**31 + 10]


def test_an_emptied_segment_stays_as_a_place() -> None:
    """Nothing is left of the first segment: its name still says where the log begins."""
    log = compacted_log(replace(COMPACT, segment_bytes=200))
    write(log, (b"k", b"v" * 100))
    log.roll()
    write(log, (b"k", b"w" * 100))
    compact(log)
    assert log.segments[0].size == 0
    assert what_is_there(log) == [(1, b"k", b"w" * 100)]
    log.close()
    assert what_is_there(reopened(log.disk, log.config)) == [(1, b"k", b"w" * 100)]


def test_indexes_of_a_compacted_segment_find_everything() -> None:
    """Offsets and times are found by index, before and after a restart."""
    log = compacted_log(replace(COMPACT, index_interval_bytes=100))
    for i in range(60):
        write(log, (b"%d" % (i % 40), b"v" * 50), now_ms=NOW_MS + i)
    compact(log)
    for opened in (log, reopened(log.disk, log.config)):
        assert len(opened.segments[0].offset_index) > 10
        for offset in range(60):
            expected = max(offset, 20)
            assert read_from(opened, offset)[0].offset == expected
            found = opened.offset_for_time(NOW_MS + offset, up_to=60)
            assert found == (NOW_MS + expected, expected)


# Limits and faults.


def test_more_keys_than_memory_take_several_rounds() -> None:
    """The map's memory bounds a round; the next one goes on where it ended, until all is clean."""
    small = CleanerMemory(key_map_bytes=20_000, io_bytes=1024)
    log = compacted_log()
    for start in range(0, 6000, 100):
        pairs = [(b"%d" % (i % 2500), b"%d" % i) for i in range(start, start + 100)]
        append(log, keyed(*pairs))
        if start % 1000 == 0:
            log.roll()
    log.roll()
    rounds = [0]
    while measure(log, NOW_MS).dirty_bytes or not rounds[-1]:
        carry_out(log, plan_for(log), small)
        rounds.append(log.clean_offset)
        assert rounds[-1] > rounds[-2]
    assert len(rounds) > 3
    assert offsets(log) == list(range(3500, 6000))
    assert [value for _, _, value in what_is_there(log)] == [b"%d" % i for i in range(3500, 6000)]


def test_a_batch_with_too_many_keys_is_named() -> None:
    """A map that cannot take even one batch would never get anywhere."""
    log = compacted_log()
    append(log, keyed(*[(b"%d" % i, b"") for i in range(2000)]))
    log.roll()
    with pytest.raises(ConfigError, match=r"offset 0 .* raise log\.cleaner\.dedupe\.buffer\.size"):
        carry_out(log, plan_for(log), CleanerMemory(key_map_bytes=17_000))


def test_a_damaged_batch_is_not_given_a_new_checksum() -> None:
    """A broken byte stops the compaction, and everything stays as it is."""
    log = compacted_log()
    for i in range(4):
        write(log, (b"k", b"v%d" % i))
        log.roll()
    plan = plan_for(log)
    log.disk.open(f"{FOLDER}/{1:020d}.log").write_at(70, b"\xff")
    with pytest.raises(CorruptData, match=r"00001\.log: the batch at byte 0 is damaged"):
        begin(log.disk, plan)
    assert log.segments.base_offsets == [0, 1, 2, 3, 4]


def test_malformed_records_are_not_touched() -> None:
    """A batch whose checksum is right and whose records are not stops the compaction."""
    log = new_log(new_disk())
    data = bytearray(keyed((b"key", b"value")))
    payload = bytearray(data[HEADER_SIZE:])
    payload[4] = 60
    append(log, memoryview(seal(read_header(data), payload)))
    log.config = COMPACT
    log.roll()
    with pytest.raises(CorruptData, match="a key at byte"):
        carry_out(log, plan_for(log))


def test_progress_is_told_in_bytes_read_and_written() -> None:
    """Whoever listens can throttle: every byte read or written is told."""
    log = compacted_log()
    write(log, *[(b"k", b"v" * 100) for _ in range(50)])
    log.roll()
    told: list[int] = []
    plan = plan_for(log)
    cleaning = Cleaning(log.disk, plan, CleanerMemory(key_map_bytes=1 << 20), told.append)
    cleaning.build_map()
    assert sum(told) == log.size_bytes
    assert cleaning.write_next() is not None
    assert sum(told) == 2 * log.size_bytes + cleaning.stats.bytes_written
    assert cleaning.stats.records_read == 50
    assert cleaning.stats.records_written == 1


def test_a_plan_survives_its_way_to_another_process() -> None:
    """A plan is plain data: as JSON and back it is the same."""
    log = compacted_log()
    append(log, keyed((b"k", b"v"), producer_id=1, producer_epoch=0, base_sequence=0))
    log.roll()
    plan = plan_for(log)
    assert plan.producers
    assert CleaningPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    assert make_plan(measure(log, NOW_MS), NOW_MS) == plan
