"""Offset checkpoints and the clean-shutdown marker."""

from __future__ import annotations

import contextlib
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import CorruptData
from headrace.log import checkpoints
from headrace.runtime.os_disk import OsDisk
from headrace.testing.memory_disk import MemoryDisk, SimulatedCrash
from headrace.types import TopicPartition
from tests.log.format_page import text_example


@pytest.mark.spec("admin:LS-20", "admin:LS-21")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (checkpoints.RECOVERY_POINTS, "recovery-point-offset-checkpoint"),
        (checkpoints.HIGH_WATERMARKS, "replication-offset-checkpoint"),
        (checkpoints.LOG_START_OFFSETS, "log-start-offset-checkpoint"),
    ],
)
def test_a_checkpoint_has_kafkas_name_and_bytes(tmp_path: Path, name: str, expected: str) -> None:
    """A checkpoint is a text file of version, count and `topic partition offset` lines."""
    path = f"{tmp_path}/{name}"
    offsets = {TopicPartition("my-topic", 3): 42, TopicPartition("a.b_c", 0): 0}
    checkpoints.write_offsets(OsDisk(), path, offsets)
    assert (tmp_path / expected).read_bytes() == b"0\n2\nmy-topic 3 42\na.b_c 0 0\n"
    assert checkpoints.read_offsets(OsDisk(), path) == offsets
    assert [file.name for file in tmp_path.iterdir()] == [expected]


@given(
    st.dictionaries(
        st.builds(
            TopicPartition,
            st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True),
            st.integers(0, 2**31 - 1),
        ),
        st.integers(0, 2**63 - 1),
        max_size=20,
    )
)
def test_offsets_survive_a_round_trip(offsets: dict[TopicPartition, int]) -> None:
    """Whatever is written is read back."""
    data = checkpoints.encode_offsets(offsets)
    assert checkpoints.decode_offsets(data, "f") == offsets


def test_a_missing_or_empty_file_has_no_entries(tmp_path: Path) -> None:
    """A new directory has no checkpoint, and Kafka creates them with zero bytes."""
    path = f"{tmp_path}/recovery-point-offset-checkpoint"
    assert checkpoints.read_offsets(OsDisk(), path) == {}
    Path(path).touch()
    assert checkpoints.read_offsets(OsDisk(), path) == {}


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"1\n0\n", "f line 1: version '1'"),
        (b"0\n", "f line 2: no count"),
        (b"0\n-1\n", "f line 2: no count"),
        (b"0\n2\norders 3 42\n", "f line 2: 2 entries announced, 1 found"),
        (b"0\n0\norders 3 42\n", "f line 2: 0 entries announced, 1 found"),
        (b"0\n1\norders 3\n", "f line 3: 'orders 3' is not 'topic partition offset'"),
        (b"0\n2\norders 3 42\norders x 42\n", "f line 4: 'orders x 42'"),
        (b"0\n1\norders 3 -42\n", "f line 3"),
        (b"0\n1\norders 3 99999999999999999999\n", "f line 3"),
        (b"\xff\xfe\n", "f: not text"),
    ],
)
def test_a_malformed_file_is_refused_by_name_and_line(data: bytes, complaint: str) -> None:
    """A damaged checkpoint is never half believed: the error names file and line."""
    with pytest.raises(CorruptData) as refusal:
        checkpoints.decode_offsets(data, "f")
    assert str(refusal.value).startswith(complaint)


@given(st.binary(max_size=60))
def test_any_bytes_give_offsets_or_a_clear_error(data: bytes) -> None:
    """No content of the file raises anything but CorruptData."""
    with contextlib.suppress(CorruptData):
        assert all(offset >= 0 for offset in checkpoints.decode_offsets(data, "f").values())


def test_the_clean_shutdown_marker_counts_once(tmp_path: Path) -> None:
    """The marker has Kafka 4's name and content and is gone after the start that used it."""
    disk, folder = OsDisk(), str(tmp_path)
    assert checkpoints.take_clean_shutdown(disk, folder) is False
    checkpoints.write_clean_shutdown(disk, folder)
    assert (tmp_path / ".kafka_cleanshutdown").read_bytes() == b'{"version":0,"brokerEpoch":-1}'
    assert checkpoints.take_clean_shutdown(disk, folder) is True
    assert checkpoints.take_clean_shutdown(disk, folder) is False


def test_the_documented_example_is_true() -> None:
    """docs/formats/checkpoints.md shows the bytes of two entries."""
    offsets = {TopicPartition("my-topic", 3): 42, TopicPartition("__consumer_offsets", 17): 0}
    assert text_example("checkpoints.md") == checkpoints.encode_offsets(offsets)


def test_a_crash_leaves_the_old_offsets_or_the_new() -> None:
    """Whenever the power fails while a checkpoint is replaced, it is whole."""
    path = "/data/recovery-point-offset-checkpoint"
    old, new = {TopicPartition("orders", 0): 5}, {TopicPartition("orders", 0): 6}
    completed = False
    for operation in range(1, 20):
        disk = MemoryDisk(folders=["/data"])
        checkpoints.write_offsets(disk, path, old)
        disk.crash_at(operation)
        try:
            checkpoints.write_offsets(disk, path, new)
            completed = True
        except SimulatedCrash:
            pass
        for seed in range(5):
            left = checkpoints.read_offsets(disk.crash(Random(seed), torn_pages=True), path)
            assert left in ([new] if completed else [old, new])
        if completed:
            break
    assert completed


def test_a_used_marker_does_not_come_back() -> None:
    """A crash right after a start must not look like a clean shutdown."""
    disk = MemoryDisk(folders=["/data"])
    checkpoints.write_clean_shutdown(disk, "/data")
    disk = disk.crash()
    assert checkpoints.take_clean_shutdown(disk, "/data") is True
    assert checkpoints.take_clean_shutdown(disk.crash(), "/data") is False
