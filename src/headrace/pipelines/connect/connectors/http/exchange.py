"""Requests by urllib3, and which failures may pass. Knows nothing of records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import urllib3
from urllib3.exceptions import HTTPError

from headrace.pipelines.connect.connectors.addresses import without_user
from headrace.pipelines.connect.connectors.http.settings import HttpSettings

_SHOWN: Final = 300
_TAKEN: Final = 303  # the request was carried out, and what came of it can be seen elsewhere


class HttpFault(Exception):
    """A request without a good answer; `passing` if it may have one later."""

    def __init__(self, reason: str, *, passing: bool) -> None:
        super().__init__(reason)
        self.passing = passing


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. It is `signed` by the connector's headers, unless it goes to somebody else."""

    method: str
    url: str
    body: bytes = b""
    signed: bool = True


class Exchange:
    """A client with the connector's headers and time-outs."""

    def __init__(self, settings: HttpSettings) -> None:
        self._headers: Mapping[str, str] = settings.headers()
        self._retried = settings.retried()
        timeout = urllib3.Timeout(
            connect=settings.connect_timeout_ms / 1000, read=settings.request_timeout_ms / 1000
        )
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
            )
        except HTTPError as fault:
            raise HttpFault(f"{where} has no answer: {fault}", passing=True) from fault
        if answer.status < 300 or (answer.status == _TAKEN and request.method != "GET"):
            return answer.data
        passing = any(answer.status in statuses for statuses in self._retried)
        if answer.status < 400:
            elsewhere = without_user(answer.headers.get("Location", "an unknown address"))
            raise HttpFault(
                f"{where} is redirected to {elsewhere}: set http.api.url to where it is now",
                passing=passing,
            )
        said = answer.data[:_SHOWN].decode(errors="replace")
        raise HttpFault(f"{where} is answered with {answer.status}: {said}", passing=passing)

    def close(self) -> None:
        """Let go of the connections."""
        self._pool.clear()
