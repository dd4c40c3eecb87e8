"""Batches become the rows that the reader in Python sees, whatever they hold."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import CorruptData, InvariantViolated
from headrace.pipelines.columns import decode as decode_module
from headrace.pipelines.columns.decode import decode_in_pieces
from headrace.pipelines.columns.schema import arrow_schema
from headrace.records.batch import TimestampType, read_header, seal
from headrace.records.builder import BatchBuilder, build_batch, rebuild_batch
from headrace.records.compression import Codec
from headrace.records.record import Record
from tests.pipelines.columns.samples import LAST, PARTITION, TOPIC, decode, expected, opened, plain
from tests.records.samples import NOW_MS, RECORDS, codecs, patient, record_lists

HEADERLESS = [Record(0, NOW_MS, b"k", b"v") for _ in range(20)]


def gapped(base_offset: int, offsets: list[int], codec: Codec = Codec.NONE) -> bytes:
    """A batch as compaction leaves it: only some of its offsets still have records."""
    builder = BatchBuilder(base_offset=base_offset, compression=codec)
    for offset in offsets:
        builder.append(b"%d" % offset, b"v%d" % offset, NOW_MS + offset, offset=offset)
    return builder.build()


@patient
@given(
    lists=st.lists(st.tuples(record_lists, codecs, st.sampled_from(TimestampType)), max_size=4),
    headers=st.booleans(),
)
def test_any_records(lists: list[tuple[list[Record], Codec, TimestampType]], headers: bool) -> None:
    """Any keys, values, nulls, headers, times and codecs, in several batches at once."""
    batches = []
    next_offset = 0
    for records, codec, timestamp_type in lists:
        batch = build_batch(
            records, compression=codec, timestamp_type=timestamp_type, base_offset=next_offset
        )
        next_offset = read_header(batch).next_offset
        batches.append(batch)
    rows = decode(opened(*batches), headers=headers)
    assert rows.schema.equals(arrow_schema(headers=headers))
    wanted = expected(opened(*batches))
    if not headers:
        for row in wanted:
            del row["headers"]
    assert plain(rows) == wanted


@pytest.mark.parametrize("codec", Codec)
@given(first=st.integers(0, 45), end=st.integers(0, 45))
@patient
def test_rows_outside_the_offsets_stay_out(codec: Codec, first: int, end: int) -> None:
    """A slice takes rows by their offsets, also where compaction has left gaps."""
    batches = opened(
        gapped(0, [0, 1, 4, 9], codec), gapped(10, [13], codec), gapped(30, [30, 31, 40], codec)
    )
    assert plain(decode(batches, first, end)) == expected(batches, first, end)


def test_batches_outside_the_offsets_are_not_opened() -> None:
    """A fetch begins with the batch that holds its offset; what is not asked for is not checked."""
    damaged = bytearray(gapped(0, [0, 1]))
    damaged[-1] ^= 1
    rows = decode(opened(damaged, gapped(2, [2, 3])), 2, 3)
    assert rows.column("offset").to_pylist() == [2]


@pytest.mark.parametrize("headers", [False, True])
def test_no_batches_no_rows(headers: bool) -> None:
    """An empty slice is an empty batch of the same schema."""
    emptied = rebuild_batch(read_header(gapped(5, [5, 6])), [])
    for batches in ([], opened(emptied)):
        rows = decode(batches, headers=headers)
        assert rows.num_rows == 0
        assert rows.schema.equals(arrow_schema(headers=headers))


@pytest.mark.parametrize("with_null", [False, True])
def test_bitmaps_only_where_there_are_nulls(with_null: bool) -> None:
    """Columns without a null have no validity bitmap, which Spark reads faster."""
    headers: list[tuple[str, bytes | None]] = [("h", None if with_null else b"x")]
    odd = Record(0, 2**62 if with_null else NOW_MS, None if with_null else b"k", b"v", headers)
    odd.value = None if with_null else b"v"
    records = [Record(0, NOW_MS, b"k", b"v", [("h", b"x")]) for _ in range(9)]
    last = Record(0, NOW_MS, b"k", b"v", []) if with_null else odd
    rows = decode(opened(build_batch([*records, odd, last])))
    lists = rows.column("headers")
    columns = [rows.column(name) for name in ("key", "value", "timestamp", "headers")]
    for column in [*columns, lists.values.field("value")]:
        assert (column.buffers()[0] is not None) == with_null
        assert column.null_count == int(with_null)


def test_without_headers_means_null() -> None:
    """Spark's source gives null for a record without headers, not an empty list."""
    rows = decode(opened(build_batch([*HEADERLESS, RECORDS[1]])))
    lists = rows.column("headers").to_pylist()
    assert lists[:-1] == [None] * len(HEADERLESS)
    assert [entry["key"] for entry in lists[-1]] == ["trace", "empty", "nul"]


