"""kazoo's client, changed where a broker needs something else; what is private of kazoo stays here.

    KAZOO DOES                             HERE, AND WHY
    watches fire once and cover one node   every event is handed on: `AddWatch` (ZooKeeper 3.6)
                                           asks for persistent recursive watches, so that nothing
                                           is missed between two, and a broker needs only one
    watches must be set again by their     they are armed anew inside the handshake, and the server
    owner after a reconnect                has caught up (sync), before anybody hears CONNECTED
    a new session replaces a lost one      LOST is final: whoever owned ephemeral nodes must know
    one request, one write, one wake-up    everything queued leaves in one write, and everything
                                           received is read at once: three times as many a second
    a connect may take a whole session     it takes a share of it for each server, so that a silent
                                           one does not cost the session while others would answer

The module knows sessions, requests and events; what they mean as a tree is for `tree`.
"""

from __future__ import annotations

import logging
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from kazoo.client import KazooClient
from kazoo.exceptions import EXCEPTIONS, ConnectionDropped, SessionExpiredError
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol import serialization
from kazoo.protocol.connection import (
    CLOSE_RESPONSE,
    STOP_CONNECTING,
    WATCH_XID,
    ConnectionHandler,
)
from kazoo.protocol.states import Callback as Dispatched
from kazoo.protocol.states import KazooState

from headrace.coordination.tree import SessionEvent

logger = logging.getLogger(__name__)
# kazoo warns of every attempt, once a second for as long as a server is down; we tell the changes.
_kazoo_logger = logging.getLogger(f"{__name__}.kazoo")
_kazoo_logger.setLevel(logging.ERROR)

CLOSE_TIMEOUT_S: Final = 1.0
_SEND_BYTES: Final = 64 << 10
_RECEIVE_BYTES: Final = 256 << 10
_FRAME: Final = struct.Struct("!iii")
_LENGTH: Final = struct.Struct("!i")
# A server that is starting may take a connection and never answer on it. Within the time-out of a
# session there must be room to give it up and to try again.
_HANDSHAKES: Final = 3
_RETRY: Final = {"max_tries": -1, "delay": 0.05, "backoff": 2, "max_delay": 1.0}


class Request:
    """A request as bytes: made by the caller, so that a bad one cannot stop the connection."""

    __slots__ = ("deserialize", "payload", "type")

    def __init__(self, request: Any) -> None:
        self.type: int = request.type
        self.payload = bytes(request.serialize())
        self.deserialize = request.deserialize

    def serialize(self) -> bytes:
        return self.payload


class Answer:
    """What became of a request. kazoo has such a thing too, at four times the price."""

    __slots__ = ("_done", "_error", "_value")

    def __init__(self) -> None:
        self._value: Any = None
        self._error: Exception | None = None
        self._done = threading.Lock()
        self._done.acquire()

    def set(self, value: Any) -> None:
        self._value = value
        self._done.release()

    def set_exception(self, error: Exception) -> None:
        self._error = error
        self._done.release()

    def wait(self, timeout_s: float) -> bool:
        """Whether there is an answer, now or within the time; only one thread may ask."""
        return self._done.acquire(timeout=timeout_s)

    def get(self) -> Any:
        """The value, or the error as kazoo names it; after `wait` has said that it is there."""
        if self._error is not None:
            raise self._error
        return self._value


