from __future__ import annotations

import pytest
from aiokafka.record.control_record import ABORT_MARKER, COMMIT_MARKER, ControlRecord

from headrace.errors import CorruptData
from headrace.records.batch import check_batch
from headrace.records.control import EndTxnMarker, build_end_txn_marker, parse_control
from headrace.records.record import Record
from tests.records.samples import NOW_MS, opened, read_all


@pytest.mark.parametrize("commit", [True, False])
def test_marker(commit: bool) -> None:
    """KIP-98: the marker is a transactional control batch of one record without a sequence."""
    marker = EndTxnMarker(commit=commit, coordinator_epoch=17)
    batch = build_end_txn_marker(
        marker,
        producer_id=2**33,
        producer_epoch=4,
        timestamp=NOW_MS,
        base_offset=99,
        leader_epoch=6,
    )
    header, view = opened(batch)
    check_batch(view, header)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (2**33, 4, -1)
    assert (header.base_offset, header.last_offset, header.partition_leader_epoch) == (99, 99, 6)
    (record,) = read_all(batch)
    assert record.timestamp == NOW_MS
    assert parse_control(record) == marker
    assert marker.is_abort is not commit
    assert record.value == bytes.fromhex("0000 00000011")
    assert ControlRecord.parse(record.key or b"") == (COMMIT_MARKER if commit else ABORT_MARKER)


@pytest.mark.parametrize("kind", [2, 3, 4, 5, 6, 99, -1])
def test_other_control_records_are_skipped(kind: int) -> None:
    """Leader changes, quorum records and types from the future end no transaction."""
    key = b"\x00\x00" + kind.to_bytes(2, "big", signed=True)
    assert parse_control(Record(0, NOW_MS, key, None)) is None


def test_later_versions_may_be_longer() -> None:
    """Fields that a later version appends are ignored."""
    record = Record(0, 0, bytes.fromhex("00010001ff"), bytes.fromhex("000100000005ffff"))
    assert parse_control(record) == EndTxnMarker(commit=True, coordinator_epoch=5)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, None),
        (b"", None),
        (b"\x00\x00\x00", b"\x00" * 6),
        (b"\xff\xff\x00\x00", b"\x00" * 6),
        (b"\x00\x00\x00\x01", None),
        (b"\x00\x00\x00\x01", b"\x00" * 5),
        (b"\x00\x00\x00\x00", b"\xff\xff\x00\x00\x00\x00"),
    ],
)
def test_malformed(key: bytes | None, value: bytes | None) -> None:
    """A control record that cannot be understood is CorruptData that names its offset."""
    with pytest.raises(CorruptData, match="offset 31"):
        parse_control(Record(31, 0, key, value))
