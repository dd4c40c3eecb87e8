"""`partition.metadata` and Kafka's text form of ids."""

from __future__ import annotations

from pathlib import Path
from random import Random
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import CorruptData
from headrace.log import partition_metadata
from headrace.log.directory import LogDirectory
from headrace.runtime.os_disk import OsDisk
from headrace.testing import MemoryDisk
from headrace.types import uuid_from_text, uuid_to_text
from tests.log import logs
from tests.log.format_page import hex_example
from tests.settings import log_config

# As Apache Kafka 4.3.1 encodes it.
TOPIC_ID = UUID("3fc95771-bcff-4d3b-80bd-51ab2ebf2727")
KAFKAS_BYTES = b"version: 0\ntopic_id: P8lXcbz_TTuAvVGrLr8nJw"


def test_the_bytes_are_kafkas(tmp_path: Path) -> None:
    """The file says version and topic id the way Kafka does (KIP-516)."""
    partition_metadata.write(OsDisk(), str(tmp_path), TOPIC_ID)
    assert (tmp_path / "partition.metadata").read_bytes() == KAFKAS_BYTES
    assert partition_metadata.read(OsDisk(), str(tmp_path)) == TOPIC_ID


def test_a_folder_without_the_file_has_no_id(tmp_path: Path) -> None:
    """Folders from before topic ids are readable."""
    assert partition_metadata.read(OsDisk(), str(tmp_path)) is None


def test_a_final_newline_is_tolerated() -> None:
    """An editor's newline does not make a topic unreadable."""
    assert partition_metadata.decode(KAFKAS_BYTES + b"\n", "f") == TOPIC_ID


def test_an_id_is_as_durable_as_the_records() -> None:
    """The process that wrote it is killed before a flush; a later one flushes and stops in order.
    After that no power cut may tear the id.
    """
    disk = logs.new_disk()
    logs.append(logs.new_log(disk))
    later = logs.reopened(disk, clean=False)
    later.close()
    for seed in range(20):
        left = logs.reopened(disk.crash(Random(seed), torn_pages=True), recovery_point=1)
        assert (left.topic_id, left.log_end_offset) == (logs.TOPIC_ID, 1)


def test_an_id_that_was_given_later_is_durable_at_once() -> None:
    """Nothing is written to the log after it, so no flush would come to it."""

    def start(disk: MemoryDisk) -> LogDirectory:
        directory = LogDirectory.open(
            disk, logs.PARENT, cluster_id="c", node_id=1, uuid_factory=uuid4
        )
        directory.load(lambda topic: log_config(), logs.NOW_MS)
        return directory

    disk = logs.new_disk()
    first = start(disk)
    log = first.create(logs.ORDERS, logs.TOPIC_ID, log_config(), logs.NOW_MS)
    logs.append(log)
    first.close()
    disk.remove(f"{logs.FOLDER}/{partition_metadata.FILE_NAME}")
    second = start(disk)
    second.assign_topic_id(logs.ORDERS, TOPIC_ID)
    second.release()  # as if it was killed
    start(disk).close()
    for seed in range(20):
        left = start(disk.crash(Random(seed), torn_pages=True))
        assert left.logs[logs.ORDERS].topic_id == TOPIC_ID
        left.release()


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "f line 1"),
        (b"version: 1\ntopic_id: P8lXcbz_TTuAvVGrLr8nJw", "f line 1: 'version: 1'"),
        (b"version: 0\n", "f line 2"),
        (b"version: 0\ntopic_id: P8lXcbz_TTuAvVGrLr8nJ", "f line 2: 'P8lXcbz_TTuAvVGrLr8nJ' is"),
        (b"version: 0\ntopic_id: P8lXcbz+TTuAvVGrLr8nJw", "f line 2"),
        (b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", "f line 2: the id of no topic"),
        (KAFKAS_BYTES + b"\nmore", "f line 2"),
        (b"\xff\xff", "f line 1"),
    ],
)
def test_a_malformed_file_is_refused_by_name_and_line(data: bytes, complaint: str) -> None:
    """A damaged file is reported, never guessed at."""
    with pytest.raises(CorruptData) as refusal:
        partition_metadata.decode(data, "f")
    assert str(refusal.value).startswith(complaint)


@given(st.uuids())
def test_ids_survive_their_text_form(value: UUID) -> None:
    """Twenty-two characters carry an id."""
    text = uuid_to_text(value)
    assert len(text) == 22
    assert uuid_from_text(text) == value


@given(st.text(max_size=24))
def test_other_text_is_no_id(text: str) -> None:
    """Anything else raises ValueError, never another error."""
    try:
        assert len(uuid_to_text(uuid_from_text(text))) == len(text)
    except ValueError:
        pass


def test_the_documented_example_is_true() -> None:
    """docs/formats/meta-properties.md shows the bytes of the id that it names."""
    assert hex_example("meta-properties.md") == partition_metadata.encode(TOPIC_ID)
