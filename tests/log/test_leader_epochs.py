"""Leader epochs: assignment, the question of KIP-101/KIP-279, truncation, and the file."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import CorruptData, InvariantViolated
from headrace.log import PartitionLog
from headrace.log.leader_epochs import UNDEFINED, EpochEntry, LeaderEpochs, decode, encode
from headrace.records.batch import split_batches
from headrace.runtime.os_disk import OsDisk
from tests.log.format_page import text_example
from tests.log.logs import append, new_disk, new_log, reopened


def epochs_of(tmp_path: Path, *entries: tuple[int, int]) -> LeaderEpochs:
    epochs = LeaderEpochs(OsDisk(), str(tmp_path))
    for epoch, start_offset in entries:
        epochs.assign(epoch, start_offset)
    return epochs


def reloaded(tmp_path: Path) -> list[tuple[int, int]]:
    entries = LeaderEpochs.load(OsDisk(), str(tmp_path)).entries
    return [(entry.epoch, entry.start_offset) for entry in entries]


@pytest.mark.spec("admin:LS-16")
def test_the_file_has_kafkas_bytes(tmp_path: Path) -> None:
    """One `leader-epoch-checkpoint` per partition holds version, count and `epoch start` lines."""
    epochs_of(tmp_path, (0, 0), (1, 2), (2, 4))
    file = tmp_path / "leader-epoch-checkpoint"
    assert file.read_bytes() == b"0\n3\n0 0\n1 2\n2 4\n"
    assert [entry.name for entry in tmp_path.iterdir()] == [file.name]


@pytest.mark.spec("admin:RC-16", "admin:RC-17", "admin:RC-18")
def test_the_course_example_truncates_to_the_offset(tmp_path: Path) -> None:
    """Replica A (m0 m1 m2 of epoch 0) comes back to leader B, whose epoch 1 began at offset 2."""
    leader = epochs_of(tmp_path, (0, 0), (1, 2))
    # A's last epoch is 0 and its log ends at 3: the leader's epoch 0 ended at 2, so m2 goes.
    assert leader.end_offset_for(0, log_end_offset=4) == (0, 2)
    follower = epochs_of(tmp_path, (0, 0))
    follower.truncate_from_end(2)
    # It fetches offsets 2 and 3 of epoch 1; the preferred election then starts epoch 2 at 4.
    follower.assign(1, 2)
    follower.assign(2, 4)
    assert reloaded(tmp_path) == [(0, 0), (1, 2), (2, 4)]


@pytest.mark.parametrize(
    ("requested", "answer"),
    [
        (-1, UNDEFINED),  # the follower knows no epoch
        (1, (1, 10)),  # older than all that is left: the log's history begins at 10
        (2, (2, 20)),
        (3, (2, 20)),  # nobody wrote in epoch 3: the largest one below it answers
        (5, (5, 30)),
        (7, (7, 99)),  # the latest epoch ends with the log
        (8, UNDEFINED),  # this leader has not heard of it yet
    ],
)
def test_end_offset_for(tmp_path: Path, requested: int, answer: tuple[int, int]) -> None:
    """KIP-279: the answer is the largest epoch not above the requested one, and its end."""
    epochs = epochs_of(tmp_path, (2, 10), (5, 20), (7, 30))
    assert epochs.end_offset_for(requested, log_end_offset=99) == answer


def test_an_empty_cache_knows_nothing(tmp_path: Path) -> None:
    """A log without epochs answers every question with undefined."""
    epochs = epochs_of(tmp_path)
    assert epochs.latest_epoch == -1
    assert epochs.end_offset_for(0, log_end_offset=5) == UNDEFINED
    assert epochs.epoch_at(0) is None
    assert not epochs.truncate_from_end(0)
    assert not epochs.truncate_from_start(10)


@pytest.mark.parametrize(
    ("epoch", "start_offset", "left"),
    [
        (3, 8, [(0, 0), (1, 4), (2, 6), (3, 8)]),
        (3, 6, [(0, 0), (1, 4), (3, 6)]),  # epoch 2 wrote nothing
        (3, 2, [(0, 0), (3, 2)]),
        (3, 0, [(3, 0)]),
        (2, 5, [(0, 0), (1, 4), (2, 5)]),  # the same epoch, an earlier start
        (2, 6, [(0, 0), (1, 4), (2, 6)]),  # known already
        (2, 9, [(0, 0), (1, 4), (2, 6)]),  # goes on
        (1, 9, [(0, 0), (1, 9)]),  # an older leader: what contradicts it is removed
    ],
)
def test_assignment_keeps_epochs_and_offsets_ascending(
    tmp_path: Path, epoch: int, start_offset: int, left: list[tuple[int, int]]
) -> None:
    """A new entry removes those that contradict it, and the file says so at once."""
    epochs = epochs_of(tmp_path, (0, 0), (1, 4), (2, 6))
    epochs.assign(epoch, start_offset)
    assert reloaded(tmp_path) == left
    assert epochs.latest_epoch == left[-1][0]


def test_assign_tells_news_from_repetition(tmp_path: Path) -> None:
    """Only news is written, so that every append may assign."""
    epochs = epochs_of(tmp_path)
    assert epochs.assign(4, 0)
    assert not epochs.assign(4, 17)


@pytest.mark.parametrize(("epoch", "start_offset"), [(-1, 0), (0, -1)])
def test_impossible_assignments_stop_the_broker(
    tmp_path: Path, epoch: int, start_offset: int
) -> None:
    """A negative epoch or offset is a bug, not data."""
    with pytest.raises(InvariantViolated):
        epochs_of(tmp_path).assign(epoch, start_offset)


@pytest.mark.parametrize(
    ("end", "left"),
    [
        (9, [(0, 0), (1, 4), (2, 6)]),
        (6, [(0, 0), (1, 4)]),
        (5, [(0, 0), (1, 4)]),
        (4, [(0, 0)]),
        (0, []),
    ],
)
def test_truncation_from_the_end(tmp_path: Path, end: int, left: list[tuple[int, int]]) -> None:
    """Epochs that began at or after the new end go; the file follows."""
    epochs = epochs_of(tmp_path, (0, 0), (1, 4), (2, 6))
    assert epochs.truncate_from_end(end) is (len(left) < 3)
    assert reloaded(tmp_path) == left
    assert epochs.latest_epoch == (left[-1][0] if left else -1)


@pytest.mark.parametrize(
    ("start", "left"),
    [
        (0, [(0, 0), (1, 4), (2, 6)]),
        (3, [(0, 3), (1, 4), (2, 6)]),
        (4, [(1, 4), (2, 6)]),
        (5, [(1, 5), (2, 6)]),
        (50, [(2, 50)]),
    ],
)
def test_truncation_from_the_start(tmp_path: Path, start: int, left: list[tuple[int, int]]) -> None:
    """The epoch of the new first offset begins there; older ones are forgotten."""
    epochs = epochs_of(tmp_path, (0, 0), (1, 4), (2, 6))
    assert epochs.truncate_from_start(start) is (start != 0)
    assert reloaded(tmp_path) == left


def test_clear_forgets_everything(tmp_path: Path) -> None:
    """A log that starts anew elsewhere has no epochs."""
    epochs = epochs_of(tmp_path, (0, 0), (1, 4))
    epochs.clear()
    assert reloaded(tmp_path) == []
    assert epochs.latest_epoch == -1


@pytest.mark.parametrize(
    ("offset", "epoch"), [(0, None), (9, None), (10, 2), (19, 2), (20, 5), (99, 5)]
)
def test_epoch_at(tmp_path: Path, offset: int, epoch: int | None) -> None:
    """Each offset belongs to the last epoch that began at or before it."""
    assert epochs_of(tmp_path, (2, 10), (5, 20)).epoch_at(offset) == epoch


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "f: it is empty"),
        (b"0\n2\n0 0\n1 2", "f: the last line has no end"),  # of 1 26, say
        (b"0\n1\n0\n", "f line 3: '0' is not 'epoch start_offset'"),
        (b"0\n1\nx 0\n", "f line 3: 'x 0'"),
        (b"0\n2\n1 0\n1 5\n", "f line 4: '1 5' does not follow"),
        (b"0\n2\n1 5\n2 5\n", "f line 4: '2 5' does not follow"),
        (b"7\n", "f line 1"),
    ],
)
def test_a_malformed_file_is_refused_by_name_and_line(data: bytes, complaint: str) -> None:
    """A damaged file is reported with file and line."""
    with pytest.raises(CorruptData) as refusal:
        decode(data, "f")
    assert str(refusal.value).startswith(complaint)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 12)), max_size=12))
def test_entries_always_ascend_and_answer_like_a_plain_search(
    assignments: list[tuple[int, int]],
) -> None:
    """After any assignments both columns ascend strictly and every question has Kafka's answer."""
    epochs = LeaderEpochs(OsDisk(), "/nowhere", [EpochEntry(*pair) for pair in assignments])
    entries = epochs.entries
    assert entries == sorted(entries)
    assert len({entry.start_offset for entry in entries}) == len(entries)
    assert entries[-1:] == [EpochEntry(*pair) for pair in assignments[-1:]]
    for requested in range(10):
        answer = epochs.end_offset_for(requested, 100)
        later = [entry for entry in entries if entry.epoch > requested]
        known = [entry.epoch for entry in entries if entry.epoch <= requested]
        if later:
            assert answer == (known[-1] if known else requested, later[0].start_offset)
        else:
            assert answer == ((requested, 100) if requested in known else UNDEFINED)