# What `new String(bytes, UTF_8)` of OpenJDK 17 printed for these.
JAVA_TEXTS = [
    (b"plain", "plain"),
    (b"n\xc3\xa4me", "näme"),
    (b"\xff\xfe", "��"),
    (b"a\xe2\x82", "a�"),
    (b"a\xe2\x82b", "a�b"),
    (b"\xe0\x80\x80", "���"),
    (b"\xc0\xaf", "��"),
    (b"\xed\xa0\x80", "�"),
    (b"\xed\xa0\x80\xed\xb0\x80", "��"),
    (b"\xed\xa0", "�"),
    (b"\xed\xa0A", "�A"),
    (b"\xf0\x9f\x98", "�"),
    (b"\xf0\x9f\x98A", "�A"),
    (b"\xf4\x90\x80\x80", "����"),
    (b"\xf8\x88\x80\x80\x80", "�����"),
]


@pytest.mark.parametrize(("name", "text"), JAVA_TEXTS, ids=lambda value: repr(value))
def test_names_that_are_not_utf8_read_as_in_java(name: bytes, text: str) -> None:
    """A Java consumer, and so Spark's source, puts replacement characters where bytes are bad."""
    marker = "N" * len(name)
    batch = build_batch([Record(0, NOW_MS, b"k", b"v", [("good", b"1"), (marker, b"2")])])
    payload = batch[61:].replace(marker.encode(), name)
    rows = decode(opened(seal(read_header(batch), payload)))
    assert rows.column("headers").to_pylist() == [
        [{"key": "good", "value": b"1"}, {"key": text, "value": b"2"}]
    ]


@pytest.mark.parametrize(
    ("millis", "micros"),
    [
        (-1, -1000),
        (0, 0),
        ((2**63 - 1) // 1000, (2**63 - 1) // 1000 * 1000),
        ((2**63 - 1) // 1000 + 1, None),
        (1_700_000_000_000_000_000, None),
    ],
)
@pytest.mark.parametrize("timestamp_type", TimestampType)
def test_times_in_microseconds(
    millis: int, micros: int | None, timestamp_type: TimestampType
) -> None:
    """Milliseconds become microseconds; a time too large for that is null, not another time."""
    batch = build_batch([Record(0, millis, b"k", b"v")], timestamp_type=timestamp_type)
    (row,) = plain(decode(opened(batch)))
    assert (row["timestamp"], row["timestampType"]) == (micros, timestamp_type)


def test_damage_is_named() -> None:
    """A flipped bit is found by the CRC; the error says where it is."""
    damaged = bytearray(build_batch(RECORDS, base_offset=40))
    damaged[-3] ^= 8
    with pytest.raises(CorruptData, match=r"orders-3: the batch at offset 40 .* CRC"):
        decode(opened(build_batch(HEADERLESS), damaged))


def test_a_lying_count_is_named() -> None:
    """A batch with fewer or more records than it says is damaged, though its CRC is right."""
    batch = build_batch(HEADERLESS, base_offset=7)
    header = read_header(batch)
    for count in (len(HEADERLESS) - 1, 0):
        lying = seal(header._replace(record_count=count), batch[61:])
        with pytest.raises(CorruptData, match=r"orders-3: the batch at offset 7 .* malformed"):
            decode(opened(lying))
    with pytest.raises(CorruptData, match=r"orders-3: the batch at offset 7 .* malformed"):
        decode(opened(seal(header, batch[61:-9])))


def test_undecodable_codecs_are_named() -> None:
    """Payloads that their codec cannot open, and codecs that nobody knows."""
    header = read_header(build_batch(HEADERLESS, base_offset=7))
    for codec in range(1, 8):
        batch = seal(header._replace(attributes=codec), b"not compressed at all")
        with pytest.raises(CorruptData, match="orders-3: the batch at offset 7"):
            decode(opened(batch))


def test_offsets_past_the_last_are_damage() -> None:
    """Offsets that do not fit in 64 bits are refused before they wrap around."""
    batch = build_batch(HEADERLESS, base_offset=2**63 - 3)
    with pytest.raises(CorruptData, match="its offsets go past"):
        decode(opened(batch), 0, LAST)


def test_a_column_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow counts a column's bytes in 31 bits: more is refused, not written."""
    batches = opened(build_batch(RECORDS))
    monkeypatch.setattr(decode_module, "_MAX_COLUMN_BYTES", 20_000)
    with pytest.raises(InvariantViolated, match="orders-3 have 20011 bytes in one column"):
        decode(batches)


@pytest.mark.parametrize("codec", Codec)
def test_pieces(codec: Codec) -> None:
    """Pieces hold the same rows in the same order, each no larger than asked for when opened."""
    batches = opened(
        *(
            build_batch(
                [Record(0, NOW_MS, None, b"v" * 100)] * 10, compression=codec, base_offset=at
            )
            for at in range(0, 100, 10)
        )
    )
    pieces = list(
        decode_in_pieces(
            batches,
            topic=TOPIC,
            partition=PARTITION,
            first_offset=15,
            end_offset=85,
            headers=False,
            piece_bytes=2500,
        )
    )
    assert [piece.num_rows for piece in pieces] == [15, 20, 20, 15]
    assert pa.Table.from_batches(pieces).column("offset").to_pylist() == list(range(15, 85))
