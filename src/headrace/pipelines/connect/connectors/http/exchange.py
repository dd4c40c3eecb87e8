"""Requests by urllib3, and which failures may pass. Knows nothing of records."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import urllib3
from urllib3.exceptions import HTTPError

from headrace.pipelines.connect.connectors.addresses import without_user
from headrace.pipelines.connect.connectors.http.settings import HttpSettings

_SHOWN: Final = 300
_MOST_BYTES: Final = 128 << 20
_PIECE: Final = 1 << 16
_TAKEN: Final = 303  # the request was carried out, and what came of it can be seen elsewhere


class HttpFault(Exception):
    """A request without a good answer; `passing` if it may have one later."""

    def __init__(self, reason: str, *, passing: bool) -> None:
        super().__init__(reason)
        self.passing = passing


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. It is `signed` by the connector's headers, unless it goes to somebody else.

    Who does not read all of the answer asks for its status only: its body may be of any length.
    """

    method: str
    url: str
    body: bytes = b""
    signed: bool = True
    reads_all: bool = False


class Exchange:
    """A client with the connector's headers and time-outs. Answers are held in memory, so they have
    at most `most_bytes`, unpacked."""

    def __init__(self, settings: HttpSettings, *, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._timeout_s = settings.request_timeout_ms / 1000
        self._headers: Mapping[str, str] = settings.headers()
        self._retried = settings.retried()
        timeout = urllib3.Timeout(connect=settings.connect_timeout_ms / 1000, read=self._timeout_s)
        self._pool = urllib3.PoolManager(timeout=timeout, retries=False)

    def ask(self, request: Ask) -> bytes:
        """The body of the answer; HttpFault if it is an error, or says to ask elsewhere.

        Nothing follows it there: headers may hold credentials, which are meant for one address.
        """
        where = f"{request.method} {without_user(request.url)}"
        try:
            answer = self._pool.request(
                request.method,
                request.url,
                body=request.body or None,
                headers=self._headers if request.signed else {},
                redirect=False,
                preload_content=False,
            )
            body, missing = self._read(answer)
        except HTTPError as fault:
            raise HttpFault(f"{where} has no answer: {fault}", passing=True) from fault
        if answer.status < 300 or (answer.status == _TAKEN and request.method != "GET"):
            if missing is not None and request.reads_all:
                raise HttpFault(f"{where} {missing}", passing=missing.passing)
            return body
        passing = any(answer.status in statuses for statuses in self._retried)
        if answer.status < 400:
            elsewhere = without_user(answer.headers.get("Location", "an unknown address"))
            raise HttpFault(
                f"{where} is redirected to {elsewhere}: set http.api.url to where it is now",
                passing=passing,
            )
        said = body[:_SHOWN].decode(errors="replace")
        raise HttpFault(f"{where} is answered with {answer.status}: {said}", passing=passing)

    def _read(self, answer: urllib3.BaseHTTPResponse) -> tuple[bytes, HttpFault | None]:
        """The body as far as there is memory and time for it, and why that is not all of it.

        The client's own time-out is for one read: a server could keep it busy for ever.
        """
        ends = time.monotonic() + self._timeout_s
        body = bytearray()
        try:
            while part := answer.read1(_PIECE):
                body += part
                if len(body) > self._most_bytes:
                    told = f"has an answer of more than {self._most_bytes} bytes: ask for smaller"
                    return bytes(body), HttpFault(f"{told} pages", passing=False)
                if time.monotonic() > ends:
                    told = f"has no whole answer within {self._timeout_s:g} s"
                    remedy = "(http.request.timeout.ms): raise it, or ask for smaller pages"
                    return bytes(body), HttpFault(f"{told} {remedy}", passing=True)
        finally:
            answer.close()  # a connection whose answer was read is another request's by now
        return bytes(body), None

    def close(self) -> None:
        """Let go of the connections."""
        self._pool.clear()
