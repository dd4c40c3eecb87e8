"""Frames out of a stream that is cut anywhere."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.wire.frame import BadFrame, FrameReader, name_stranger

MAX_BYTES = 8 * 1024 * 1024


def frame_of(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def feed(reader: FrameReader, stream: bytes, cuts: list[int]) -> list[bytes]:
    """Give the stream to the reader in pieces; a piece is never longer than what it asks for."""
    frames: list[bytes] = []
    position = 0
    cuts = [*cuts, len(stream)]
    while position < len(stream):
        want = cuts.pop(0) if len(cuts) > 1 else len(stream)
        buffer = reader.buffer()
        count = max(1, min(want, len(buffer), len(stream) - position))
        buffer[:count] = stream[position : position + count]
        frames += [bytes(frame) for frame in reader.received(count)]
        position += count
    return frames


@given(
    payloads=st.lists(st.binary(min_size=8, max_size=9000), min_size=1, max_size=6),
    cuts=st.lists(st.integers(1, 5000), max_size=40),
    scratch=st.sampled_from([4096, 6000]),
)
def test_frames_survive_any_cut_of_the_stream(
    payloads: list[bytes], cuts: list[int], scratch: int
) -> None:
    """Where TCP cuts the stream has no influence on the frames."""
    reader = FrameReader(MAX_BYTES, bytearray(scratch))
    stream = b"".join(map(frame_of, payloads))
    assert feed(reader, stream, cuts) == payloads


def test_a_frame_above_the_grain_arrives_whole() -> None:
    """A frame of several megabytes is collected in chunks and handed out as one."""
    payload = bytes(range(256)) * (3 * 4096 + 5)
    reader = FrameReader(MAX_BYTES, bytearray(65536))
    assert feed(reader, frame_of(payload) + frame_of(b"next one"), []) == [payload, b"next one"]


def test_large_frames_in_a_row_are_received_in_place() -> None:
    """After a large frame little of the next one takes the way round; a small one resets that."""
    reader = FrameReader(MAX_BYTES, bytearray(65536))
    large, small = b"L" * 100_000, b"S" * 100
    assert feed(reader, frame_of(small), []) == [small]
    assert len(reader.buffer()) == 65536
    assert feed(reader, frame_of(large), []) == [large]
    assert len(reader.buffer()) == 4096
    assert feed(reader, frame_of(large) + frame_of(small), []) == [large, small]
    assert len(reader.buffer()) == 65536


def test_little_is_taken_from_a_sender_of_many_frames() -> None:
    """Nor from one of whom nothing is known: cutting thousands of frames would hold up others."""
    reader = FrameReader(MAX_BYTES, bytearray(65536))
    assert len(reader.buffer()) == 4096
    many = [b"M" * 10] * 200
    assert feed(reader, b"".join(map(frame_of, many)), []) == many
    assert len(reader.buffer()) == 4096
    assert feed(reader, frame_of(b"one alone"), []) == [b"one alone"]
    assert len(reader.buffer()) == 65536


def test_connections_may_share_the_scratch() -> None:
    """Two half-read connections on one scratch buffer do not see each other's bytes."""
    scratch = bytearray(4096)
    one, two = FrameReader(MAX_BYTES, scratch), FrameReader(MAX_BYTES, scratch)
    first, second = frame_of(b"A" * 100), frame_of(b"B" * 100)
    frames: list[bytes] = []
    for cut in (slice(0, 3), slice(3, 50), slice(50, 104)):
        for reader, stream in ((one, first), (two, second)):
            piece = stream[cut]
            reader.buffer()[: len(piece)] = piece
            frames += [bytes(frame) for frame in reader.received(len(piece))]
    assert frames == [b"A" * 100, b"B" * 100]


@pytest.mark.parametrize("size", [2**31 - 1, MAX_BYTES + 1, -1, -(2**31), 0, 7])
def test_absurd_sizes_are_refused_before_memory_is_taken(size: int) -> None:
    """A length prefix above socket.request.max.bytes, negative or below a header is refused."""
    reader = FrameReader(MAX_BYTES, bytearray(4096))
    reader.buffer()[:4] = struct.pack(">i", size)
    with pytest.raises(BadFrame):
        reader.received(4)


@pytest.mark.parametrize(
    ("first", "who"),
    [
        (b"GET / HTTP/1.1", "HTTP"),
        (b"POST /x", "HTTP"),
        (b"\x16\x03\x01\x02\x00", "TLS"),
        (b"ruok", "ZooKeeper"),
        (b"SSH-2.0", "SSH"),
    ],
)
def test_strangers_are_named(first: bytes, who: str) -> None:
    """The log says who knocked at the wrong door, and what to do about it."""
    assert who in name_stranger(first)
    reader = FrameReader(104857600, bytearray(4096))
    reader.buffer()[: len(first)] = first
    with pytest.raises(BadFrame, match=who):
        reader.received(len(first))


def test_a_lying_length_takes_no_more_memory_than_it_sends() -> None:
    """A frame that claims 100 MB and sends 10 bytes holds one grain, not 100 MB."""
    reader = FrameReader(104857600, bytearray(4096))
    start = struct.pack(">i", 104857600) + b"0123456789"
    reader.buffer()[: len(start)] = start
    assert reader.received(len(start)) == []
    assert len(reader.buffer()) <= 1 << 20
