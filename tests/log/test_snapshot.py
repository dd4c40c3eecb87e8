"""Producer snapshots: the bytes, and the files of a partition's folder."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import CorruptData
from headrace.log.snapshot import ProducerEntry, Snapshots, decode, encode, offset_of
from headrace.runtime.os_disk import OsDisk
from headrace.testing.memory_disk import MemoryDisk
from tests.log.format_page import hex_example

# Written by Apache Kafka 4.3.1: a producer in the middle of a transaction, without a data batch.
KAFKAS_BYTES = bytes.fromhex(
    "0001 cad4a49d 00000001"
    "0000000000000fa0 0003 ffffffff ffffffffffffffff 00000000"
    "0000018bcfe5687b 00000007 0000000000000064"
)
KAFKAS_ENTRY = ProducerEntry(4000, 3, -1, -1, 0, 1_700_000_000_123, 7, 100)

int16, int32, int64 = (st.integers(-(2 ** (n - 1)), 2 ** (n - 1) - 1) for n in (16, 32, 64))
entries = st.lists(
    st.builds(ProducerEntry, int64, int16, int32, int64, int32, int64, int32, int64), max_size=8
)


def snapshots_in(folder: Path) -> Snapshots:
    return Snapshots(OsDisk(), str(folder), [file.name for file in folder.iterdir()])


def names_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.spec("admin:LS-14")
def test_the_bytes_are_kafkas() -> None:
    """A snapshot that Apache Kafka 4.3.1 wrote is read, and written again bit for bit."""
    assert decode(KAFKAS_BYTES) == [KAFKAS_ENTRY]
    assert encode([KAFKAS_ENTRY]) == KAFKAS_BYTES


@given(entries)
def test_entries_survive_a_round_trip(written: list[ProducerEntry]) -> None:
    """Whatever is written is read back, in order."""
    assert decode(encode(written)) == written


@given(entries.filter(bool), st.data())
def test_a_flipped_or_missing_byte_is_found(
    written: list[ProducerEntry], data: st.DataObject
) -> None:
    """No single damaged byte and no cut goes unnoticed."""
    good = encode(written)
    position = data.draw(st.integers(0, len(good) - 1))
    bad = bytearray(good)
    bad[position] ^= data.draw(st.integers(1, 255))
    for damaged in (bytes(bad), good[:position]):
        with pytest.raises(CorruptData):
            decode(damaged)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "of 0 bytes"),
        (b"\x00\x02" + KAFKAS_BYTES[2:], "version 2"),
        (
            KAFKAS_BYTES[:2] + b"\x00" * 4 + KAFKAS_BYTES[6:],
            "CRC 00000000, its bytes give cad4a49d",
        ),
    ],
)
def test_the_error_names_the_broken_condition(data: bytes, complaint: str) -> None:
    """An operator reads what is wrong with the file."""
    with pytest.raises(CorruptData, match=complaint):
        decode(data)


def test_a_count_that_does_not_fit_is_refused() -> None:
    """A valid CRC does not excuse a wrong count."""
    from headrace.records.checksum import crc32c

    for count in (-1, 2, 0):
        body = count.to_bytes(4, "big", signed=True) + KAFKAS_BYTES[10:]
        with pytest.raises(CorruptData, match=f"cannot hold {count} entries"):
            decode(b"\x00\x01" + crc32c(body).to_bytes(4, "big") + body)


@pytest.mark.parametrize(
    ("name", "offset"),
    [
        ("00000000000000000123.snapshot", 123),
        ("00000000000000000123.snapshot.deleted", None),
        ("00000000000000000123.log", None),
        ("123.snapshot", None),
        ("0000000000000000012a.snapshot", None),
    ],
)
def test_names_carry_the_offset(name: str, offset: int | None) -> None:
    """A snapshot's name is the next offset in twenty digits."""
    assert offset_of(name) == offset


