"""docs/formats/segment.md and index.md: the worked examples are what the code writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headrace.log.offset_index import OffsetIndex
from headrace.log.time_index import TimeIndex
from headrace.records.builder import BatchBuilder
from headrace.testing import MemoryDisk
from tests.log.format_page import hex_example
from tests.log.logs import (
    FOLDER,
    append,
    batch_positions,
    file_bytes,
    new_disk,
    new_log,
    read_everything,
    reopened,
)
from tests.settings import log_config

STEM = "00000000000000000000"
START_MS = 1_700_000_000_000
CONFIG = log_config(index_interval_bytes=60)
PAGES = Path(__file__).parents[2] / "docs" / "formats"


def example_log() -> MemoryDisk:
    """The three batches of the pages' example."""
    disk = new_disk()
    log = new_log(disk, CONFIG)
    for key, value, later_ms, epoch in (
        (b"k1", b"first", 0, 0),
        (None, b"second", 250, 0),
        (None, b"third", 100, 1),
    ):
        builder = BatchBuilder()
        builder.append(key, value, START_MS + later_ms)
        append(log, memoryview(builder.build()), leader_epoch=epoch)
    log.close()
    return disk


@pytest.mark.spec("admin:LS-11", "slides:A04")
def test_the_segment_of_the_example() -> None:
    """The page's bytes are those of the log file, at the positions that the page names."""
    data = file_bytes(example_log(), f"{STEM}.log")
    assert data == hex_example("segment.md")
    assert [position for position, _, _ in batch_positions(data)] == [0, 75, 149]


@pytest.mark.spec("admin:LS-12", "admin:LS-13")
def test_the_indexes_of_the_example() -> None:
    """The page's bytes are those of the offset index, followed by those of the time index."""
    disk = example_log()
    written = file_bytes(disk, f"{STEM}.index") + file_bytes(disk, f"{STEM}.timeindex")
    assert written == hex_example("index.md")


def test_the_example_can_be_opened() -> None:
    """A folder with nothing but the page's log file is a log."""
    disk = new_disk()
    disk.make_folder(FOLDER)
    disk.open(f"{FOLDER}/{STEM}.log", create=True).append([hex_example("segment.md")])
    log = reopened(disk, CONFIG, clean=False)
    values = [record.value for record in read_everything(log)]
    assert values == [b"first", b"second", b"third"]
    assert [tuple(entry) for entry in log.leader_epochs.entries] == [(0, 0), (1, 2)]
    assert log.offset_of_max_timestamp() == (START_MS + 250, 1)


def test_the_tables_have_the_entries_sizes() -> None:
    """The layouts on the page add up to the sizes that the code uses."""
    page = (PAGES / "index.md").read_text()
    rows = re.findall(r"^\| (\d+) \| (\d) \| int\d+ \| (\w+) \|", page, re.MULTILINE)
    ends = [int(offset) + int(size) for offset, size, _ in rows]
    assert ends == [4, OffsetIndex.entry_size, 8, TimeIndex.entry_size]
