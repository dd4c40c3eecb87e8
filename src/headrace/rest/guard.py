"""What requests pass behind the entrance: how often a client may ask, one spelling of addresses.

A plain ASGI wrapper, because it is on the way of every request. `/` and `/healthz` are never held
up, so that whatever watches the process gets its answer.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from headrace.http.application import HEALTH
from headrace.http.limits import RateLimit
from headrace.http.refusals import Refusal

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from headrace.rest.service import RestService

OPEN_PATHS: Final = frozenset({"/", HEALTH})


class Guard:
    """Counts requests by user, else by address; drops slashes at the end of their paths."""

    def __init__(self, app: ASGIApp, service: RestService) -> None:
        self._app = app
        self._refuse = service.refuse
        settings = service.proxy.settings
        self._limit: RateLimit | None = None
        if settings.rate_limit_enable:
            self._limit = RateLimit(settings.rate_limit_permits_per_sec, settings.rate_limit_burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and scope["path"] not in OPEN_PATHS:
            wait_s = self._wait_s(scope)
            if wait_s:
                await self._refuse(_too_many(wait_s), scope, receive, send)
                return
            _drop_slashes(scope)
        await self._app(scope, receive, send)

    def _wait_s(self, scope: Scope) -> int:
        if self._limit is None:
            return 0
        user, client = scope.get("user"), scope.get("client")
        asking = user.name if user is not None else client[0] if client else ""
        return self._limit.wait_s(asking, time.monotonic())


def _drop_slashes(scope: Scope) -> None:
    """`/topics/` is `/topics`; a slash that is percent-encoded is part of a name and stays."""
    raw: bytes = scope["raw_path"]
    extra = len(raw) - len(raw.rstrip(b"/"))
    if extra:
        scope["path"] = scope["path"][:-extra] or "/"
        scope["raw_path"] = raw[:-extra] or b"/"


def _too_many(wait_s: int) -> Refusal:
    return Refusal(
        429,
        "Too many requests: this client has used its permits (rate.limit.permits.per.sec)",
        42901,
        ((b"retry-after", b"%d" % wait_s),),
    )
