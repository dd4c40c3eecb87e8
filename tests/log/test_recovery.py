"""Starting again: after a clean shutdown without reading, after a crash without believing."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from headrace.log import LogConfig, Origin, PartitionLog
from headrace.testing import MemoryDisk
from headrace.testing.memory_disk import MemoryFile
from tests.log.logs import (
    FOLDER,
    NOW_MS,
    TOPIC_ID,
    append,
    batch_positions,
    file_bytes,
    files,
    marker,
    new_disk,
    new_log,
    offsets,
    read_everything,
    reopened,
)
from tests.settings import log_config

SMALL = log_config(segment_bytes=1000, index_interval_bytes=200)
LOG = f"{FOLDER}/00000000000000000000.log"


def filled(disk: MemoryDisk, config: LogConfig = SMALL, batches: int = 40) -> PartitionLog:
    log = new_log(disk, config)
    for number in range(batches):
        append(log, count=2, timestamp=NOW_MS + number, leader_epoch=number // 10)
    return log


def derived_files(disk: MemoryDisk) -> dict[str, bytes]:
    """What can be computed from the log files."""
    names = [name for name in files(disk) if name.endswith("index")]
    return {name: file_bytes(disk, name) for name in [*names, "leader-epoch-checkpoint"]}


class Reads:
    """Which bytes of which files were read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: dict[str, int] = {}
        plain = MemoryFile.read

        def counted(file: MemoryFile, position: int, size: int) -> bytes:
            data = plain(file, position, size)
            self.sizes[file.path] = self.sizes.get(file.path, 0) + len(data)
            return data

        monkeypatch.setattr(MemoryFile, "read", counted)

    def of(self, suffix: str) -> dict[str, int]:
        return {path: size for path, size in self.sizes.items() if path.endswith(suffix)}


@pytest.mark.spec("admin:LS-01", "admin:LS-35")
def test_a_clean_restart_gives_the_same_log() -> None:
    """Offsets, records, epochs, times and the topic's id are as they were."""
    disk = new_disk()
    log = filled(disk)
    records, entries = read_everything(log), log.leader_epochs.entries
    log.close()
    before = derived_files(disk)
    log = reopened(disk, SMALL)
    assert read_everything(log) == records
    assert log.leader_epochs.entries == entries
    assert log.topic_id == TOPIC_ID
    assert (log.log_start_offset, log.log_end_offset, log.recovery_point) == (0, 80, 80)
    assert derived_files(disk) == before
    assert append(log).base_offset == 80


def test_a_clean_start_reads_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the headers behind the active segment's last index entry, and no other log or index."""
    disk = new_disk()
    config = log_config(segment_bytes=200_000, index_interval_bytes=4096)
    log = new_log(disk, config)
    for _ in range(50):
        append(log, size=20_000)
    active = log.segments.active
    assert len(log.segments) > 4
    log.close()
    reads = Reads(monkeypatch)
    reopened(disk, config)
    assert reads.of(".log").keys() == {active.log.path}
    assert sum(reads.of(".log").values()) < 20_000
    assert reads.of("index").keys() == {active.offset_index.path, active.time_index.path}