class Session(KazooClient):  # type: ignore[misc]
    """One session that is never replaced by another."""

    def __init__(
        self,
        hosts: str,
        *,
        timeout_ms: int,
        watching: Callable[[], Sequence[Request]],
        on_change: Callable[[int, str], None],
        on_session: Callable[[SessionEvent], None],
    ) -> None:
        """`watching` asks for the watches anew; the callbacks run on the connection's thread."""
        super().__init__(
            hosts,
            timeout=timeout_ms / 1000,
            handler=_Handler(),
            connection_retry=dict(_RETRY),
            logger=_kazoo_logger,
        )
        self._servers = hosts
        self.handshake_timeout_s = timeout_ms / 1000 / _HANDSHAKES / len(self.hosts)
        self.handler.connect_timeout_s = self.handshake_timeout_s
        self._connection = _Connection(self, self._conn_retry.copy(), logger=self.logger)
        self.watching = watching
        self.on_change = on_change
        self._on_session = on_session
        self._changed = threading.Condition()
        self._heard: SessionEvent | None = None
        self._closing = False
        self.id = 0
        self.add_listener(self._on_state)

    # -- for the tree -----------------------------------------------------------------------------

    def ask(self, request: Request) -> Answer:
        """Queue a request; whatever is queued leaves together and is answered in its order."""
        answer = Answer()
        if self.is_over:
            answer.set_exception(SessionExpiredError())
        else:
            self._queue.append((request, answer))
            self._connection.wake()
        return answer

    @property
    def is_over(self) -> bool:
        return self._closing or self._heard is SessionEvent.LOST

    def await_connected(self, timeout_s: float) -> bool:
        """Whether there is a connection, now or within the time; at once False when it is over."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_over or self._is_up(), timeout_s)
            return not self.is_over and self._is_up()

    def deliver_later(self, deliver: Callable[[], None]) -> None:
        """Run something on the thread of the callbacks."""
        self.handler.dispatch_callback(Dispatched("watch", deliver, ()))

    def end(self) -> None:
        """End the session at the server if it can be reached, and all threads in any case."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if not self._stopped.is_set():
            self._stopped.set()
            self._queue.append((serialization.CloseInstance, None))
            self._connection.wake()
            if not self._connection.connection_stopped.wait(CLOSE_TIMEOUT_S):
                self._connection.hang_up()
        self.handler.stop()
        self._connection.stop(self._session_timeout / 1000 + CLOSE_TIMEOUT_S)
        self.close()

    # -- for the connection -----------------------------------------------------------------------

    def on_armed(self) -> None:
        self.id = self._session_id
        self._tell(SessionEvent.CONNECTED)

    def _is_up(self) -> bool:
        return self._heard is SessionEvent.CONNECTED

    def _on_state(self, state: str) -> None:
        if state == KazooState.SUSPENDED:
            self._tell(SessionEvent.SUSPENDED)
        elif state == KazooState.LOST and not self._closing:
            self._tell(SessionEvent.LOST)

    def _tell(self, event: SessionEvent) -> None:
        with self._changed:
            before, self._heard = self._heard, event
            self._changed.notify_all()
        # Only changes are news: a connection that breaks while it is made was never there.
        if before is None or before is event or before is SessionEvent.LOST:
            return
        level = logging.INFO if event is SessionEvent.CONNECTED else logging.WARNING
        logger.log(level, "ZooKeeper %s, session %#x: %s", self._servers, self.id, event.value)
        self._on_session(event)