def test_the_documented_example_is_true(tmp_path: Path) -> None:
    """docs/formats/leader-epoch-checkpoint.md shows the file and the answers of its example."""
    epochs = epochs_of(tmp_path, (0, 0), (1, 2), (2, 4))
    assert text_example("leader-epoch-checkpoint.md") == encode(epochs.entries)
    answers = [epochs.end_offset_for(epoch, log_end_offset=9) for epoch in range(4)]
    assert answers == [(0, 2), (1, 4), (2, 9), (-1, -1)]


def test_an_epoch_is_as_durable_as_its_records() -> None:
    """A flush syncs the epochs of what it syncs; whatever a power cut leaves can be opened."""
    disk = new_disk()
    log = new_log(disk)
    for epoch in (0, 3):
        append(log, leader_epoch=epoch)
    log.flush()
    append(log, leader_epoch=7)
    for seed in range(20):
        left = reopened(disk.crash(Random(seed), torn_pages=True), clean=False, recovery_point=2)
        epochs = left.leader_epochs.entries
        assert epochs[:2] == [EpochEntry(0, 0), EpochEntry(3, 1)]
        assert epochs[2:] == ([EpochEntry(7, 2)] if left.log_end_offset == 3 else [])


def test_a_truncation_of_epochs_is_as_durable_as_what_follows_it() -> None:
    """Records of an older epoch in the place of cut ones never appear as those of the newer one."""
    disk = new_disk()
    log = new_log(disk)
    append(log, leader_epoch=7)
    append(log, leader_epoch=8)
    log.flush()
    log.truncate_to(1)
    log.leader_epochs.truncate_from_end(1)
    append(log, leader_epoch=7)
    for flushed in (False, True):
        if flushed:
            log.flush()
        for seed in range(20):
            after = disk.crash(Random(seed), torn_pages=True)
            left = reopened(after, clean=False, recovery_point=2 if flushed else 1)
            said = [left.leader_epochs.epoch_at(offset) for offset in range(left.log_end_offset)]
            assert said == [epoch for _, epoch in epochs_of_records(left)]


def epochs_of_records(log: PartitionLog) -> list[tuple[int, int]]:
    """Each offset with the epoch that its batch carries."""
    data = memoryview(log.read(0, 1 << 20, up_to=log.log_end_offset).data())
    return [
        (offset, header.partition_leader_epoch)
        for header, _ in split_batches(data)
        for offset in range(header.base_offset, header.next_offset)
    ]


def test_what_records_say_corrects_the_file(tmp_path: Path) -> None:
    """The epoch that a record carries is believed, and later ones only if their records come."""
    epochs = epochs_of(tmp_path, (0, 0), (7, 3), (8, 7), (9, 9))
    epochs.confirm(7, 6)
    assert epochs.entries == [(0, 0), (7, 3), (8, 7), (9, 9)]
    epochs.confirm(7, 7)
    assert epochs.entries == [(0, 0), (7, 3)]
    epochs.confirm(9, 9)
    assert epochs.entries == [(0, 0), (7, 3), (9, 9)]
    epochs.truncate_from_start(4)
    epochs.confirm(0, 2)  # of a segment that begins before the log does
    assert epochs.entries == [(7, 4), (9, 9)]