def test_the_newest_readable_snapshot_wins(tmp_path: Path) -> None:
    """A damaged snapshot is removed and the one before it is used."""
    snapshots = snapshots_in(tmp_path)
    assert snapshots.newest() is None
    for offset in (10, 30, 20):
        snapshots.write(offset, [KAFKAS_ENTRY._replace(producer_id=offset)], sync=True)
    assert snapshots.offsets == [10, 20, 30]
    (tmp_path / "00000000000000000030.snapshot").write_bytes(b"torn")
    found = snapshots_in(tmp_path).newest()
    assert found == (20, [KAFKAS_ENTRY._replace(producer_id=20)])
    assert names_in(tmp_path) == ["00000000000000000010.snapshot", "00000000000000000020.snapshot"]


def test_a_snapshot_that_someone_removed_is_passed_over(tmp_path: Path) -> None:
    """A file that vanished is no reason to fail."""
    snapshots = snapshots_in(tmp_path)
    snapshots.write(10, [], sync=False)
    snapshots.write(20, [], sync=False)
    (tmp_path / "00000000000000000020.snapshot").unlink()
    assert snapshots.newest() == (10, [])
    assert snapshots.offsets == [10]


def test_writing_twice_at_one_offset_replaces(tmp_path: Path) -> None:
    """Two snapshots of one offset cannot exist."""
    snapshots = snapshots_in(tmp_path)
    snapshots.write(10, [], sync=False)
    snapshots.write(10, [KAFKAS_ENTRY], sync=False)
    assert snapshots.offsets == [10]
    assert snapshots.newest() == (10, [KAFKAS_ENTRY])


def test_snapshots_outside_the_log_are_removed(tmp_path: Path) -> None:
    """At or below the start there is nothing to replay; above the end the records are gone."""
    snapshots = snapshots_in(tmp_path)
    for offset in (5, 10, 11, 20, 21):
        snapshots.write(offset, [], sync=False)
    snapshots.remove_outside(10, 20)
    assert snapshots.offsets == snapshots_in(tmp_path).offsets == [11, 20]


@pytest.mark.parametrize(
    ("present", "bases", "left"),
    [
        ([0, 10, 20], {0, 10, 20}, [0, 10, 20]),
        ([5, 10, 15], {0, 10}, [10, 15]),  # 15: written at the end by a clean shutdown
        ([5, 10, 15, 17], {0, 10}, [10, 17]),
        ([5, 7], {0, 10}, []),
        ([5, 7], set(), [7]),
    ],
)
def test_strays_are_removed(
    tmp_path: Path, present: list[int], bases: set[int], left: list[int]
) -> None:
    """Only snapshots of segments stay, and the newest stray after the last segment's base."""
    snapshots = snapshots_in(tmp_path)
    for offset in present:
        snapshots.write(offset, [], sync=False)
    snapshots.remove_strays(bases)
    assert snapshots.offsets == snapshots_in(tmp_path).offsets == left


def test_the_documented_example_is_true() -> None:
    """docs/formats/producer-snapshot.md shows the bytes of the state that it describes."""
    entry = ProducerEntry(4000, 3, 9, 1009, 9, 1_700_000_000_123, 7, 100)
    assert hex_example("producer-snapshot.md") == encode([entry])


def test_a_power_cut_never_leaves_a_wrong_snapshot() -> None:
    """An unsynced snapshot is there as a whole, or the one before it is used."""
    older, newer = [KAFKAS_ENTRY], [KAFKAS_ENTRY._replace(producer_id=n) for n in range(200)]
    outcomes = set()
    for seed in range(60):
        disk = MemoryDisk(folders=["/orders-0"])
        snapshots = Snapshots(disk, "/orders-0", [])
        snapshots.write(10, older, sync=True)
        snapshots.write(20, newer, sync=False)
        left = disk.crash(Random(seed), torn_pages=True)
        found = Snapshots(left, "/orders-0", left.list("/orders-0")).newest()
        assert found in ((10, older), (20, newer))
        outcomes.add(None if found is None else found[0])
    assert outcomes == {10, 20}