class _Connection(ConnectionHandler):  # type: ignore[misc]
    """kazoo's thread that talks to a server."""

    def __init__(self, client: Session, retry: Any, *, logger: logging.Logger) -> None:
        super().__init__(client, retry, logger=logger)
        self._xid: int
        self._inbox = b""
        self._taken = 0
        self._woken = False

    def start(self) -> None:
        super().start()
        self._write_sock.setblocking(False)

    def wake(self) -> None:
        """Make the thread look at the queue; to be called after something was put there."""
        sock = self._write_sock
        if self._woken or sock is None:
            return
        self._woken = True
        try:
            sock.send(b"\0")
        except OSError:
            pass  # the pipe is full, so the thread is about to wake; or all is closed

    def hang_up(self) -> None:
        """Break the connection under the thread, which waits for a server that is silent."""
        sock = self._socket
        try:
            if sock is not None:
                sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it was broken already

    # -- the handshake ----------------------------------------------------------------------------

    def _connect_attempt(self, host: str, hostip: str, port: int, retry: Any) -> Any:
        status = super()._connect_attempt(host, hostip, port, retry)
        return STOP_CONNECTING if self.client.is_over else status

    def _invoke(self, timeout: float, request: Any, xid: int | None = None) -> Any:
        return super()._invoke(min(timeout, self.client.handshake_timeout_s), request, xid)

    def _connect(self, host: str, hostip: str, port: int) -> tuple[float, float]:
        self._inbox = b""
        self._taken = 0
        read_timeout_ms, connect_timeout_ms = super()._connect(host, hostip, port)
        self._arm(read_timeout_ms / 1000)
        self.client.on_armed()
        while self._has_frame():
            super()._read_socket(read_timeout_ms / 1000)
        return read_timeout_ms, connect_timeout_ms

    def _arm(self, timeout_s: float) -> None:
        """Watch what was watched, then let the server catch up with the others.

        What is read after that is at least as new as everything committed before, also if the
        last server was ahead of this one.
        """
        requests = [*self.client.watching(), Request(serialization.Sync("/"))]
        for request in requests:
            self._xid += 1
            self._submit(request, timeout_s, self._xid)
        answered = 0
        while answered < len(requests):
            header, buffer, offset = self._read_header(timeout_s)
            if header.xid == WATCH_XID:
                self._read_watch_event(buffer, offset)
                continue
            if header.err:
                raise ConnectionDropped(f"watches cannot be set: {EXCEPTIONS[header.err]()!r}")
            answered += 1

    # -- requests and answers ---------------------------------------------------------------------

    def _send_request(self, read_timeout: float, connect_timeout: float) -> None:
        self._read_sock.recv(4096)
        # Before the look at the queue: whoever puts something there later must wake us again.
        self._woken = False
        queue, pending = self.client._queue, self.client._pending
        frames = bytearray()
        while queue and len(frames) < _SEND_BYTES:
            request, result = queue.popleft()
            self._xid = (self._xid % 0x7FFFFFFF) + 1
            payload = request.serialize()
            frames += _FRAME.pack(len(payload) + 8, self._xid, request.type)
            frames += payload
            pending.append((request, result, self._xid))
        if queue:
            self.wake()
        if frames:
            self._write(frames, connect_timeout)

    def _read_socket(self, read_timeout: float) -> Any:
        response = super()._read_socket(read_timeout)
        while response != CLOSE_RESPONSE and self._has_frame():
            response = super()._read_socket(read_timeout)
        return response

    def _read_watch_event(self, buffer: bytes, offset: int) -> None:
        watch, _ = serialization.Watch.deserialize(buffer, offset)
        self.client.on_change(watch.type, watch.path)

    def _read(self, length: int, timeout: float) -> bytes:
        if len(self._inbox) - self._taken < length:
            with self._socket_error_handling():
                self._receive(length, timeout)
        begin = self._taken
        self._taken += length
        return self._inbox[begin : self._taken]

    def _receive(self, length: int, timeout: float) -> None:
        """Read until there are so many bytes, and whatever else has come."""
        pieces = [self._inbox[self._taken :]]
        missing = length - len(pieces[0])
        while missing > 0:
            if not self.handler.select([self._socket], [], [], timeout)[0]:
                raise self.handler.timeout_exception("socket time-out during read")
            pieces.append(self._socket.recv(_RECEIVE_BYTES))
            if not pieces[-1]:
                raise ConnectionDropped("socket connection broken")
            missing -= len(pieces[-1])
        self._inbox = b"".join(pieces)
        self._taken = 0

    def _has_frame(self) -> bool:
        left = len(self._inbox) - self._taken
        if left < _LENGTH.size:
            return False
        return left >= _LENGTH.size + int(_LENGTH.unpack_from(self._inbox, self._taken)[0])


class _Handler(SequentialThreadingHandler):  # type: ignore[misc]
    connect_timeout_s: float

    def create_connection(self, *args: Any, **options: Any) -> Any:
        options["timeout"] = min(options["timeout"], self.connect_timeout_s)
        return super().create_connection(*args, **options)
