"""The transaction index: bytes, search, truncation and checks."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import CorruptData, InvariantViolated
from headrace.log.txn_index import AbortedTransaction, TransactionIndex, decode, encode
from headrace.runtime.os_disk import OsDisk
from tests.log.format_page import hex_example

# Written by Apache Kafka 4.3.1.
KAFKAS_BYTES = bytes.fromhex(
    "0000 0000000000000fa0 000000000000000a 0000000000000014 000000000000000f"
)
KAFKAS_ENTRY = AbortedTransaction(
    producer_id=4000, first_offset=10, last_offset=20, last_stable_offset=15
)
NAME = "00000000000000000000.txnindex"


def index_in(folder: Path, *entries: AbortedTransaction) -> TransactionIndex:
    path = folder / NAME
    index = TransactionIndex(OsDisk(), str(path), exists=path.exists())
    for entry in entries:
        index.append(entry)
    return index


# Producers 1 and 2 overlap; 3 comes alone.
FIRST = AbortedTransaction(1, first_offset=5, last_offset=12, last_stable_offset=8)
SECOND = AbortedTransaction(2, first_offset=8, last_offset=15, last_stable_offset=16)
THIRD = AbortedTransaction(3, first_offset=20, last_offset=25, last_stable_offset=26)


@pytest.mark.spec("admin:LS-15")
def test_the_bytes_are_kafkas(tmp_path: Path) -> None:
    """An entry has the 34 bytes that Apache Kafka 4.3.1 writes."""
    assert encode(KAFKAS_ENTRY) == KAFKAS_BYTES
    assert decode(KAFKAS_BYTES, "f") == [KAFKAS_ENTRY]
    index_in(tmp_path, KAFKAS_ENTRY)
    assert (tmp_path / NAME).read_bytes() == KAFKAS_BYTES


@pytest.mark.spec("admin:LS-15")
def test_the_file_appears_with_the_first_abort(tmp_path: Path) -> None:
    """A segment without aborted transactions has no index file."""
    index = index_in(tmp_path)
    index.sanity_check(0)
    index.truncate(0)
    index.reset()
    index.sync()
    index.close()
    assert index.collect(0, 100) == ([], False)
    assert not index.exists
    assert not (tmp_path / NAME).exists()
    index.append(FIRST)
    assert index.exists
    assert (tmp_path / NAME).stat().st_size == 34


@pytest.mark.parametrize(
    ("from_offset", "up_to_offset", "found", "complete"),
    [
        (0, 100, [FIRST, SECOND, THIRD], False),
        (0, 5, [], True),
        (0, 6, [FIRST], True),
        (12, 13, [FIRST, SECOND], True),
        (13, 16, [SECOND], True),
        (16, 20, [], True),
        (16, 26, [THIRD], True),
        (16, 27, [THIRD], False),
        (26, 100, [], False),
    ],
)
def test_collect_finds_what_touches_the_range(
    tmp_path: Path,
    from_offset: int,
    up_to_offset: int,
    found: list[AbortedTransaction],
    complete: bool,
) -> None:
    """A transaction counts if any offset from its first record to its marker is in the range."""
    index = index_in(tmp_path, FIRST, SECOND, THIRD)
    assert index.collect(from_offset, up_to_offset) == (found, complete)


def test_collect_orders_by_first_offset(tmp_path: Path) -> None:
    """Markers may come in another order than the transactions began; readers need the latter."""
    late = AbortedTransaction(1, first_offset=3, last_offset=9, last_stable_offset=10)
    early = AbortedTransaction(2, first_offset=5, last_offset=8, last_stable_offset=3)
    assert index_in(tmp_path, early, late).collect(0, 100)[0] == [late, early]


def test_a_search_ends_where_everything_was_decided(tmp_path: Path) -> None:
    """An entry whose last stable offset reaches the range's end ends the search."""
    index = index_in(tmp_path, FIRST, SECOND, THIRD)
    assert index.collect(0, 8) == ([FIRST], True)


