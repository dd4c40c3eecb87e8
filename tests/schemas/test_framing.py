"""Frames, byte by byte as the serializers of other languages write them."""

from __future__ import annotations

import contextlib
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.schemas.framing import (
    MAX_MESSAGE_INDEXES,
    frame,
    frame_guid_header,
    read_message_indexes,
    unframe,
)
from headrace.schemas.model import InvalidValue

GUID = UUID("89791762-2336-4186-9674-299b90a802e2")
GUID_BYTES = bytes.fromhex("89791762233641869674299b90a802e2")

INDEXES = [
    ((0,), "00"),
    ((1,), "0202"),
    ((0, 0), "040000"),
    ((1, 0), "040200"),
    ((2, 1, 0), "06040200"),
    ((64,), "028001"),
]


@pytest.mark.spec("slides:G04")
def test_the_classic_frame_is_a_zero_the_id_and_the_payload() -> None:
    """A framed value carries the id of its schema, big-endian after a zero byte, and no schema."""
    assert frame(258, b"data") == b"\x00\x00\x00\x01\x02data"


def test_the_classic_frame_is_taken_apart() -> None:
    """The id and the payload come back out of the bytes."""
    framed = unframe(b"\x00\x00\x00\x01\x02data")
    assert (framed.schema_id, framed.guid, framed.message_indexes) == (258, None, None)
    assert bytes(framed.payload) == b"data"


@pytest.mark.parametrize(("indexes", "encoded"), INDEXES)
def test_message_indexes_have_protobufs_spelling(indexes: tuple[int, ...], encoded: str) -> None:
    """Message indexes are zig-zag varints after their count, and the first message is one zero."""
    framed = frame(1, b"x", indexes)
    assert framed == bytes.fromhex("0000000001" + encoded) + b"x"
    parts = unframe(framed, indexed=True)
    assert parts.message_indexes == indexes
    assert bytes(parts.payload) == b"x"


def test_the_long_spelling_of_the_first_message_is_read_as_well() -> None:
    """A count of one and an index of zero mean the same as the single zero."""
    assert read_message_indexes(b"\x02\x00rest") == ((0,), memoryview(b"rest"))


def test_a_guid_stands_in_a_header_before_a_bare_payload() -> None:
    """With the header form the header has byte 1 and the GUID, and the value is all payload."""
    header = frame_guid_header(GUID)
    assert header == b"\x01" + GUID_BYTES
    framed = unframe(b"payload", header=header)
    assert (framed.schema_id, framed.guid) == (None, GUID)
    assert bytes(framed.payload) == b"payload"


def test_message_indexes_follow_the_guid_in_the_header() -> None:
    """Protobuf's indexes are part of the header in the header form."""
    header = frame_guid_header(GUID, (1, 0))
    assert header == b"\x01" + GUID_BYTES + b"\x04\x02\x00"
    framed = unframe(b"payload", indexed=True, header=header)
    assert (framed.message_indexes, bytes(framed.payload)) == ((1, 0), b"payload")


def test_a_guid_may_stand_before_the_payload() -> None:
    """The byte 1 in front of a value announces a GUID."""
    framed = unframe(b"\x01" + GUID_BYTES + b"payload")
    assert (framed.guid, bytes(framed.payload)) == (GUID, b"payload")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"\x00\x00\x00", "ends inside its schema id"),
        (b"\x01" + GUID_BYTES[:15], "ends inside its schema GUID"),
        (b"\x02\x00\x00\x00\x01", "magic byte 2"),
        (b'{"json": true}', "magic byte 123"),
    ],
)
def test_bytes_that_are_no_frame_are_refused(data: bytes, words: str) -> None:
    """A record that no serializer of a registry wrote gives an error that says why."""
    with pytest.raises(InvalidValue, match=words):
        unframe(data)


@pytest.mark.parametrize(
    "indexes",
    [
        "",  # nothing at all
        "01",  # a count of -1
        "0201",  # an index of -1
        "04 00",  # two announced, one there
        "ff ff ff ff ff ff",  # a varint without an end
        "fe ff ff ff 0f",  # two thousand million indexes
        "82 01" + "00" * 65,  # more than messages are ever nested
    ],
)
def test_broken_message_indexes_are_refused(indexes: str) -> None:
    """No count or index from outside makes the reader loop or fail otherwise."""
    with pytest.raises(InvalidValue):
        unframe(bytes.fromhex("0000000001") + bytes.fromhex(indexes), indexed=True)


@given(st.binary(max_size=40), st.booleans())
def test_any_bytes_give_a_frame_or_the_documented_error(data: bytes, indexed: bool) -> None:
    """Nothing but InvalidValue comes out, whatever goes in."""
    with contextlib.suppress(InvalidValue):
        assert len(unframe(data, indexed=indexed).payload) < len(data)


@given(
    st.integers(0, 2**31 - 1),
    st.binary(max_size=20),
    st.lists(st.integers(0, 10_000), min_size=1, max_size=MAX_MESSAGE_INDEXES).map(tuple),
)
def test_a_frame_is_taken_apart_to_what_it_was(
    schema_id: int, payload: bytes, indexes: tuple[int, ...]
) -> None:
    """Framing and unframing are inverse, with any path of indexes."""
    framed = unframe(frame(schema_id, payload, indexes), indexed=True)
    assert (framed.schema_id, framed.message_indexes) == (schema_id, indexes)
    assert bytes(framed.payload) == payload
