"""One entry of `log.dirs`: possession, loading, deletion, checkpoints, failure; and placement."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from uuid import UUID, uuid4

import pytest

from headrace.errors import ClientFault, ConfigError, Error
from headrace.log.directory import (
    LoadReport,
    LogDirectory,
    deleted_folder_name,
    parse_folder_name,
)
from headrace.log.log import PartitionLog
from headrace.log.origin import Origin
from headrace.log.placement import choose_directory
from headrace.records.builder import BatchBuilder
from headrace.runtime.disk import Disk, read_all
from headrace.runtime.os_disk import OsDisk
from headrace.testing.memory_disk import MemoryDisk, SimulatedCrash
from headrace.types import ZERO_UUID, TopicPartition
from tests.log import logs
from tests.log.logs import remove_doomed
from tests.settings import log_config

NOW_MS = 1_700_000_000_000
CONFIG = log_config(file_delete_delay_ms=60_000)
TOPIC_ID = UUID("3fc95771-bcff-4d3b-80bd-51ab2ebf2727")
ORDERS_0 = TopicPartition("orders", 0)
ORDERS_1 = TopicPartition("orders", 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def directory(path: Path) -> Iterator[LogDirectory]:
    """A new directory, loaded."""
    directory, _ = start(path)
    yield directory
    directory.close()


def start(
    path: Path | str, cluster_id: str = "lab", disk: Disk | None = None
) -> tuple[LogDirectory, LoadReport]:
    directory = LogDirectory.open(
        disk or OsDisk(), str(path), cluster_id=cluster_id, node_id=1, uuid_factory=uuid4
    )
    return directory, directory.load(lambda topic: CONFIG, NOW_MS)


def create(directory: LogDirectory, tp: TopicPartition, records: int = 0) -> PartitionLog:
    """A log with so many records, half of them known to be replicated."""
    log = directory.create(tp, TOPIC_ID, CONFIG, NOW_MS)
    append(log, records)
    log.high_watermark = records // 2
    return log


def append(log: PartitionLog, records: int) -> None:
    for _ in range(records):
        builder = BatchBuilder()
        builder.append(b"key", b"value", NOW_MS)
        log.append(memoryview(builder.build()), leader_epoch=0, origin=Origin.CLIENT, now_ms=NOW_MS)


def crashed_copy(path: Path) -> Path:
    """What another broker would find if this one lost its power now (and its disk did not)."""
    copy = path.with_name(f"{path.name}-after-crash")
    shutil.copytree(path, copy)
    return copy


def names_in(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


# Possession.


def test_a_new_directory_is_taken(path: Path, directory: LogDirectory) -> None:
    """The folder is made, locked and marked as ours."""
    assert names_in(path) == {".lock", "meta.properties"}
    assert directory.online
    assert directory.directory_id.int > 99


@pytest.mark.spec("slides:A42")
def test_a_second_broker_is_refused(path: Path, directory: LogDirectory) -> None:
    """Each broker of a host needs its own directories; closing gives the directory back."""
    with pytest.raises(ConfigError, match="in use by another broker, or listed twice; stop"):
        start(path)
    directory.close()
    directory.close()
    second, _ = start(path)
    assert second.directory_id == directory.directory_id
    second.close()


def test_a_foreign_directory_is_refused_and_let_go(path: Path) -> None:
    """A directory of another cluster is not touched, and not left locked either."""
    start(path, "theirs")[0].close()
    before = names_in(path)
    with pytest.raises(ConfigError, match="belongs to cluster theirs"):
        start(path, "ours")
    assert names_in(path) == before
    start(path, "theirs")[0].close()


def test_a_path_that_is_no_folder_is_refused(path: Path) -> None:
    """The error names the path and what log.dirs must be."""
    path.write_text("a file")
    with pytest.raises(ConfigError, match=r"cannot use .*/data for logs: .*; log\.dirs must name"):
        start(path)


# Loading.


@pytest.mark.spec("admin:LS-08", "admin:LS-20", "admin:LS-21")
def test_a_clean_shutdown_leaves_everything_in_its_place(
    path: Path, directory: LogDirectory
) -> None:
    """Logs, high watermarks and recovery points are back after a restart."""
    create(directory, ORDERS_0, records=10)
    create(directory, ORDERS_1)
    directory.close()
    assert (path / ".kafka_cleanshutdown").exists()
    assert (path / "recovery-point-offset-checkpoint").read_text() == (
        "0\n2\norders 0 10\norders 1 0\n"
    )
    assert (path / "replication-offset-checkpoint").read_text() == (
        "0\n2\norders 0 5\norders 1 0\n"
    )
    assert names_in(path / "orders-0") >= {
        "00000000000000000000.log",
        "leader-epoch-checkpoint",
        "partition.metadata",
    }

    again, report = start(path)
    assert report == LoadReport(was_clean=True, loaded=2)
    assert list(again.logs) == [ORDERS_0, ORDERS_1]
    log = again.logs[ORDERS_0]
    assert (log.log_end_offset, log.high_watermark, log.recovery_point) == (10, 5, 10)
    assert log.topic_id == TOPIC_ID
    again.close()


def test_a_crash_is_seen_as_one(path: Path, directory: LogDirectory) -> None:
    """Without the marker logs are recovered; a start uses the marker up, whatever comes after."""
    create(directory, ORDERS_0, records=10)
    directory.write_checkpoints()
    directory.close()
    running, _ = start(path)
    again, report = start(crashed_copy(path))
    assert not report.was_clean
    assert again.logs[ORDERS_0].log_end_offset == 10
    assert again.logs[ORDERS_0].high_watermark == 5
    again.close()
    running.close()


def test_a_damaged_tail_is_cut_after_a_crash_only(path: Path, directory: LogDirectory) -> None:
    """Everything after the recovery point is read again, unless the last shutdown was clean."""
    create(directory, ORDERS_0, records=10)
    for folder in (crashed_copy(path), path):
        if folder == path:
            directory.close()
        file = folder / "orders-0" / "00000000000000000000.log"
        file.write_bytes(file.read_bytes()[:-1] + b"?")
        again, report = start(folder)
        assert report.was_clean is (folder == path)
        assert again.logs[ORDERS_0].log_end_offset == (10 if report.was_clean else 9)
        again.close()


def test_a_start_inside_a_segment_is_remembered(path: Path, directory: LogDirectory) -> None:
    """Deleted records stay deleted: log-start-offset-checkpoint has starts that names cannot."""
    create(directory, ORDERS_0, records=10).delete_records_before(3)
    create(directory, ORDERS_1, records=10)
    directory.close()
    assert (path / "log-start-offset-checkpoint").read_text() == "0\n1\norders 0 3\n"
    again, _ = start(path)
    assert again.logs[ORDERS_0].log_start_offset == 3
    assert again.logs[ORDERS_1].log_start_offset == 0
    again.close()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders-0", ("orders", 0)),
        ("orders-10", ("orders", 10)),
        ("a-1-2", ("a-1", 2)),
        ("x-delete-0", ("x-delete", 0)),
        ("-0", None),
        ("--1", ("-", 1)),
        ("orders-", None),
        ("orders", None),
        ("orders-01", None),
        ("orders--1", ("orders-", 1)),
        ("orders-99999999999", None),
        ("or ders-0", None),
        ("orders-0.0123456789abcdef0123456789abcdef-delete", None),
        ("orders-0.0123456789abcdef0123456789abcdef-future", None),
    ],
)
def test_folder_names_are_read_from_the_right(name: str, expected: tuple[str, int] | None) -> None:
    """The number after the last dash is the partition; a topic may have dashes of its own."""
    assert parse_folder_name(name) == expected


def test_what_is_not_ours_is_left_alone(path: Path, directory: LogDirectory) -> None:
    """Unfinished moves, strays and other people's files are reported and stay."""
    foreign = [
        "__cluster_metadata-0",
        "lost+found",
        "notes.txt",
        "orders-1.0123456789abcdef0123456789abcdef-future",
        "orders-1.0123456789abcdef0123456789abcdef-stray",
    ]
    create(directory, ORDERS_0)
    directory.close()
    for name in foreign:
        (path / name).mkdir()
    (path / "meta.properties.tmp").touch()
    again, report = start(path)
    assert report.ignored == foreign
    assert report.loaded == 1
    again.close()
    assert names_in(path) >= set(foreign)


