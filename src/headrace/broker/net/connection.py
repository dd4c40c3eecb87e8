"""One client connection: frames in, answers out in the order of their requests.

Reading goes through an asyncio `BufferedProtocol`, so a large frame is received straight into its
own memory. Writing on a plaintext connection bypasses the transport: header chunks leave with one
`writev`, records with `sendfile` from the page cache, and what the socket does not take waits for
it to become writable. A `Call` is one request on its way; a handler may answer it at once or later,
the connection keeps the order.

What one client may cost the others is limited per connection:

- time: requests beyond its turn are kept for the next one (`turns`), and answers leave in pieces of
  `_FLUSH_BYTES`;
- memory: answers that the client does not take, answers that wait for earlier ones and requests
  that wait for something else count as held. At `MAX_HELD_BYTES` no further request is served.

A client that sends more while its requests are kept, or for whom too much is held, is not read from
until that is over: it feels a full window.

A client that sends without waiting for answers (acks=0) may leave as soon as it has sent. What was
received from it is served all the same, in its turns, and the connection counts until then.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from time import monotonic, perf_counter_ns
from typing import TYPE_CHECKING, Final, cast

from headrace.broker.net.call import Call, Chunk, unanswered
from headrace.broker.net.repeats import Repeats
from headrace.broker.net.turns import CONNECTION_FRAMES, CONNECTION_NS
from headrace.broker.watching import logs
from headrace.errors import HeadraceError
from headrace.log import LogSlice
from headrace.types import Buffer
from headrace.wire.frame import BadFrame, FrameReader

if TYPE_CHECKING:
    from headrace.broker.net.dispatch import Dispatcher
    from headrace.broker.net.listener import Listener

_MAX_IOV: Final = 512
# Below this a copy into the same writev is cheaper than a system call of its own.
_SENDFILE_FROM: Final = 16 * 1024
# What is sent to one client before others have their turn.
_FLUSH_BYTES: Final = 4 * 1024 * 1024
# Small slices are read before they are sent: not more of them than a socket is likely to take.
_WRITEV_BYTES: Final = 1024 * 1024
MAX_HELD_BYTES: Final = 512 * 1024
# A chunk in memory is more than its bytes; a slice is a range of a file and has none.
_CHUNK_BYTES: Final = 64
_SLICE_BYTES: Final = 256
# A turn of the event loop that is older than this gives no connection a second read.
_LONG_TURN_S: Final = 0.002


class Connection(asyncio.BufferedProtocol):
    """See the module."""

    __slots__ = (
        "_blocked",
        "_blocked_at",
        "_dispatcher",
        "_drained",
        "_fd",
        "_halted",
        "_held_bytes",
        "_in_rotation",
        "_kept",
        "_listener",
        "_loop",
        "_max_pending",
        "_muted",
        "_muted_until",
        "_out",
        "_out_bytes",
        "_pending",
        "_reader",
        "_reading",
        "_refused",
        "_transport",
        "_unsent",
        "_writer_fd",
        "closed",
        "ended",
        "inspected_until",
        "last_active",
        "on_closed",
        "peer_host",
        "peer_port",
        "principal",
        "received_ns",
        "repeats",
        "software",
        "write_turn",
    )

    def __init__(self, listener: Listener, dispatcher: Dispatcher, reader: FrameReader) -> None:
        self._listener = listener
        self._dispatcher = dispatcher
        self._reader = reader
        self._loop = listener.loop
        self._max_pending = listener.max_pending
        self._out: deque[Chunk] = deque()
        self._out_bytes = 0  # what `_out` holds while the socket is full
        self._pending: deque[Call] = deque()
        self._held_bytes = 0  # what `_pending` holds
        self._fd = -1
        self._writer_fd = -1  # a duplicate, because the loop owns the transport's own descriptor
        self._blocked = False  # the socket is full; the loop tells when it is not
        self._blocked_at = 0.0
        self._reading = True
        self._refused = False  # whatever follows nonsense is not looked at
        self._halted = False  # refused or muted: a frame must not be dispatched now
        self._muted: asyncio.TimerHandle | None = None  # ends the time that a quota asks for
        self._muted_until = 0.0
        self._kept: deque[bytes | bytearray] = deque()  # requests that wait for a turn
        self._in_rotation = False
        self.principal = "ANONYMOUS"  # the name of the user, as quotas and ACLs know it
        self._drained: asyncio.Event | None = None
        self._unsent: list[Call] = []  # whose times are taken, and whose answers are in `_out`
        self.received_ns = 0
        self.closed = False  # the client has gone
        self.ended = False  # and all that must be served has been
        self.on_closed: Callable[[], None] | None = None  # what the client held is to be freed
        self.last_active = 0.0
        self.peer_host = ""
        self.peer_port = 0
        # Set while a write waits for its coordinator: those behind it must not overtake it.
        self.write_turn: asyncio.Future[None] | None = None
        self.repeats = Repeats()
        self.inspected_until = 0.0  # up to then its budget of `inspections` is used
        self.software = ""  # client name and version as ApiVersions told them

    @property
    def listener(self) -> Listener:
        return self._listener

    # -- asyncio's side ---------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one only in duty
        self._fd = transport.get_extra_info("socket").fileno()
        peer = transport.get_extra_info("peername")
        self.peer_host = str(peer[0]) if isinstance(peer, tuple) else "unix"
        self.peer_port = peer[1] if isinstance(peer, tuple) else 0
        self.last_active = self._loop.time()
        if not self._listener.admit(self):
            self._transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._reader.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        now = self._loop.time()
        # The loop looks at its clock once per turn and may read often from one socket in it.
        had_its_turn = now == self.last_active and monotonic() - now > _LONG_TURN_S
        self.last_active = now
        try:
            frames = self._reader.received(nbytes)
        except BadFrame as fault:
            self.refuse(str(fault))
            return
        if len(frames) != 1 or self._halted or had_its_turn or self._kept:
            self._take(frames, now=not had_its_turn)
            return
        self.received_ns = 0  # a request that is alone does not wait
        try:
            self._dispatcher.on_frame(self, frames[0])
        except Exception as fault:
            self._on_fault(fault)
            return
        if self._out and not self._blocked:
            self._flush()
        if (self._pending or self._blocked) and self._is_full:
            self.pause()

    def _take(self, frames: Sequence[bytes | bytearray], *, now: bool) -> None:
        """Requests have arrived that must wait for each other, or for a turn of this client."""
        if self._refused or not frames:
            return
        self.received_ns = perf_counter_ns() if self._listener.reporter.timed else 0
        if self._kept:
            # Only now: who waits for its answers sends nothing meanwhile and need not be stopped.
            self.pause()
        self._kept.extend(frames)
        if self._muted is not None and self._transport.is_reading():
            # Muted before it was first read from: the loop begins to read all the same.
            self._transport.pause_reading()
        if now and not self._in_rotation:
            self._serve()
        else:
            self._rest()

    def go_on(self) -> None:
        """It is this connection's turn again."""
        self._in_rotation = False
        if not self.ended:
            self._serve()

    def _serve(self) -> None:
        """Dispatch the requests that wait, for as long as a turn lasts."""
        kept, on_frame = self._kept, self._dispatcher.on_frame
        end_ns = perf_counter_ns() + CONNECTION_NS
        left = CONNECTION_FRAMES
        try:
            while kept and not self._halted:
                if (self._pending or self._blocked) and self._is_full:
                    break
                on_frame(self, kept.popleft())
                left -= 1
                if not left or perf_counter_ns() >= end_ns:
                    break
        except Exception as fault:
            self._on_fault(fault)
            return
        if self.closed:
            self._abandon()
        elif self._out and not self._blocked:
            self._flush()
        self._rest()

    def _rest(self) -> None:
        """After a turn: wait for the next one, for room, or for further requests."""
        if self.closed and not (self._kept or self._pending):
            self._end()
        if self._refused or self.ended:
            return
        if self._is_full:
            self.pause()
        elif not self._kept:
            if not self._reading:
                self.resume()
        elif not (self._in_rotation or self._halted):
            self._in_rotation = True
            self._listener.turns.add(self)
        if self._drained is not None and self.idle:
            self._drained.set()

    @property
    def _is_full(self) -> bool:
        return (
            len(self._pending) >= self._max_pending
            or self._held_bytes + self._out_bytes >= MAX_HELD_BYTES
        )

    def _on_fault(self, fault: Exception) -> None:
        """A request could not be dispatched: its connection ends, the others go on."""
        if isinstance(fault, HeadraceError):
            self.refuse(f"{type(fault).__name__}: {fault}")
        else:
            logs.SERVER.error("A request from %s failed", self.peer_host, exc_info=fault)
            self.abort()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._fd = -1
        if self._writer_fd >= 0:
            self._loop.remove_writer(self._writer_fd)
            os.close(self._writer_fd)
            self._writer_fd = -1
        self._blocked = False
        self._out_bytes = 0
        self._abandon()
        if self._refused:
            self._drop()
        self._rest()

    def _abandon(self) -> None:
        """The client has gone: drop its answers, and go on with requests that get none (acks=0)."""
        self._out.clear()
        self._unsent.clear()
        self._held_bytes = 0
        pending, self._pending = self._pending, deque()
        for call in pending:
            if call.chunks is not None:
                continue
            if call.on_abandoned is unanswered:
                self.expect(call)
            elif call.on_abandoned is not None:
                call.on_abandoned()

    def _drop(self) -> None:
        """Serve nothing more of what this client has sent."""
        self._kept.clear()
        self._pending.clear()

    def _end(self) -> None:
        """Nothing is left of this connection."""
        if self.ended:
            return
        self.ended = True
        self.repeats.known.clear()  # they know this connection
        if self._muted is not None:
            self._muted.cancel()
        if self.on_closed is not None:
            self.on_closed()
        if self._drained is not None:
            self._drained.set()
        self._listener.forget(self)

    # -- answers ----------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Nothing is being answered or sent."""
        return not self._pending and not self._out and not self._kept

    def is_stuck(self, since: float) -> bool:
        """Whether the client has taken nothing of its answers since then."""
        return self._blocked and self._blocked_at < since

    @property
    def answers_waiting(self) -> int:
        """Answers that are there and wait for those before them."""
        return sum(call.chunks is not None for call in self._pending)

    async def drained(self) -> None:
        """Return when nothing is left to answer or to send, or the client has gone.

        Nothing is read any more: a client that sends on would keep the broker from stopping.
        """
        if not self.ended:
            self.pause()
            self._drained = asyncio.Event()
            if not self.idle:
                await self._drained.wait()

    def expect(self, call: Call) -> None:
        """`call` will be answered later; what is answered after it waits behind it."""
        self._held_bytes += call.held_bytes
        self._pending.append(call)

    def repeat(self, frame: bytes | bytearray, correlation_id: int) -> bool:
        """Answer a request like an earlier one without decoding it; False: it must be decoded."""
        if self._pending or self.write_turn is not None:
            return False
        answer = self.repeats.answer(frame, correlation_id)
        if answer is None:
            return False
        if isinstance(answer, bytes):
            self.answer_now((answer,))
        return True

    def answer_now(self, chunks: Sequence[Chunk], call: Call | None = None) -> None:
        """Answer the request being dispatched; it is flushed when its read is done."""
        if self._pending:
            assert call is not None
            call.chunks = chunks
            call.held_bytes = _bytes_of(chunks)
            self._held_bytes += call.held_bytes
            self._pending.append(call)
        else:
            self._out.extend(chunks)
            if self._blocked:
                self._out_bytes += _bytes_of(chunks)
            if call is not None and call.watch is not None:
                call.queued_ns = call.answered_ns
                self._unsent.append(call)

    def answer_later(self, call: Call, chunks: Sequence[Chunk]) -> None:
        """Answer a call announced by `expect`; an empty list means that nothing is sent."""
        call.chunks = chunks
        if self.closed:
            if not self.ended:
                self._abandon()
                self._rest()
            return
        pending = self._pending
        out = self._out
        if pending and pending[0] is not call:
            self._held_bytes -= call.held_bytes
            call.held_bytes = _bytes_of(chunks)
            self._held_bytes += call.held_bytes
        while pending and pending[0].chunks is not None:
            answered = pending.popleft()
            self._held_bytes -= answered.held_bytes
            out.extend(answered.chunks or ())
            if self._blocked:
                self._out_bytes += _bytes_of(answered.chunks or ())
            if answered.watch is not None:
                answered.queued_ns = perf_counter_ns()
                self._unsent.append(answered)
        if out and not self._blocked:
            self._flush()
        elif self._unsent and not out:
            self._note_sent()  # there was nothing to send
        if not self._reading:
            self._rest()

    def refuse(self, reason: str) -> None:
        """Close a connection whose bytes make no sense; only the log hears why."""
        self._listener.reporter.frames_refused += 1
        logs.SOCKET_SERVER.warning("Closing connection from %s: %s", self.peer_host, reason)
        self.abort()

    def abort(self) -> None:
        self._refused = self._halted = True
        if not self.closed:
            self._transport.abort()
        else:
            self._drop()
            self._rest()

    def close(self) -> None:
        """Close when nothing is left to send; what was not looked at yet is not."""
        self._refused = self._halted = True
        if not self.closed:
            self._transport.close()
        else:
            self._drop()
            self._rest()

    # -- the socket -------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Send what waits until it is gone, the socket is full, or others have their turn."""
        out = self._out
        left = _FLUSH_BYTES
        try:
            while out:
                if left <= 0:
                    raise BlockingIOError
                if isinstance(out[0], LogSlice) and len(out[0]) >= _SENDFILE_FROM:
                    left -= self._send_slice(out[0], left)
                else:
                    left -= self._send_chunks()
        except BlockingIOError:
            self._block()
        except ConnectionError:
            self._transport.abort()  # the client has gone; what it sent before is served
            out.clear()
        except OSError as fault:
            # The log file went away, say: this answer cannot be finished.
            logs.SOCKET_SERVER.debug("Sending to %s failed: %s", self.peer_host, fault)
            self.abort()
        if self._unsent and not out:
            self._note_sent()
        if self._drained is not None and self.idle:
            self._drained.set()

    def _note_sent(self) -> None:
        """Everything that waited has left: the times of those answers are complete."""
        now_ns = perf_counter_ns()
        for call in self._unsent:
            assert call.watch is not None, "only watched calls are kept"
            call.watch.on_sent(call, now_ns)
        self._unsent.clear()

    def _send_chunks(self) -> int:
        out = self._out
        buffers: list[Buffer] = []
        expected = 0
        for chunk in out:
            if isinstance(chunk, LogSlice):
                if len(chunk) >= _SENDFILE_FROM:
                    break
                chunk = chunk.data()
            buffers.append(chunk)
            expected += len(chunk)
            if len(buffers) == _MAX_IOV or expected >= _WRITEV_BYTES:
                break
        taken = len(buffers)
        sent = os.writev(self._fd, buffers)
        self._listener.reporter.bytes_out += sent
        if sent == expected:
            if taken == len(out):
                out.clear()
            else:
                for _ in range(taken):
                    out.popleft()
            return sent
        for buffer in buffers:
            out.popleft()
            if sent < len(buffer):
                out.appendleft(memoryview(buffer)[sent:])
                break
            sent -= len(buffer)
        raise BlockingIOError

    def _send_slice(self, piece: LogSlice, at_most: int) -> int:
        assert piece.file is not None
        with piece.file.descriptor() as source:
            sent = os.sendfile(self._fd, source, piece.position, min(piece.size, at_most))
        if sent == 0:
            raise OSError("the log file is shorter than its index says")
        self._listener.reporter.bytes_out += sent
        if sent == piece.size:
            self._out.popleft()
        else:
            self._out[0] = piece.after(sent)
        return sent

    def _block(self) -> None:
        """The socket is full, or was given enough for one turn: go on when it is writable."""
        self._blocked = True
        self._blocked_at = self._loop.time()
        self._out_bytes = _bytes_of(self._out)
        if self._writer_fd < 0:
            try:
                self._writer_fd = os.dup(self._fd)
            except OSError as fault:  # no descriptor is left: this client can be told nothing more
                logs.SOCKET_SERVER.warning("Closing connection from %s: %s", self.peer_host, fault)
                self.abort()
                return
        self._loop.add_writer(self._writer_fd, self._on_writable)

    def _on_writable(self) -> None:
        self._loop.remove_writer(self._writer_fd)
        self._blocked = False
        self._out_bytes = 0
        self.last_active = self._loop.time()
        self._flush()
        if not self._reading:
            self._rest()

    def pause(self) -> None:
        """Leave further requests in the socket; the client feels it as a full window."""
        if self._reading and not self.closed:
            self._reading = False
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read on, unless a quota or the end of the broker forbids it."""
        if self._reading or self.closed or self._muted is not None or self._drained is not None:
            return
        self._reading = True
        self._transport.resume_reading()

    # -- quotas -----------------------------------------------------------------------------------

    def mute(self, duration_ms: int) -> None:
        """Look at no further request for so long; answers still leave."""
        until = self._loop.time() + duration_ms / 1000
        if self.closed or until <= self._muted_until:
            return
        if self._muted is not None:
            self._muted.cancel()
        self._muted = self._loop.call_at(until, self._unmute)
        self._muted_until = until
        self._halted = True
        self.pause()

    def turn_away(self, after_ms: int) -> None:
        """Look at nothing, and close in a while: who comes too often shall not come at once."""
        self._refused = self._halted = True
        self.pause()
        self._loop.call_later(after_ms / 1000, self.abort)

    def _unmute(self) -> None:
        self._muted = None
        self._halted = self._refused
        self._serve()


def _bytes_of(chunks: Iterable[Chunk]) -> int:
    """What chunks that wait cost in memory."""
    return sum(
        _SLICE_BYTES if type(chunk) is LogSlice else len(chunk) + _CHUNK_BYTES for chunk in chunks
    )