def test_a_clean_restart_goes_on_as_if_it_had_not_been() -> None:
    """Indexes of a log that was restarted after every batch equal those of one that was not."""
    disk, plain_disk = new_disk(), new_disk()
    log, plain = new_log(disk, SMALL), new_log(plain_disk, SMALL)
    for number in range(40):
        for each in (log, plain):
            append(each, count=2, timestamp=NOW_MS + number // 3)
        log.close()
        log = reopened(disk, SMALL)
    log.close()
    plain.close()
    for name in files(plain_disk, "log") + files(plain_disk, ".index"):
        assert file_bytes(disk, name) == file_bytes(plain_disk, name), name
    # A restart notes the largest timestamp once more, which may be earlier than it was due.
    for segment in plain.segments:
        again = next(s for s in log.segments if s.base_offset == segment.base_offset)
        assert again.largest_timestamp() == segment.largest_timestamp()


@pytest.mark.parametrize("lost", range(1, 95))
def test_a_torn_tail_is_cut_off(lost: int) -> None:
    """A batch that was not written to its end disappears; all before it stay."""
    disk = new_disk()
    log = new_log(disk)
    sizes = [append(log, count=2).size for _ in range(5)]
    file = disk.open(LOG)
    file.truncate(file.size() - lost)
    log = reopened(disk, clean=False)
    assert offsets(log) == list(range(8))
    assert file.size() == sum(sizes[:4])
    assert append(log).base_offset == 8


@pytest.mark.parametrize(
    "garbage",
    [b"\0" * 5000, b"\xff" * 5000, b"garbage", bytes(range(256)) * 10],
    ids=["zeros", "ones", "short", "noise"],
)
def test_garbage_behind_the_last_batch_is_cut_off(garbage: bytes) -> None:
    """Space that was allocated but never written, or anything else, ends the log."""
    disk = new_disk()
    log = filled(disk, log_config())
    size = log.segments.active.size
    log.flush()
    disk.open(LOG).append([garbage])
    log = reopened(disk, clean=False)
    assert log.log_end_offset == 80
    assert disk.open(LOG).size() == size
    assert offsets(log) == list(range(80))


def test_every_single_damaged_byte_is_noticed() -> None:
    """Whatever byte behind the recovery point changes, no damaged batch survives."""
    disk = new_disk()
    log = new_log(disk)
    for _ in range(4):
        append(log, count=2)
    whole = file_bytes(disk, "00000000000000000000.log")
    places = batch_positions(whole)
    for position in range(len(whole)):
        # The leader epoch is outside the CRC and any value of it is possible.
        number = max(n for n, place in enumerate(places) if place[0] <= position)
        if 12 <= position - places[number][0] < 16:
            continue
        file = disk.open(LOG)
        file.truncate(0)
        damaged = bytearray(whole)
        damaged[position] ^= 0x40
        file.append([bytes(damaged)])
        log = reopened(disk, clean=False)
        assert offsets(log) == list(range(2 * number)), position


def test_an_overlapping_batch_ends_the_log() -> None:
    """Offsets only grow: a batch that repeats some is no continuation."""
    disk = new_disk()
    log = new_log(disk)
    append(log, count=2)
    data = file_bytes(disk, "00000000000000000000.log")
    disk.open(LOG).append([data])
    log = reopened(disk, clean=False)
    assert offsets(log) == [0, 1]


def test_segments_behind_a_damaged_one_are_removed() -> None:
    """The log is a prefix: what follows a cut cannot be kept, however intact it is."""
    disk = new_disk()
    log = filled(disk)
    third = log.segments[2]
    place = third.locate(third.base_offset + 4)
    assert place is not None
    third.log.write_at(place.position + 70, b"\xee")
    names = files(disk, ".log")
    log = reopened(disk, SMALL, clean=False)
    assert log.log_end_offset == place.base_offset
    assert files(disk, ".log") == names[:3]
    assert offsets(log) == list(range(place.base_offset))
    assert append(log).base_offset == place.base_offset


def test_a_missing_segment_end_is_noticed() -> None:
    """A file that lost its end at the border of two batches still leaves a hole behind it."""
    disk = new_disk()
    log = filled(disk)
    third = log.segments[2]
    place = third.locate(third.base_offset + 4)
    assert place is not None
    third.log.truncate(place.position)
    log = reopened(disk, SMALL, clean=False)
    assert log.log_end_offset == place.base_offset


def test_holes_between_segments_are_normal_where_topics_are_compacted() -> None:
    """Compaction may empty the end of a segment; that is no damage."""
    disk = new_disk()
    log = filled(disk)
    third = log.segments[2]
    place = third.locate(third.base_offset + 4)
    assert place is not None
    third.log.truncate(place.position)
    compacted = log_config(
        segment_bytes=1000, index_interval_bytes=200, cleanup_policy=("compact", "delete")
    )
    log = reopened(disk, compacted, clean=False)
    assert log.log_end_offset == 80


def test_a_crash_leaves_the_same_derived_files() -> None:
    """Indexes and epochs rebuilt by recovery equal those that were written along the way."""
    disk = new_disk()
    log = filled(disk)
    log.close()
    before = derived_files(disk)
    for name in files(disk):
        if name.endswith("index"):
            disk.remove(f"{FOLDER}/{name}")
    log = reopened(disk, SMALL, clean=False)
    log.close()
    assert derived_files(disk) == before


def ruin_nothing(disk: MemoryDisk, path: str) -> None:
    """The files as a process that was killed leaves them."""


def ruin_by_removal(disk: MemoryDisk, path: str) -> None:
    disk.remove(path)


def ruin_by_tearing(disk: MemoryDisk, path: str) -> None:
    file = disk.open(path)
    file.truncate(file.size() - 5)


def ruin_by_growth(disk: MemoryDisk, path: str) -> None:
    disk.open(path).append([struct.pack(">qiqi", 2**60, 2**30, 2**61, 2**30 + 1)])


def ruin_by_zeros(disk: MemoryDisk, path: str) -> None:
    file = disk.open(path)
    file.write_at(0, bytes(file.size()))


def ruin_by_noise(disk: MemoryDisk, path: str) -> None:
    file = disk.open(path)
    file.write_at(0, bytes(n * 37 % 256 for n in range(file.size())))


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("suffix", ["index", "timeindex"])
@pytest.mark.parametrize(
    "ruin",
    [ruin_nothing, ruin_by_removal, ruin_by_tearing, ruin_by_growth, ruin_by_zeros, ruin_by_noise],
)
def test_a_ruined_index_of_the_active_segment_is_rebuilt(
    ruin: Callable[[MemoryDisk, str], None], suffix: str, clean: bool
) -> None:
    """Records are found by offset and by time, whatever was done to the index."""
    disk = new_disk()
    config = log_config(index_interval_bytes=200)
    log = filled(disk, config)
    log.close()
    ruin(disk, f"{FOLDER}/00000000000000000000.{suffix}")
    log = reopened(disk, config, clean=clean, recovery_point=50)
    assert offsets(log) == list(range(80))
    if not (clean and suffix == "timeindex" and ruin in (ruin_by_noise, ruin_by_zeros)):
        # Of a file that claims to be whole only the last time is looked at.
        for number in range(40):
            found = log.offset_for_time(NOW_MS + number, up_to=80)
            assert found == (NOW_MS + number, 2 * number)


def test_validation_begins_at_the_recovery_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was flushed is not read again: neither older segments nor the part before the point."""
    disk = new_disk()
    config = log_config(segment_bytes=300_000)
    log = new_log(disk, config)
    for _ in range(40):
        append(log, size=20_000)
    log.flush()
    point = log.recovery_point
    append(log, size=20_000)
    append(log, size=20_000)
    active = log.segments.active
    assert active.size > 150_000
    disk = disk.crash()
    reads = Reads(monkeypatch)
    log = reopened(disk, config, clean=False, recovery_point=point)
    assert log.log_end_offset == point
    read = reads.of(".log")
    assert read.keys() == {active.log.path}
    assert read[active.log.path] < active.size


def test_damage_before_the_recovery_point_is_not_looked_for() -> None:
    """Flushed records are believed; only a reader will meet a bit that rotted there."""
    disk = new_disk()
    log = filled(disk)
    log.close()
    disk.open(LOG).write_at(80, b"\xee")
    log = reopened(disk, SMALL, clean=False, recovery_point=80)
    assert log.log_end_offset == 80


def test_progress_is_told() -> None:
    """A long recovery can be watched: bytes done and bytes in all."""
    disk = new_disk()
    log = filled(disk)
    told: list[tuple[int, int]] = []
    reopened(disk, SMALL, clean=False, on_progress=lambda *both: told.append(both))
    assert len(told) == len(log.segments)
    assert told[-1] == (log.size_bytes, log.size_bytes)
    assert told == sorted(told)


def test_a_false_mark_of_cleanliness_is_found_out() -> None:
    """If the active segment contradicts the mark, it is validated after all."""
    disk = new_disk()
    log = filled(disk)
    log.close()
    active = log.segments.active
    disk.open(active.log.path).append([b"torn"])
    log = reopened(disk, SMALL)
    assert log.log_end_offset == 80
    assert disk.open(active.log.path).size() == active.size


def test_producers_survive_a_crash() -> None:
    """Sequences are rebuilt from the newest snapshot and the batches behind it."""
    disk = new_disk()
    log = new_log(disk, SMALL)
    for sequence in range(40):
        append(log, producer_id=7, producer_epoch=0, base_sequence=sequence)
    log.flush()
    log = reopened(disk.crash(), SMALL, clean=False)
    retry = append(log, producer_id=7, producer_epoch=0, base_sequence=38)
    assert (retry.duplicate, retry.base_offset) == (True, 38)
    assert append(log, producer_id=7, producer_epoch=0, base_sequence=40).base_offset == 40


@pytest.mark.parametrize("clean", [True, False])
def test_producers_survive_the_loss_of_all_snapshots(clean: bool) -> None:
    """Without snapshots the whole log is replayed; the outcome is the same."""
    disk = new_disk()
    log = new_log(disk, SMALL)
    for sequence in range(40):
        append(log, producer_id=7, producer_epoch=0, base_sequence=sequence)
    log.close()
    for name in files(disk, ".snapshot"):
        disk.remove(f"{FOLDER}/{name}")
    log = reopened(disk, SMALL, clean=clean)
    assert append(log, producer_id=7, producer_epoch=0, base_sequence=39).duplicate
    assert append(log, producer_id=7, producer_epoch=0, base_sequence=40).base_offset == 40


@pytest.mark.parametrize("recovery_point", [0, 2, 5, 6])
def test_transactions_survive_a_crash(recovery_point: int) -> None:
    """Open ones still hold readers back, aborted ones are still told, wherever recovery begins."""
    disk = new_disk()
    log = new_log(disk)
    append(log, producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    append(log, producer_id=2, producer_epoch=0, base_sequence=0, transactional=True)
    append(log, marker(commit=False, producer_id=1), origin=Origin.COORDINATOR)
    append(log, producer_id=3, producer_epoch=0, base_sequence=0, transactional=True)
    append(log, marker(commit=True, producer_id=3), origin=Origin.COORDINATOR)
    append(log)
    log.flush()
    wanted = log.aborted_transactions(0, 6)
    assert [(each.producer_id, each.first_offset) for each in wanted] == [(1, 0)]
    log = reopened(disk.crash(), clean=False, recovery_point=recovery_point)
    log.high_watermark = 6
    assert log.last_stable_offset == 1
    assert log.aborted_transactions(0, 6) == wanted


def test_a_ruined_transaction_index_is_rebuilt() -> None:
    """Aborts are told again from the markers, even those before the recovery point."""
    disk = new_disk()
    log = new_log(disk)
    for producer_id in (1, 2, 3):
        append(log, producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True)
        append(log, marker(commit=False, producer_id=producer_id), origin=Origin.COORDINATOR)
    log.flush()
    wanted = log.aborted_transactions(0, 6)
    assert len(wanted) == 3
    disk.open(f"{FOLDER}/00000000000000000000.txnindex").append([b"torn"])
    log = reopened(disk, clean=False, recovery_point=6)
    assert log.aborted_transactions(0, 6) == wanted


def test_epochs_are_cut_to_the_log() -> None:
    """An epoch that was noted but wrote nothing that survived is forgotten."""
    disk = new_disk()
    log = filled(disk, log_config())
    log.leader_epochs.assign(9, 80)
    log.close()
    assert [entry.epoch for entry in reopened(disk).leader_epochs.entries] == [0, 1, 2, 3]


def test_a_ruined_epoch_file_is_written_anew() -> None:
    """Every batch carries its epoch, so the file can be built from the log."""
    disk = new_disk()
    log = filled(disk)
    wanted = log.leader_epochs.entries
    log.close()
    disk.open(f"{FOLDER}/leader-epoch-checkpoint").write_at(0, b"nonsense")
    assert reopened(disk, SMALL).leader_epochs.entries == wanted


def test_an_empty_folder_is_an_empty_log() -> None:
    """A crash right after the creation of a topic leaves a folder without files."""
    disk = new_disk()
    disk.make_folder(FOLDER)
    log = reopened(disk, clean=False)
    assert (log.log_start_offset, log.log_end_offset) == (0, 0)
    assert append(log).base_offset == 0


def test_indexes_without_a_log_are_swept_away() -> None:
    """A crash while a segment was being removed leaves its indexes behind."""
    disk = new_disk()
    filled(disk).close()
    for suffix in ("index", "timeindex", "txnindex"):
        disk.open(f"{FOLDER}/00000000000000000777.{suffix}", create=True)
    reopened(disk, SMALL)
    assert not [name for name in files(disk) if "777" in name]


def test_other_files_are_left_alone() -> None:
    """What does not look like ours is not ours."""
    disk = new_disk()
    filled(disk).close()
    strange = ["README", "0.log", "00000000000000000abc.log", "remote_log_snapshot"]
    for name in strange:
        disk.open(f"{FOLDER}/{name}", create=True)
    log = reopened(disk, SMALL)
    assert log.log_end_offset == 80
    assert set(strange) <= set(files(disk))


def test_a_folder_of_apache_kafka_with_preallocated_indexes_opens() -> None:
    """Kafka's active indexes are 10 MiB of zeros behind the entries; they count for nothing."""
    disk = new_disk()
    config = log_config(index_interval_bytes=200)
    log = filled(disk, config)
    log.close()
    before = derived_files(disk)
    for suffix in ("index", "timeindex"):
        disk.open(f"{FOLDER}/00000000000000000000.{suffix}").append([bytes(10_485_760 - 4096)])
    for clean in (True, False):
        log = reopened(disk, config, clean=clean, recovery_point=80)
        assert offsets(log) == list(range(80))
        log.close()
        assert derived_files(disk) == before


def test_times_of_lost_batches_are_forgotten() -> None:
    """An index may outlive the records it names; the largest time must be that of a record."""
    disk = new_disk()
    config = log_config(index_interval_bytes=200)
    log = filled(disk, config)
    log.close()
    place = log.segments.active.locate(60)
    assert place is not None
    disk.open(LOG).truncate(place.position)
    log = reopened(disk, config, clean=False, recovery_point=70)
    assert log.log_end_offset == 60
    assert log.offset_of_max_timestamp() == (NOW_MS + 29, 58)
    assert log.segments.active.largest_timestamp() == (NOW_MS + 29, 59)


def test_batches_larger_than_a_read_are_recovered() -> None:
    """Recovery reads four megabytes at a time, but a batch may have more."""
    disk = new_disk()
    config = log_config(max_message_bytes=10 << 20)
    log = new_log(disk, config)
    for size in (100, 5 << 20, 100, 9 << 20):
        append(log, size=size)
    log = reopened(disk, config, clean=False)
    assert log.log_end_offset == 4
    disk.open(LOG).truncate(disk.open(LOG).size() - 1)
    log = reopened(disk, config, clean=False)
    assert log.log_end_offset == 3


def test_producers_of_deleted_records_are_not_brought_back() -> None:
    """Recovery learns of producers from the log's start on, as a follower would."""
    disk = new_disk()
    log = new_log(disk)
    append(log, producer_id=7, producer_epoch=0, base_sequence=0)
    append(log, count=2, producer_id=8, producer_epoch=0, base_sequence=0)
    log.flush()
    log = reopened(disk.crash(), clean=False, log_start_offset=2)
    assert [entry.producer_id for entry in log.producers.active_producers()] == [8]