def test_one_unreadable_log_does_not_stop_the_others(path: Path, directory: LogDirectory) -> None:
    """It is put in quarantine with the reason, untouched, and what was known of it is kept."""
    create(directory, ORDERS_0, records=10)
    create(directory, ORDERS_1, records=4)
    directory.close()
    (path / "orders-0" / "partition.metadata").write_text("version: 9")
    (path / "payments-0").write_text("a file, not a folder")
    before = names_in(path / "orders-0")

    again, report = start(path)
    assert list(again.logs) == [ORDERS_1]
    assert sorted(report.quarantined) == ["orders-0", "payments-0"]
    assert "partition.metadata line 1" in report.quarantined["orders-0"]
    assert again.quarantined[ORDERS_0] == report.quarantined["orders-0"]
    with pytest.raises(ClientFault, match=r"cannot be created: .*line 1") as fault:
        again.create(ORDERS_0, TOPIC_ID, CONFIG, NOW_MS)
    assert fault.value.error is Error.KAFKA_STORAGE_ERROR
    again.logs[ORDERS_1].high_watermark = 4
    again.close()

    assert names_in(path / "orders-0") == before
    assert sorted((path / "replication-offset-checkpoint").read_text().splitlines()[2:]) == [
        "orders 0 5",
        "orders 1 4",
    ]


