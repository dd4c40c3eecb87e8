"""HTTP over kept connections: requests to the first of several addresses that answers.

Blocking and safe for many threads. A connection that the other side closed while it lay idle is
replaced without a word. Neither schemas nor JSON are known here.
"""

from __future__ import annotations

import http.client
import ssl
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from headrace.errors import HeadraceError

MAX_IDLE: Final = 8
MAX_REPLY_BYTES: Final = 64 << 20


class NoAnswer(HeadraceError):
    """None of the addresses answered; the text has a reason for each."""


class Reply(NamedTuple):
    """What came back: the status, the headers by lower-case name, the whole body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Pool:
    """The connections to one service that has several addresses."""

    def __init__(
        self,
        urls: Sequence[str],
        *,
        timeout_s: float,
        tls: ssl.SSLContext | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._urls = list(urls)
        self._timeout_s = timeout_s
        self._tls = tls
        self._headers = dict(headers or {})
        self._idle: dict[str, deque[http.client.HTTPConnection]] = {url: deque() for url in urls}
        self._lock = threading.Lock()
        self._closed = False

    def request(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Ask each address until one answers, whatever its status is."""
        sent = {**self._headers, **(headers or {})}
        failures = []
        for url in list(self._urls):
            try:
                reply = self._ask(url, method, target, body, sent)
            except (OSError, http.client.HTTPException) as error:
                failures.append(f"{url}: {error or type(error).__name__}")
                continue
            self._prefer(url)
            return reply
        raise NoAnswer("; ".join(failures))

    def _ask(
        self, url: str, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Reply:
        path = urlsplit(url).path + target
        while True:
            connection = self._take(url)
            reused = connection is not None
            connection = connection or self._connect(url)
            try:
                connection.request(method, path, body, dict(headers))
                response = connection.getresponse()
                read = response.read(MAX_REPLY_BYTES + 1)
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                connection.close()
                if reused:
                    continue
                raise
            except BaseException:
                connection.close()
                raise
            break
        if len(read) > MAX_REPLY_BYTES:
            connection.close()
            raise http.client.HTTPException(f"the reply is larger than {MAX_REPLY_BYTES} bytes")
        self._give_back(url, connection, response.will_close)
        lower = {name.lower(): text for name, text in response.getheaders()}
        return Reply(response.status, lower, read)

    def _connect(self, url: str) -> http.client.HTTPConnection:
        where = urlsplit(url)
        assert where.hostname is not None
        if where.scheme == "https":
            return http.client.HTTPSConnection(
                where.hostname, where.port or 443, timeout=self._timeout_s, context=self._tls
            )
        return http.client.HTTPConnection(where.hostname, where.port or 80, timeout=self._timeout_s)

    def _take(self, url: str) -> http.client.HTTPConnection | None:
        with self._lock:
            return self._idle[url].pop() if self._idle[url] else None

    def _give_back(
        self, url: str, connection: http.client.HTTPConnection, will_close: bool
    ) -> None:
        with self._lock:
            if not will_close and not self._closed and len(self._idle[url]) < MAX_IDLE:
                self._idle[url].append(connection)
                return
        connection.close()

    def _prefer(self, url: str) -> None:
        """Whoever answered is asked first from now on."""
        if self._urls[0] != url:
            with self._lock:
                self._urls.sort(key=lambda each: each != url)

    def close(self) -> None:
        """Close the idle connections; one in use is closed by its user's return."""
        with self._lock:
            self._closed = True
            idle = [connection for each in self._idle.values() for connection in each]
            for each in self._idle.values():
                each.clear()
        for connection in idle:
            connection.close()
