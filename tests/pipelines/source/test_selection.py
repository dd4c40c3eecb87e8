"""Which batches of a fetch hold rows, and the account of the offsets that hold none."""

from __future__ import annotations

import pytest

from headrace.client.fetching import AbortedTransaction, FetchedSlice
from headrace.errors import CorruptData
from headrace.pipelines.source.gaps import Unfilled
from headrace.pipelines.source.selection import Selected, select
from headrace.pipelines.source.split import OffsetRange
from headrace.records.batch import CONTROL_BIT
from headrace.records.builder import BatchBuilder
from headrace.records.control import EndTxnMarker, build_end_txn_marker


def _batch(base: int, count: int, *, last: int | None = None, producer: int | None = None) -> bytes:
    transactional = producer is not None
    builder = BatchBuilder(
        base_offset=base,
        producer_id=producer if producer is not None else -1,
        producer_epoch=0 if transactional else -1,
        base_sequence=0 if transactional else -1,
        transactional=transactional,
    )
    for _ in range(count):
        builder.append(None, b"v", 0)
    return builder.build(last_offset=last)


def _marker(offset: int, producer: int, *, commit: bool) -> bytes:
    return build_end_txn_marker(
        EndTxnMarker(commit, 0),
        producer_id=producer,
        producer_epoch=0,
        timestamp=0,
        base_offset=offset,
    )


def _select(
    records: bytes,
    start: int,
    end: int,
    aborted: tuple[AbortedTransaction, ...] = (),
    *,
    read_committed: bool = True,
) -> tuple[Selected, Unfilled]:
    unfilled = Unfilled()
    fetched = FetchedSlice(memoryview(records), 1_000, 1_000, 0, aborted)
    wanted = OffsetRange("t", 0, start, end)
    return select(fetched, wanted, read_committed=read_committed, unfilled=unfilled), unfilled


def _offsets(selected: Selected) -> list[int]:
    return [header.base_offset for header, _ in selected.data]


def test_gaps_of_compaction_are_counted_and_passed() -> None:
    """Whole batches that are gone, the range that begins in a gap, and one that ends in one."""
    records = _batch(5, 2) + _batch(10, 2, last=12) + _batch(20, 1)
    selected, unfilled = _select(records, 3, 18)
    assert _offsets(selected) == [5, 10]
    assert selected.next_offset == 18
    assert unfilled == Unfilled(compacted=2 + 3 + 5)
    # Which offsets inside a batch have no record is seen when it is decoded.
    assert selected.data_offsets == 5


def test_a_range_inside_a_batch_needs_that_batch_alone() -> None:
    """Ranges of tasks are cut anywhere; a batch that straddles one counts with its part of it."""
    records = _batch(0, 10) + _batch(10, 10)
    selected, _ = _select(records, 4, 7)
    assert (_offsets(selected), selected.next_offset, selected.data_offsets) == ([0], 7, 3)
    selected, _ = _select(records, 10, 100)
    assert (_offsets(selected), selected.next_offset) == ([10], 20)
    assert selected.bytes_per_offset == len(_batch(10, 10)) / 10


def test_a_fetch_cut_off_within_a_batch_goes_on_at_that_batch() -> None:
    """A broker may cut an answer anywhere."""
    records = (_batch(0, 10) + _batch(10, 10))[:-1]
    assert _select(records, 0, 20)[0].next_offset == 10
    assert _select(records[:30], 0, 20)[0].next_offset == 0


@pytest.mark.spec("admin:CO-20", "admin:TX-07", "book2:O-11")
def test_aborted_transactions_and_markers_bring_no_rows() -> None:
    """read_committed: the producer's data up to its marker is dropped, what follows is not."""
    records = b"".join(
        [
            _batch(0, 2, producer=7),
            _batch(2, 1),
            _batch(3, 2, producer=8),
            _marker(5, 7, commit=False),
            _batch(6, 2, producer=7),
            _marker(8, 8, commit=True),
            _marker(9, 7, commit=True),
        ]
    )
    aborted = (AbortedTransaction(7, 0),)
    selected, unfilled = _select(records, 0, 10, aborted)
    assert _offsets(selected) == [2, 3, 6]
    assert selected.next_offset == 10
    assert unfilled == Unfilled(aborted=2, markers=3)
    selected, unfilled = _select(records, 0, 10, aborted, read_committed=False)
    assert _offsets(selected) == [0, 2, 3, 6]
    assert unfilled == Unfilled(markers=3)


def test_a_range_that_begins_inside_an_aborted_transaction() -> None:
    """The list of the broker names where the transaction began, before this fetch."""
    records = _batch(4, 2, producer=7) + _marker(6, 7, commit=False) + _batch(7, 1, producer=7)
    selected, unfilled = _select(records, 5, 8, (AbortedTransaction(7, 1),))
    assert _offsets(selected) == [7]
    assert unfilled == Unfilled(aborted=1, markers=1)


def test_damage_is_never_a_reason_to_drop() -> None:
    """A flipped bit that makes data look like a marker is found, not passed over."""
    records = bytearray(_batch(0, 2))
    records[22] |= CONTROL_BIT
    with pytest.raises(CorruptData, match=r"topic t, partition 0, offset 0.*CRC"):
        _select(bytes(records), 0, 2)
    records[16] = 1
    with pytest.raises(CorruptData, match=r"topic t, partition 0, from offset 0.*v1"):
        _select(bytes(records), 0, 2)