def test_a_damaged_checkpoint_is_reported_and_not_needed(
    path: Path, directory: LogDirectory
) -> None:
    """The logs themselves hold the truth."""
    create(directory, ORDERS_0, records=10)
    directory.close()
    (path / "replication-offset-checkpoint").write_text("0\n1\norders zero 5\n")
    again, report = start(path)
    assert len(report.warnings) == 1
    assert "replication-offset-checkpoint line 3" in report.warnings[0]
    assert again.logs[ORDERS_0].log_end_offset == 10
    again.close()


def test_recovery_points_that_cannot_be_corrected_are_forgotten() -> None:
    """On a full disk a cut cannot be noted; then nothing is believed, and it is written later."""
    disk = MemoryDisk(folders=["/data"])
    directory, _ = start("/data", disk=disk)
    log = create(directory, ORDERS_0, records=10)
    log.flush()
    directory.write_checkpoints()
    log.truncate_to(4)
    disk.capacity_bytes = 1
    with pytest.raises(OSError, match="No space"):
        directory.write_checkpoints()
    directory.forget_recovery_points()
    after, _ = start("/data", disk=disk.crash())
    assert after.logs[ORDERS_0].recovery_point == 0
    disk.capacity_bytes = None
    directory.write_checkpoints()
    text = read_all(disk, "/data/recovery-point-offset-checkpoint").decode()
    assert text.splitlines()[2:] == ["orders 0 4"]


def test_progress_is_told(path: Path, directory: LogDirectory) -> None:
    """A long start can show how far it is."""
    for partition in range(3):
        create(directory, TopicPartition("orders", partition))
    directory.close()
    again = LogDirectory.open(OsDisk(), str(path), cluster_id="lab", node_id=1, uuid_factory=uuid4)
    told: list[tuple[int, int]] = []
    again.load(lambda topic: CONFIG, NOW_MS, lambda done, total: told.append((done, total)))
    again.close()
    assert told == [(1, 3), (2, 3), (3, 3)]


# Partitions come and go.


