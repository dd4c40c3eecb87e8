"""A TCP relay between a client and its ZooKeeper that a test can cut, heal and make deaf."""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import Self

_CHUNK_BYTES = 65536
_HANDSHAKE_BYTES = 41
"""How long a server's answer is with which a connection begins."""


class WireCutter:
    """Relays connections to one server until it is told otherwise."""

    def __init__(self, server: str) -> None:
        host, _, port = server.rpartition(":")
        self._server = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._cut = False
        self._deaf = False
        self._held = False
        self._ignores_next = False
        self._silent: list[socket.socket] = []
        self.ignored = threading.Event()
        self.holding = threading.Event()
        self._released = threading.Event()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def cut(self) -> None:
        """Break what is connected and accept nobody."""
        with self._lock:
            self._cut = True
            broken, self._open = self._open, []
        for each in broken:
            _hang_up(each)

    def heal(self, *, hold_after_handshake: bool = False) -> None:
        """Relay again; if asked to, the server's answers after the first wait for `release`."""
        with self._lock:
            self._cut = self._deaf = False
            self._held = hold_after_handshake

    def release(self) -> None:
        self._held = False
        self._released.set()

    def ignore_one(self) -> None:
        """Relay again, but take the next connection and never say a word on it."""
        self._ignores_next = True
        self.heal()

    def deafen(self) -> None:
        """Requests still reach the server, its answers are lost."""
        self._deaf = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.cut()
        _hang_up(self._listener)
        self._listener.close()
        for each in self._silent:
            each.close()
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if self._cut:
                    client.close()
                    continue
                if self._ignores_next:
                    self._ignores_next = False
                    self._silent.append(client)
                    self.ignored.set()
                    continue
                upstream = socket.create_connection(self._server)
                self._open += [client, upstream]
            for source, target, answers in ((client, upstream, False), (upstream, client, True)):
                relay = threading.Thread(target=self._relay, args=(source, target, answers))
                self._threads.append(relay)
                relay.start()

    def _relay(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        passed = 0
        try:
            while chunk := source.recv(_CHUNK_BYTES):
                if answers and self._held and passed >= _HANDSHAKE_BYTES:
                    self.holding.set()
                    self._released.wait(30)
                if not (answers and self._deaf):
                    target.sendall(chunk)
                    passed += len(chunk)
        except OSError:
            pass  # cut
        _hang_up(source)
        _hang_up(target)
        if answers:
            # The other direction ends with it; only then are the descriptors given back.
            return
        source.close()
        target.close()


def _hang_up(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it was not connected any more
