"""Records of the internal topics: bytes and back, and nothing but clear errors for nonsense."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.group import records as group
from headrace.coordinator.transaction import records as transaction
from headrace.errors import CorruptData
from headrace.types import NO_EPOCH, NO_TIMESTAMP, ZERO_UUID
from headrace.wire import encode_bytes
from tests.coordinator.state_records import (
    CLASSIC_GROUP,
    CURRENT_ASSIGNMENT,
    EXPIRING_OFFSET,
    GROUP_RECORDS,
    MODERN_MEMBER,
    NOW_MS,
    OFFSET,
    TRANSACTION_RECORDS,
)

Decode = Callable[[bytes | None, bytes | None], StateRecord[Any, Any] | None]
DECODERS = [group.decode_record, transaction.decode_record]


@pytest.mark.parametrize("record", GROUP_RECORDS, ids=lambda record: type(record.key).__name__)
def test_group_records_come_back(record: StateRecord[Any, Any]) -> None:
    """Every type of `__consumer_offsets` reads as it was written, and so does its tombstone."""
    key, value = group.encode_record(record)
    assert group.decode_record(key, value) == record
    tombstone = StateRecord(record.key, None)
    assert group.encode_record(tombstone) == (key, None)
    assert group.decode_record(key, None) == tombstone


@pytest.mark.parametrize("record", TRANSACTION_RECORDS)
def test_transaction_records_come_back(record: StateRecord[Any, Any]) -> None:
    """The only type of `__transaction_state`, with and without its tagged fields."""
    key, value = transaction.encode_record(record)
    assert transaction.decode_record(key, value) == record
    assert transaction.decode_record(key, None) == StateRecord(record.key, None)


def test_views_are_read_as_bytes_are() -> None:
    """A log hands out memoryviews of its batches."""
    key, value = group.encode_record(OFFSET)
    assert value is not None
    assert group.decode_record(memoryview(key), memoryview(value)) == OFFSET


def value_bytes(value: Any, version: int) -> bytes:
    return version.to_bytes(2, "big") + encode_bytes(value, version)


@pytest.mark.parametrize(
    ("version", "lost"),
    [
        (0, {"leader_epoch": NO_EPOCH, "topic_id": ZERO_UUID}),
        (1, {"leader_epoch": NO_EPOCH, "topic_id": ZERO_UUID}),
        (2, {"leader_epoch": NO_EPOCH, "topic_id": ZERO_UUID}),
        (3, {"topic_id": ZERO_UUID}),
        (4, {}),
    ],
)
def test_offsets_of_every_age_are_read(version: int, lost: dict[str, Any]) -> None:
    """What a version does not carry has its default."""
    key, _ = group.encode_record(OFFSET)
    found = group.decode_record(key, value_bytes(OFFSET.value, version))
    value: Any = OFFSET.value
    assert found == StateRecord(OFFSET.key, replace(value, **lost))


def test_the_oldest_keys_are_offsets_too() -> None:
    """Type 0 is what type 1 is; only the latter is written."""
    key, value = group.encode_record(OFFSET)
    assert key[:2] == b"\0\1"
    assert group.decode_record(b"\0\0" + key[2:], value) == OFFSET


def test_only_offsets_with_an_own_end_are_written_in_an_old_version() -> None:
    """Version 1 alone can say when an offset expires, which OffsetCommit v2 to v4 may ask for."""
    _, value = group.encode_record(OFFSET)
    _, expiring = group.encode_record(EXPIRING_OFFSET)
    assert value is not None
    assert expiring is not None
    assert (value[:2], expiring[:2]) == (b"\0\4", b"\0\1")


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_classic_groups_of_every_age_are_read(version: int) -> None:
    """Versions add the rebalance timeout, the time of the last change, the instance id."""
    key, _ = group.encode_record(CLASSIC_GROUP)
    found = group.decode_record(key, value_bytes(CLASSIC_GROUP.value, version))
    assert found is not None
    assert isinstance(found.value, group.GroupMetadataValue)
    (member,) = found.value.members
    assert found.value.current_state_timestamp == (NOW_MS if version >= 2 else NO_TIMESTAMP)
    assert member.rebalance_timeout == (300_000 if version >= 1 else -1)
    assert member.group_instance_id == ("i1" if version >= 3 else None)


def test_null_is_said_aloud_where_silence_means_empty() -> None:
    """Kafka reads a missing classic_member_metadata as an empty one: as a classic member."""
    _, value = group.encode_record(MODERN_MEMBER)
    assert value is not None
    assert value.endswith(b"\x01\x00\x01\x00")  # one tag: number 0, one byte, null
    _, value = group.encode_record(CURRENT_ASSIGNMENT)
    assert value is not None
    assert value.endswith(b"\x01\x00\x01\x00\x00")  # the same for epochs that are not known


@pytest.mark.parametrize("number", [9, 17, 23, 24, 1_000, -1])
def test_other_types_belong_to_others(number: int) -> None:
    """Share groups, streams groups and whatever comes later are left alone."""
    key = number.to_bytes(2, "big", signed=True) + b"whatever"
    assert group.decode_record(key, b"anything") is None


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        (None, None, "a record whose key has 0 bytes"),
        (b"\0", None, "a record whose key has 1 bytes"),
        (b"\0\2\0\5abc", None, "malformed GroupMetadataKey v0: it ends too early"),
        (b"\0\2\0\1g!", None, "1 bytes follow its end"),
        (b"\0\2\0\1g", b"", "a record whose value has 0 bytes"),
        (b"\0\2\0\1g", b"\0\x05", "GroupMetadataValue v5 is not supported; versions 0 to 4 are"),
        (b"\0\2\0\1g", b"\0\3\xff\xff", "protocol_type is null"),
    ],
)
def test_nonsense_is_named(key: bytes | None, value: bytes | None, complaint: str) -> None:
    """A damaged record says in which topic it stands and what is wrong with it."""
    with pytest.raises(CorruptData, match=r"^__consumer_offsets: .*" + complaint):
        group.decode_record(key, value)


@given(st.sampled_from(DECODERS), st.binary(), st.none() | st.binary())
def test_any_bytes_at_all(decode: Decode, key: bytes, value: bytes | None) -> None:
    """Random bytes are a record, somebody else's record, or corrupt."""
    try:
        decode(key, value)
    except CorruptData:
        pass


@given(st.sampled_from([*GROUP_RECORDS, *TRANSACTION_RECORDS]), st.data())
def test_damaged_records(record: StateRecord[Any, Any], data: st.DataObject) -> None:
    """A true record with some bytes changed or cut off fails in no other way."""
    records = transaction if record in TRANSACTION_RECORDS else group
    key, value = records.encode_record(record)
    damaged = bytearray(value or b"")
    for _ in range(data.draw(st.integers(0, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    try:
        records.decode_record(key, cut)
    except CorruptData:
        pass
