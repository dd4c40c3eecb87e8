"""A request carried to the worker that must answer it, once, and its answer as it came back.

The parameter `forward=false` says that a request was carried already: two workers that take each
other for the leader cannot play ball with it. Signatures of workers are passed on unread. A
connection is made for each request, so that there is no doubt whether it was sent.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlencode

from headrace.client.registry.pool import NoAnswer, Pool, Reply
from headrace.pipelines.connect.api.errors import Answered
from headrace.pipelines.connect.worker.signing import ALGORITHM, AUTHORIZATION

FORWARD: Final = "forward"
_SIGNED: Final = (AUTHORIZATION.lower(), ALGORITHM.lower())
_PASSED_ON: Final = ("accept", "authorization", "content-type", *_SIGNED)
_TIMEOUT_S: Final = 90.0


@dataclass(frozen=True, slots=True)
class Carried:
    """A request as it came; path and query are still percent-encoded."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


def forward(request: Carried, url: str, tls: ssl.SSLContext | None = None) -> Reply:
    """What the worker at `url` answers; 500 if it does not."""
    pairs = parse_qsl(request.query, keep_blank_values=True)
    others = [(name, text) for name, text in pairs if name != FORWARD]
    target = f"{request.path}?{urlencode([*others, (FORWARD, 'false')])}"
    headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
    with closing(Pool([url.rstrip("/")], timeout_s=_TIMEOUT_S, tls=tls)) as pool:
        try:
            return pool.request(request.method, target, request.body or None, headers)
        except NoAnswer as fault:
            raise Answered(
                500, f"The request was forwarded to another worker, which did not answer: {fault}"
            ) from None