@pytest.mark.spec("admin:LS-08")
def test_a_new_partition_is_a_folder(path: Path, directory: LogDirectory) -> None:
    """`<log dir>/<topic>-<partition>` with the topic's id inside."""
    log = create(directory, TopicPartition("my_topic", 0))
    assert (path / "my_topic-0" / "partition.metadata").read_text().startswith("version: 0\n")
    assert log.topic_id == TOPIC_ID
    with pytest.raises(ClientFault, match="the folder exists already"):
        create(directory, TopicPartition("my_topic", 0))


def test_deletion_hides_at_once_and_removes_later(path: Path, directory: LogDirectory) -> None:
    """The folder is renamed as Kafka renames it and goes after file.delete.delay.ms."""
    create(directory, ORDERS_0, records=3)
    directory.delete(ORDERS_0, NOW_MS)
    assert directory.logs == {}
    (doomed,) = names_in(path) - {".lock", "meta.properties"}
    assert doomed.startswith("orders-0.")
    assert doomed.endswith("-delete")
    assert len(doomed) == len("orders-0.") + 32 + len("-delete")
    assert "00000000000000000000.log" in names_in(path / doomed)
    create(directory, ORDERS_0)  # the name is free
    assert remove_doomed(directory, NOW_MS + 59_999) == 0
    assert remove_doomed(directory, NOW_MS + 60_000) == 1
    assert doomed not in names_in(path)
    assert remove_doomed(directory, NOW_MS + 60_000) == 0


def test_a_reader_of_a_deleted_log_does_not_go_on_with_its_successor(
    directory: LogDirectory,
) -> None:
    """The new log of the same name has files of the same names, perhaps of the same inodes."""
    piece = create(directory, ORDERS_0, records=3).read(0, 10_000, up_to=3)
    assert piece.data()
    directory.delete(ORDERS_0, NOW_MS)
    remove_doomed(directory, NOW_MS + 60_000)
    create(directory, ORDERS_0, records=3)
    with pytest.raises(FileNotFoundError):
        piece.data()


def test_deletion_goes_on_after_a_restart(path: Path, directory: LogDirectory) -> None:
    """A deleted log does not come back; what is left of it is removed."""
    create(directory, ORDERS_0, records=3)
    create(directory, ORDERS_1, records=3)
    for tp in (ORDERS_0, ORDERS_1):
        directory.delete(tp, NOW_MS)
    directory.close()
    again, report = start(path)
    assert report.loaded == 0
    assert len(report.doomed) == 2
    shutil.rmtree(path / report.doomed[0])  # an impatient person
    assert remove_doomed(again, NOW_MS) == 2
    assert not [name for name in names_in(path) if name.endswith("-delete")]
    again.close()


def test_a_long_topic_name_is_cut_to_fit() -> None:
    """249 characters are a legal topic; a file name has at most 255."""
    name = deleted_folder_name(TopicPartition("t" * 249, 12), TOPIC_ID)
    assert len(name) == 255
    assert name.endswith("t-12.3fc95771bcff4d3b80bd51ab2ebf2727-delete")


def test_a_log_is_held_to_its_topics_id(path: Path, directory: LogDirectory) -> None:
    """A topic that was deleted and created again does not get the old one's records (KIP-516)."""
    create(directory, ORDERS_0, records=1)
    directory.assign_topic_id(ORDERS_0, TOPIC_ID)
    with pytest.raises(ClientFault, match="P8lXcbz_TTuAvVGrLr8nJw") as fault:
        directory.assign_topic_id(ORDERS_0, UUID(int=1000))
    assert fault.value.error is Error.INCONSISTENT_TOPIC_ID


def test_a_log_from_before_topic_ids_gets_one(path: Path, directory: LogDirectory) -> None:
    """A folder without partition.metadata is given its topic's id for good."""
    create(directory, ORDERS_0, records=1)
    directory.close()
    (path / "orders-0" / "partition.metadata").unlink()
    again, _ = start(path)
    assert again.logs[ORDERS_0].topic_id == ZERO_UUID
    again.assign_topic_id(ORDERS_0, TOPIC_ID)
    assert again.logs[ORDERS_0].topic_id == TOPIC_ID
    again.close()
    final, _ = start(path)
    assert final.logs[ORDERS_0].topic_id == TOPIC_ID
    final.close()


