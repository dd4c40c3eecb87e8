"""What a worker and a host outside of its process say to each other, and how: frames on a socket.

    host                                            worker
      Hello (token) ─────────────────────────────────>
      <────────────────── Start, Stop, Pause, Resume
      Reported, Stopped, Reconfigure, Used ──────────>
      Read, Keep, Writes (offsets) ──────────────────>
      <──────────────────────────────────────── Answer

A frame is four bytes of length, then MessagePack. The connection stays on the machine; a host shows
the token that it was launched with. When one side is gone, the other sees the end of the stream.
"""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from typing import Final, Generic, TypeAlias, TypeVar

import msgspec

from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.state.records import State

Address: TypeAlias = tuple[str, int]
Moved: TypeAlias = list[tuple[dict[str, object], dict[str, object]]]
"""Partitions of a source, each with its offset."""

MOST_BYTES: Final = 16 << 20
_MOST_UNPROVEN: Final = 1 << 10
"""Of the first frame, before the token is known."""
_PREFIX: Final = 4
_F = TypeVar("_F")


class _Frame(msgspec.Struct, frozen=True, tag=True):
    pass


# -- from the worker ------------------------------------------------------------------------------


class Start(_Frame, frozen=True):
    """A `TaskSpec`. `offsets_topic` is that of a store for transactions."""

    id: TaskId
    config: dict[str, str]
    worker: dict[str, str]
    flush_interval_ms: int
    transactional_id: str | None
    paused: bool
    offsets_topic: str | None


class Stop(_Frame, frozen=True):
    call: int
    tasks: list[TaskId]
    timeout_s: float


class Pause(_Frame, frozen=True):
    tasks: list[TaskId]


class Resume(_Frame, frozen=True):
    tasks: list[TaskId]


class Answer(_Frame, frozen=True):
    """To a question about offsets; `fault` says why there is none."""

    call: int
    offset: dict[str, object] | None = None
    writes: list[tuple[bytes, bytes | None]] = []
    fault: str | None = None


# -- from the host --------------------------------------------------------------------------------


class Hello(_Frame, frozen=True):
    token: str


class Reported(_Frame, frozen=True):
    task: TaskId
    state: State
    trace: str | None


class Stopped(_Frame, frozen=True):
    call: int
    late: list[TaskId]


class Reconfigure(_Frame, frozen=True):
    connector: str


class Used(_Frame, frozen=True):
    task: TaskId
    topic: str


class Read(_Frame, frozen=True):
    call: int
    task: TaskId
    partition: dict[str, object]


class Keep(_Frame, frozen=True):
    call: int
    task: TaskId
    offsets: Moved


class Writes(_Frame, frozen=True):
    call: int
    task: TaskId
    offsets: Moved


FromWorker: TypeAlias = Start | Stop | Pause | Resume | Answer
FromHost: TypeAlias = Hello | Reported | Stopped | Reconfigure | Used | Read | Keep | Writes


class Gone(Exception):
    """The other side has closed the connection, or says what nobody understands."""


class TooLarge(ValueError):
    """The other side does not take a frame of this size."""


def encoded(frame: FromWorker | FromHost) -> bytes:
    """A frame as it is sent; TooLarge if it cannot be."""
    data = msgspec.msgpack.encode(frame)
    if len(data) > MOST_BYTES:
        raise TooLarge(f"a frame of {len(data)} bytes; the other side takes {MOST_BYTES}")
    return len(data).to_bytes(_PREFIX, "big") + data


class Channel(Generic[_F]):
    """One end. Any thread may send; one receives.

    With `send_timeout_s` whoever takes nothing for so long is given up like one who is gone.
    """

    def __init__(
        self, connection: socket.socket, frames: object, send_timeout_s: float | None = None
    ) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if send_timeout_s is not None:
            # Of the kernel, for sending alone: a receiver waits as long as nothing is said.
            whole, part = divmod(int(send_timeout_s * 1_000_000), 1_000_000)
            patience = struct.pack("@ll", whole, part)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, patience)
        self._socket = connection
        self._input = connection.makefile("rb")
        self._decoder: msgspec.msgpack.Decoder[_F] = msgspec.msgpack.Decoder(frames)
        self._lock = threading.Lock()

    def send(self, frame: FromWorker | FromHost) -> None:
        """Gone if nobody hears it."""
        data = encoded(frame)
        with self._lock:
            try:
                self._socket.sendall(data)
            except OSError as fault:
                self.close()  # a part of the frame may be sent: nothing can follow it
                raise Gone(str(fault)) from fault

    def receive(self, most_bytes: int = MOST_BYTES) -> _F:
        """The next frame; Gone if there is none any more."""
        try:
            size = int.from_bytes(self._exactly(_PREFIX), "big")
            if size > most_bytes:
                raise Gone(f"a frame of {size} bytes; the most is {most_bytes}")
            return self._decoder.decode(self._exactly(size))
        except (OSError, msgspec.MsgspecError) as fault:
            raise Gone(str(fault)) from fault

    def receive_hello(self, timeout_s: float) -> _F:
        """The first frame, of somebody who is not known yet."""
        self._socket.settimeout(timeout_s)
        first = self.receive(_MOST_UNPROVEN)
        self._socket.settimeout(None)
        return first

    def close(self) -> None:
        """The other side sees the end of the stream, and so does whoever receives here."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _exactly(self, size: int) -> bytes:
        data = self._input.read(size)
        if len(data) < size:
            raise Gone("the connection has ended")
        return data