@pytest.mark.parametrize(
    ("offset", "left"),
    [(26, [FIRST, SECOND, THIRD]), (25, [FIRST, SECOND]), (13, [FIRST]), (12, []), (0, [])],
)
def test_truncate_drops_markers_from_an_offset_on(
    tmp_path: Path, offset: int, left: list[AbortedTransaction]
) -> None:
    """What lost its marker is undecided again; a later abort can be appended."""
    index = index_in(tmp_path, FIRST, SECOND, THIRD)
    index.truncate(offset)
    assert list(index) == list(index_in(tmp_path)) == left
    next_marker = max([offset, *(entry.last_offset + 1 for entry in left)])
    index.append(AbortedTransaction(9, 0, next_marker, next_marker + 1))
    assert list(index)[:-1] == left


def test_reset_empties_the_index(tmp_path: Path) -> None:
    """Recovery starts with an empty index."""
    index = index_in(tmp_path, FIRST, SECOND)
    index.reset()
    index.append(FIRST)
    assert list(index) == [FIRST]


@pytest.mark.parametrize("reopened", [False, True])
def test_markers_must_ascend(tmp_path: Path, reopened: bool) -> None:
    """An abort before the last one is a bug, also after the file was opened again."""
    index = index_in(tmp_path, SECOND)
    with pytest.raises(InvariantViolated, match="abort at offset 12 after one at 15"):
        (index_in(tmp_path) if reopened else index).append(FIRST)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (KAFKAS_BYTES[:-1], "33 bytes are no multiple of 34"),
        (KAFKAS_BYTES + b"\0", "35 bytes are no multiple of 34"),
        (b"\x00\x01" + KAFKAS_BYTES[2:], "version 1, only 0 is known"),
        (encode(FIRST._replace(last_offset=4, first_offset=4)), "in the segment of 5"),
        (encode(SECOND) + encode(FIRST), "cannot follow offset 15"),
        (encode(FIRST._replace(first_offset=13)), "cannot follow"),
        (encode(FIRST._replace(first_offset=-1)), "cannot follow"),
    ],
)
def test_sanity_check_finds_damage(tmp_path: Path, data: bytes, complaint: str) -> None:
    """A torn or foreign index is reported, so that it is rebuilt from the log."""
    (tmp_path / NAME).write_bytes(data)
    with pytest.raises(CorruptData, match=complaint):
        index_in(tmp_path).sanity_check(5)


def test_sanity_check_accepts_a_good_index(tmp_path: Path) -> None:
    """A transaction may have begun in an older segment."""
    index_in(tmp_path, FIRST, SECOND, THIRD).sanity_check(12)


def test_an_index_longer_than_one_read(tmp_path: Path) -> None:
    """Thousands of aborts are read piece by piece, all of them."""
    entries = [AbortedTransaction(1, 2 * n, 2 * n + 1, 2 * n + 2) for n in range(2500)]
    (tmp_path / NAME).write_bytes(b"".join(map(encode, entries)))
    assert list(index_in(tmp_path)) == entries


def test_the_index_follows_its_segment(tmp_path: Path) -> None:
    """Renaming keeps the content, also if the file is created only later; removing deletes it."""
    index = index_in(tmp_path)
    index.rename(str(tmp_path / "x.txnindex"))
    index.append(FIRST)
    index.rename(str(tmp_path / "y.txnindex"))
    index.append(SECOND)
    index.sync()
    index.close()
    assert [file.name for file in tmp_path.iterdir()] == ["y.txnindex"]
    assert list(index) == [FIRST, SECOND]
    index.remove()
    index.remove()
    assert not list(tmp_path.iterdir())
    assert not index.exists


@given(st.binary(max_size=200))
def test_any_bytes_give_entries_or_a_clear_error(data: bytes) -> None:
    """No content of the file raises anything but CorruptData."""
    with contextlib.suppress(CorruptData):
        assert len(decode(data, "f")) == len(data) // 34


def test_the_documented_example_is_true() -> None:
    """docs/formats/transaction-index.md shows the bytes of the aborts that it describes."""
    entries = [AbortedTransaction(4000, 10, 20, 15), AbortedTransaction(4001, 15, 22, 23)]
    assert hex_example("transaction-index.md") == b"".join(map(encode, entries))