# Checkpoints and failure.


def test_checkpoints_without_news_are_not_written(path: Path, directory: LogDirectory) -> None:
    """An idle broker leaves its disk alone."""
    create(directory, ORDERS_0, records=10)
    directory.write_checkpoints()
    file = path / "replication-offset-checkpoint"
    assert file.read_text() == "0\n1\norders 0 5\n"
    first = file.stat().st_ino
    directory.write_checkpoints()
    assert file.stat().st_ino == first
    directory.logs[ORDERS_0].high_watermark = 6
    directory.write_checkpoints()
    assert file.read_text() == "0\n1\norders 0 6\n"


def test_a_failed_directory_serves_and_writes_nothing(path: Path, directory: LogDirectory) -> None:
    """After an I/O error every request is refused, and the next start sees a crash."""
    create(directory, ORDERS_0, records=10)
    directory.write_checkpoints()
    directory.fail("disk sdb reports errors")
    directory.fail("and again")
    assert not directory.online
    assert directory.logs == {}
    before = {file: file.stat().st_mtime_ns for file in path.rglob("*")}
    refused = [
        lambda: directory.create(ORDERS_1, TOPIC_ID, CONFIG, NOW_MS),
        lambda: directory.delete(ORDERS_0, NOW_MS),
        lambda: directory.assign_topic_id(ORDERS_0, TOPIC_ID),
        lambda: remove_doomed(directory, NOW_MS),
        directory.write_checkpoints,
    ]
    for action in refused:
        with pytest.raises(ClientFault, match="disk sdb reports errors") as fault:
            action()
        assert fault.value.error is Error.KAFKA_STORAGE_ERROR
    with pytest.raises(ConfigError, match="in use"):
        start(path)
    directory.close()
    assert {file: file.stat().st_mtime_ns for file in path.rglob("*")} == before
    again, report = start(path)
    assert not report.was_clean
    assert again.logs[ORDERS_0].log_end_offset == 10
    again.close()


def test_a_disk_that_fails_while_closing_is_not_called_clean(
    path: Path, directory: LogDirectory
) -> None:
    """The marker is the last thing written; without it the next start recovers."""
    create(directory, ORDERS_0, records=10)
    shutil.rmtree(path / "orders-0")
    directory.close()
    assert "could not be closed in order" in directory.offline_reason
    assert ".kafka_cleanshutdown" not in names_in(path)
    start(path)[0].close()


def test_a_dying_drive_takes_only_its_own_partitions(tmp_path: Path) -> None:
    """An I/O error reaches the caller; the failed directory goes, the other one serves on."""
    disk = MemoryDisk(folders=["/a", "/b"])
    broken, healthy = start("/a", disk=disk)[0], start("/b", disk=disk)[0]
    lost = create(broken, ORDERS_0, records=4)
    kept = create(healthy, ORDERS_1, records=4)
    disk.break_path("/a")
    with pytest.raises(OSError, match="/a/orders-0") as fault:
        lost.flush()
    broken.fail(str(fault.value))
    kept.flush()
    healthy.write_checkpoints()
    assert (list(broken.logs), list(healthy.logs)) == ([], [ORDERS_1])
    broken.close()
    healthy.close()
    assert healthy.online


def test_an_unwritable_directory_is_refused() -> None:
    """A read-only mount is told as such, and the lock is given back."""
    disk = MemoryDisk(folders=["/data"])
    disk.make_read_only("/data/meta.properties.tmp")
    with pytest.raises(ConfigError, match=r"cannot write /data/meta\.properties"):
        start("/data", disk=disk)
    disk.mend("/data/meta.properties.tmp")
    start("/data", disk=disk)[0].close()
    disk.make_read_only("/data")
    with pytest.raises(ConfigError, match="cannot use /data for logs"):
        start("/data", disk=disk)


