"""What every request passes before its route: who asks, and how often.

A plain ASGI wrapper, because it is on the way of every request. `/` stays open, so that whatever
watches the process needs no password.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers

from headrace.rest import errors
from headrace.rest.errors import RestError, response_of
from headrace.rest.limits import RateLimit
from headrace.security.basic import BasicAuthenticator
from headrace.security.user_file import read_user_file

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from headrace.rest.settings import RestSettings

_OPEN: Final = frozenset({"/"})


class Guard:
    """Signs requests in and counts them."""

    def __init__(self, app: ASGIApp, settings: RestSettings) -> None:
        self._app = app
        self._authenticator: BasicAuthenticator | None = None
        if settings.authentication_method == "BASIC":
            assert settings.authentication_users_file is not None
            users = read_user_file(settings.authentication_users_file)
            stored = {name: user.stored for name, user in users.items()}
            self._authenticator = BasicAuthenticator(stored, secrets.token_bytes(32))
        self._realm = settings.authentication_realm.replace('"', "'")
        self._limit: RateLimit | None = None
        if settings.rate_limit_enable:
            self._limit = RateLimit(settings.rate_limit_permits_per_sec, settings.rate_limit_burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and scope["path"] not in _OPEN:
            try:
                user = await self._sign_in(scope)
                self._count(scope, user)
            except RestError as error:
                await self._refuse(error, scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _sign_in(self, scope: Scope) -> str | None:
        if self._authenticator is None:
            return None
        header = Headers(scope=scope).get("authorization", "").encode("latin-1")
        user = self._authenticator.remembered(header, time.monotonic())
        if user is None:
            user = await asyncio.get_running_loop().run_in_executor(
                None, self._authenticator.check, header, time.monotonic()
            )
        if user is None:
            raise errors.unauthenticated()
        scope["user"] = user
        return user

    def _count(self, scope: Scope, user: str | None) -> None:
        if self._limit is None:
            return
        address = scope["client"][0] if scope.get("client") else ""
        wait_s = self._limit.wait_s(user or address, time.monotonic())
        if wait_s:
            raise errors.too_many_requests(
                "Too many requests: this client has used its permits (rate.limit.permits.per.sec)",
                wait_s,
            )

    async def _refuse(self, error: RestError, scope: Scope, receive: Receive, send: Send) -> None:
        response = response_of(error)
        if error.http_status == 401:
            response.headers["WWW-Authenticate"] = f'Basic realm="{self._realm}", charset="UTF-8"'
        if scope["type"] == "websocket":
            # A socket that was not accepted yet is closed, which its client sees as 403.
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": error.message[:120]})
            return
        await response(scope, receive, send)
