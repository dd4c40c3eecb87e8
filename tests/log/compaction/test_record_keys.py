"""Keys found, and records cut out, without unpacking records: the same as unpacking would give."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import CorruptData
from headrace.log.compaction.record_keys import cut_out, read_keys, shift_time, time_delta
from headrace.records.batch import HEADER_SIZE, read_header, seal
from headrace.records.builder import BatchBuilder
from headrace.records.record import Record, iterate

sizes = st.sampled_from([0, 1, 5, 63, 64, 200, 9000])
optional_bytes = st.none() | sizes.map(bytes)
records = st.builds(
    Record,
    offset=st.just(0),
    timestamp=st.sampled_from([0, 1, 63, 64, 10_000, 1 << 40]),
    key=optional_bytes,
    value=optional_bytes,
    headers=st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=2),
)
repeated = st.lists(
    st.tuples(records, st.sampled_from([1, 2, 15, 16, 17, 70, 130])), min_size=1, max_size=4
)
"""Some records, each many times in a row: runs of all lengths, and what is between them."""


def build(many: list[Record]) -> bytes:
    builder = BatchBuilder()
    for record in many:
        builder.append(record.key, record.value, record.timestamp, record.headers)
    return builder.build()


@settings(deadline=None)
@given(repeated)
def test_keys_are_those_that_unpacking_finds(runs: list[tuple[Record, int]]) -> None:
    """Keys, tombstones and records without key, for any mixture of sizes and times."""
    batch = build([record for record, times in runs for _ in range(times)])
    header = read_header(batch)
    unpacked = list(iterate(header, memoryview(batch)))
    found = read_keys(batch[HEADER_SIZE:], header.record_count)
    assert found.keys == [record.key or b"" for record in unpacked]
    assert found.keyless == [i for i, record in enumerate(unpacked) if record.key is None]
    assert found.tombstones == [i for i, record in enumerate(unpacked) if record.value is None]


@settings(deadline=None)
@given(repeated, st.randoms(use_true_random=False))
def test_cut_out_records_are_whole(
    runs: list[tuple[Record, int]], rng: Callable[..., object]
) -> None:
    """What is cut out is, in a batch of its own, what unpacking would have kept."""
    batch = build([record for record, times in runs for _ in range(times)])
    header = read_header(batch)
    unpacked = list(iterate(header, memoryview(batch)))
    kept = sorted(rng.sample(range(len(unpacked)), k=len(unpacked) // 2))  # type: ignore[attr-defined]
    pieces = cut_out(batch[HEADER_SIZE:], kept)
    rest = seal(header._replace(record_count=len(kept)), b"".join(pieces))
    assert list(iterate(read_header(rest), memoryview(rest))) == [unpacked[i] for i in kept]
    assert [header.base_timestamp + time_delta(piece) for piece in pieces] == [
        unpacked[i].timestamp for i in kept
    ]


@settings(deadline=None)
@given(repeated, st.sampled_from([0, 1, -64, 10**15, -(2**62)]))
def test_a_shifted_time_counts_from_another_base(runs: list[tuple[Record, int]], by: int) -> None:
    """Nothing of a record changes but the distance of its time from the batch's."""
    batch = build([record for record, _ in runs])
    header = read_header(batch)
    pieces = cut_out(batch[HEADER_SIZE:], range(header.record_count))
    shifted = b"".join(shift_time(piece, by) for piece in pieces)
    moved = seal(header._replace(base_timestamp=header.base_timestamp - by), shifted)
    before = list(iterate(header, memoryview(batch)))
    assert list(iterate(read_header(moved), memoryview(moved))) == before


def alike(count: int) -> bytes:
    return build([Record(0, 0, b"key", b"value") for _ in range(count)])[HEADER_SIZE:]


TWO_HUNDRED = alike(200)


@pytest.mark.parametrize("count", [1, 63, 64, 200])
def test_a_wrong_number_of_records_is_damage(count: int) -> None:
    """Neither fewer nor more records than are there, in a run or not."""
    payload = alike(count)
    for wrong in (count - 1, count + 1):
        with pytest.raises(CorruptData, match="records"):
            read_keys(payload, wrong)


@pytest.mark.parametrize("count", [1, 200])
def test_a_key_that_leaves_its_record_is_damage(count: int) -> None:
    """A length of a key that is not true is found, in a run of records as well."""
    payload = bytearray(alike(count))
    assert payload[4] == 6, "the length of the first key"
    payload[4] = 40
    with pytest.raises(CorruptData):
        read_keys(bytes(payload), count)


@given(st.integers(0, 199), st.integers(0, 12), st.integers(0, 255))
def test_damage_is_an_error_or_another_key(record: int, at: int, byte: int) -> None:
    """Whatever a byte becomes: there are as many keys as records, or it is called damage."""
    payload = bytearray(TWO_HUNDRED)
    payload[min(record * 13 + at, len(payload) - 1)] = byte
    try:
        assert len(read_keys(bytes(payload), 200).keys) == 200
    except CorruptData:
        pass


@given(st.binary(max_size=300), st.integers(0, 40))
def test_nonsense_is_damage(payload: bytes, count: int) -> None:
    """Any bytes give keys or CorruptData, never another error."""
    try:
        assert len(read_keys(payload, count).keys) == count
    except CorruptData:
        pass
