"""Varints and tag buffers."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.wire.primitives import read_uvarint, skip_tags, tag_buffer, text_length, uvarint


@given(st.integers(0, 2**35 - 1))
@example(127)
@example(128)
@example(2**14 - 1)
@example(2**14)
@example(2**21 - 1)
@example(2**21)
@example(2**28 - 1)
@example(2**28)
def test_uvarint_round_trip(value: int) -> None:
    """A varint reads back as the number it was, in as few bytes as seven bits each allow."""
    data = uvarint(value)
    assert read_uvarint(data + b"\xff", 0) == (value, len(data))
    assert len(data) == max(1, -(-value.bit_length() // 7))


def test_uvarint_of_six_bytes_is_refused() -> None:
    """A varint that does not end after five bytes is an attack or noise."""
    with pytest.raises(ValueError, match="more than five bytes"):
        read_uvarint(b"\x80\x80\x80\x80\x80\x01", 0)


def test_string_length_limit() -> None:
    """Kafka's strings end at 32767 bytes, in flexible versions too."""
    assert text_length(32768) == uvarint(32768)
    with pytest.raises(ValueError, match="32768 bytes"):
        text_length(32769)


def test_tag_buffer_ascends_and_known_fields_win() -> None:
    """KIP-482: tags ascend; what we know of a tag replaces what a peer sent under it."""
    data = tag_buffer({5: b"five", 0: b""}, {200: b"far", 5: b"old"})
    assert data == b"\x03" + b"\x00\x00" + b"\x05\x04five" + b"\xc8\x01\x03far"
    assert skip_tags(data + b"!", 0) == len(data)