def test_a_log_whose_recovery_finds_no_room_is_loaded_when_there_is_some() -> None:
    """A full disk at start costs a partition its service only for as long as the disk is full."""
    disk = MemoryDisk(folders=["/data"])
    first, _ = start("/data", disk=disk)
    log = create(first, ORDERS_0, records=3)
    log.leader_epochs.assign(7, log.log_end_offset)  # without a record: a crash takes it back
    log.flush()
    first.release()
    disk.capacity_bytes = 0
    second, report = start("/data", disk=disk)
    assert "No space left" in report.quarantined["orders-0"]
    with pytest.raises(OSError, match="No space left"):
        second.load_again(ORDERS_0, CONFIG, NOW_MS)
    disk.capacity_bytes = None
    second.load_again(ORDERS_0, CONFIG, NOW_MS)
    assert second.logs[ORDERS_0].log_end_offset == 3
    assert not second.quarantined


def test_so_is_a_log_whose_aborts_find_no_room() -> None:
    """Recovery writes the index of aborted transactions anew, if need be in several attempts."""
    disk = MemoryDisk(folders=["/data"])
    first, _ = start("/data", disk=disk)
    log = create(first, ORDERS_0)
    logs.append(
        log, logs.batch(producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)
    )
    logs.append(log, logs.marker(commit=False, producer_id=9), origin=Origin.COORDINATOR)
    wanted = log.aborted_transactions(0, 2)
    assert len(wanted) == 1
    first.release()
    disk.capacity_bytes = 0
    second, _ = start("/data", disk=disk)
    assert second.without_room == {ORDERS_0}
    disk.capacity_bytes = None
    second.load_again(ORDERS_0, CONFIG, NOW_MS)
    assert second.logs[ORDERS_0].aborted_transactions(0, 2) == wanted


def test_a_high_watermark_beyond_a_lost_end_does_not_come_true_again() -> None:
    """Records that replace those which a power loss took are not taken for replicated ones."""
    disk = MemoryDisk(folders=["/data"])
    first, _ = start("/data", disk=disk)
    log = create(first, ORDERS_0, records=2)
    log.flush()
    append(log, records=8)
    log.high_watermark = 10
    first.write_checkpoints()
    disk = disk.crash()
    second, _ = start("/data", disk=disk)
    log = second.logs[ORDERS_0]
    assert (log.log_end_offset, log.high_watermark) == (2, 2)
    append(log, records=5)
    second.release()  # killed: what it wrote is there, its checkpoints are not
    third, _ = start("/data", disk=disk)
    log = third.logs[ORDERS_0]
    assert (log.log_end_offset, log.high_watermark) == (7, 2)


def live(disk: MemoryDisk, done: list[str]) -> None:
    """One life of a directory, noting what the broker was told is done."""
    directory, _ = start("/data", disk=disk)
    create(directory, ORDERS_0, records=3).flush()
    done.append("wrote 0")
    create(directory, ORDERS_1, records=2)
    done.append("created 1")
    directory.write_checkpoints()
    directory.delete(ORDERS_1, NOW_MS)
    directory.sync_deletions()
    done.append("deleted 1")
    remove_doomed(directory, NOW_MS + 60_000)
    directory.close()
    done.append("closed")


def test_a_crash_at_any_moment_leaves_a_directory_that_loads() -> None:
    """Nothing that was promised is lost, nothing deleted returns, no folder is unreadable."""
    done: list[str] = []
    operation = 0
    while "closed" not in done:
        operation += 1
        assert operation < 400
        done = []
        disk = MemoryDisk(folders=["/data"])
        disk.crash_at(operation)
        try:
            live(disk, done)
        except SimulatedCrash:
            pass
        for rng in (None, Random(operation), Random(-operation)):
            again, report = start("/data", disk=disk.crash(rng))
            assert not report.quarantined
            assert not report.warnings
            # The marker is the last name to appear; a crash after that is a clean shutdown.
            assert not report.was_clean or "deleted 1" in done
            if "wrote 0" in done:
                assert again.logs[ORDERS_0].log_end_offset == 3
            if ORDERS_1 in again.logs:
                # Nothing was written to it, so its folder may be gone and its id unknown.
                assert again.logs[ORDERS_1].topic_id in (TOPIC_ID, ZERO_UUID)
            if "deleted 1" in done:
                assert ORDERS_1 not in again.logs
            if "closed" in done:
                assert report.was_clean
            again.close()
            assert again.online


