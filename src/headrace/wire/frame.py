"""Frames out of a byte stream: an int32 size, then that many bytes.

The reader is sans-io and hands out the memory that the socket fills, so a large frame is received
straight into its own buffer. It refuses to know what a frame means, but it names the strangers who
knock at a Kafka port most often, because their first four bytes read as an absurd size.

    OFFSET  SIZE  TYPE   MEANING
         0     4  int32  size of what follows
         4  size  bytes  request or response, header first
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from headrace.errors import HeadraceError
from headrace.types import Buffer

_SIZE = Struct(">i")
_MIN_FRAME: Final = 8
# A frame up to this size gets its memory at once; a larger one grows as its bytes really arrive,
# so that a lying length costs its sender more than it costs us.
_GRAIN: Final = 1 << 20
# What is received at a time where the whole scratch would be too much. After a frame that it could
# not hold another one is likely, and most of that is to go straight to its own memory. Nor is it
# filled for a sender of thousands of frames: cutting them all would hold up others.
_LITTLE_BYTES: Final = 4096
_FEW_FRAMES: Final = 64

_HTTP_VERBS: Final = (b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"PATC", b"CONN")
_ZOOKEEPER_WORDS: Final = (b"ruok", b"stat", b"srvr", b"mntr", b"conf", b"cons", b"envi", b"dump")


class BadFrame(HeadraceError):
    """The stream cannot be a Kafka client's; the connection must be closed."""


def name_stranger(first_bytes: Buffer) -> str:
    """Who sends these first bytes to a plaintext Kafka port, or the empty string."""
    head = bytes(first_bytes[:4])
    if head in _HTTP_VERBS:
        return "an HTTP client; this port speaks the Kafka protocol"
    if head[:2] == b"\x16\x03":
        return (
            "a TLS client on a plaintext listener; use security.protocol=PLAINTEXT or an SSL port"
        )
    if head in _ZOOKEEPER_WORDS:
        return "a ZooKeeper four-letter word; this port is a Kafka broker"
    if head == b"SSH-":
        return "an SSH client"
    return ""


def check_size(head: Buffer, size: int, max_bytes: int) -> None:
    """Refuse sizes that no client of ours would send, before any memory is taken for them."""
    if _MIN_FRAME <= size <= max_bytes:
        return
    stranger = name_stranger(head)
    if stranger:
        raise BadFrame(f"first bytes are those of {stranger}")
    if size > max_bytes:
        raise BadFrame(f"frame of {size} bytes exceeds socket.request.max.bytes={max_bytes}")
    raise BadFrame(f"frame size {size} is below the {_MIN_FRAME} bytes of a request header")


class FrameReader:
    """Collects one connection's frames.

    `scratch` is where bytes land while no frame is open. All connections of one event loop may
    share it, because `buffer` and `received` are called back to back and nothing of it is kept.
    Whoever trusts the other side gives it a larger `grain`, which saves a copy of large frames.
    """

    __slots__ = (
        "_chunks",
        "_filled",
        "_frame",
        "_grain",
        "_head",
        "_max_bytes",
        "_missing",
        "_scratch",
        "_takes_little",
    )

    def __init__(self, max_bytes: int, scratch: bytearray, grain: int = _GRAIN) -> None:
        assert len(scratch) >= 4096
        self._max_bytes = max_bytes
        self._grain = grain
        self._scratch = memoryview(scratch)
        self._head = b""  # up to three bytes of a size that is not complete yet
        self._frame: bytearray | None = None  # the open frame, or its newest chunk
        self._filled = 0  # bytes of `_frame` that have arrived
        self._missing = 0  # bytes of the frame beyond `_frame`
        self._chunks: list[bytearray] = []  # full chunks of a frame above the grain
        self._takes_little = True  # of the scratch, with the next bytes

    def buffer(self) -> memoryview:
        """Where the next bytes of the stream go."""
        if self._frame is not None:
            return memoryview(self._frame)[self._filled :]
        if self._head or self._takes_little:
            return self._scratch[len(self._head) : _LITTLE_BYTES if self._takes_little else None]
        return self._scratch

    def received(self, count: int) -> list[bytes | bytearray]:
        """Take note of `count` bytes in `buffer`; returns the frames they complete."""
        frames: list[bytes | bytearray] = []
        if self._frame is not None:
            self._filled += count
            self._close_when_full(frames)
            return frames
        self._takes_little = False
        data = self._scratch
        end = count
        if self._head:
            head_size = len(self._head)
            data[:head_size] = self._head
            end += head_size
            self._head = b""
        position = 0
        while end - position >= 4:
            (size,) = _SIZE.unpack_from(data, position)
            if not _MIN_FRAME <= size <= self._max_bytes:
                check_size(data[position : position + 4], size, self._max_bytes)
            start = position + 4
            position = start + size
            if position > end:
                self._begin(size, data[start:end])
                break
            frames.append(bytes(data[start:position]))
        else:
            if position < end:
                self._head = bytes(data[position:end])
        if len(frames) > _FEW_FRAMES:
            self._takes_little = True
        return frames

    def _begin(self, size: int, first: memoryview) -> None:
        """Open a frame of which only `first` has arrived."""
        self._takes_little = size > len(self._scratch)
        grain = max(min(size, self._grain), len(first))
        self._frame = bytearray(grain)
        self._frame[: len(first)] = first
        self._filled = len(first)
        self._missing = size - grain
        if self._filled == grain and self._missing:
            self._next_chunk()

    def _close_when_full(self, frames: list[bytes | bytearray]) -> None:
        frame = self._frame
        assert frame is not None
        if self._filled < len(frame):
            return
        if self._missing:
            self._next_chunk()
            return
        if self._chunks:
            self._chunks.append(frame)
            frames.append(b"".join(self._chunks))
            self._chunks = []
        else:
            frames.append(frame)
        self._frame = None
        self._filled = 0

    def _next_chunk(self) -> None:
        assert self._frame is not None
        self._chunks.append(self._frame)
        grain = min(self._missing, self._grain)
        self._frame = bytearray(grain)
        self._filled = 0
        self._missing -= grain