def test_a_deletion_that_finds_no_room_changes_nothing() -> None:
    """The new name is longer: where it does not fit, the log is served as before."""
    disk = MemoryDisk(folders=["/data"])
    directory, _ = start("/data", disk=disk)
    log = create(directory, ORDERS_0, records=3)
    disk.make_read_only("/data/orders-0", errno.ENOSPC)
    with pytest.raises(OSError, match="No space left"):
        directory.delete(ORDERS_0, NOW_MS)
    assert directory.logs[ORDERS_0] is log
    assert len(logs.read_everything(log)) == 3
    assert not directory.has_unsynced_deletions
    assert directory.take_doomed(NOW_MS + 60_000) == []
    disk.mend("/data/orders-0")
    directory.delete(ORDERS_0, NOW_MS)
    assert remove_doomed(directory, NOW_MS + 60_000) == 1


def test_a_deletion_that_could_not_be_synced_is_not_taken_for_durable() -> None:
    """The next call tries it again."""
    disk = MemoryDisk(folders=["/data"])
    directory, _ = start("/data", disk=disk)
    create(directory, ORDERS_0, records=3).flush()
    directory.delete(ORDERS_0, NOW_MS)
    disk.fail_at(1, OSError(errno.EMFILE, "Too many open files"))
    with pytest.raises(OSError, match="Too many"):
        directory.sync_deletions()
    assert directory.has_unsynced_deletions
    assert "orders-0" in disk.crash().list("/data")
    directory.sync_deletions()
    assert not directory.has_unsynced_deletions
    assert "orders-0" not in disk.crash().list("/data")


def test_a_folder_that_cannot_be_removed_does_not_keep_the_others() -> None:
    """It is told why, and can be given back to be tried again."""
    disk = MemoryDisk(folders=["/data"])
    directory, _ = start("/data", disk=disk)
    for partition in range(3):
        create(directory, TopicPartition("orders", partition), records=1)
        directory.delete(TopicPartition("orders", partition), NOW_MS)
    stuck, *others = directory.take_doomed(NOW_MS + 60_000)
    disk.break_path(stuck)
    faults = directory.remove_folders([stuck, *others])
    assert list(faults) == [stuck]
    assert faults[stuck].errno == errno.EIO
    disk.mend(stuck)
    assert [f"/data/{name}" for name in disk.list("/data") if "-delete" in name] == [stuck]
    directory.doom_again(faults, NOW_MS + 70_000)
    assert remove_doomed(directory, NOW_MS + 69_999) == 0
    assert remove_doomed(directory, NOW_MS + 70_000) == 1
    assert not [name for name in disk.list("/data") if "-delete" in name]


# Placement.


@pytest.mark.spec("admin:LS-09", "slides:A42")
def test_new_partitions_go_where_the_fewest_are(tmp_path: Path) -> None:
    """They spread evenly over log.dirs; of equals the first listed; offline ones get none."""
    first, second, third = directories = [start(tmp_path / name)[0] for name in "abc"]
    placed = []
    for partition in range(6):
        chosen = choose_directory(directories)
        create(chosen, TopicPartition("orders", partition))
        placed.append(chosen)
    assert placed == [first, second, third, first, second, third]
    second.delete(TopicPartition("orders", 1), NOW_MS)
    assert choose_directory(directories) is second
    second.fail("broken")
    assert choose_directory(directories) is first
    assert len(first.logs) == len(third.logs) == 2  # the other directories go on
    first.fail("broken")
    third.fail("broken")
    with pytest.raises(ClientFault, match=r"every directory of log\.dirs is offline") as fault:
        choose_directory(directories)
    assert fault.value.error is Error.KAFKA_STORAGE_ERROR
    for directory in directories:
        directory.close()
