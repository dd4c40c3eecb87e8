"""One path of the API as an ASGI application: from a request to an answer, and nothing escapes.

Who asks is known by now. In this order: is there such a method (405), which answer is wanted (406),
what was sent (415, 413, 408, 400, 422), may the user do this (403), and only then the handler.
Every error has the same small JSON body. An exception that nothing handles is logged with its trace
and answered 500 without it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final

from starlette.types import Receive, Scope, Send

from headrace.registry.api.bodies import Disconnected, decode, encode, encode_error, read_body
from headrace.registry.api.call import Call
from headrace.registry.api.endpoint import Endpoint, Kind
from headrace.registry.api.media_types import check_body_type
from headrace.registry.api.service import Service
from headrace.registry.errors import RegistryError
from headrace.registry.forwarding import (
    FORWARD_HEADER,
    NOT_PRIMARY_HEADER,
    Carried,
    CarriedBack,
    passed_on,
    target_of,
)
from headrace.registry.instance import NotPrimary
from headrace.security.users import User

_LOG: Final = logging.getLogger(__name__)

_LONG_BODY_BYTES: Final = 64 << 10
"""From here on a body is decoded by the worker, so that the event loop stays free."""
_CLOSING: Final = frozenset({408, 413})
"""After these the rest of the body is not wanted, so the connection ends."""
_UNKNOWN_ALLOWED: Final = "confluent-accept-unknown-properties"

Headers = list[tuple[bytes, bytes]]


class Resource:
    """The endpoints of one path."""

    def __init__(self, service: Service, path: str, endpoints: Sequence[Endpoint]) -> None:
        self._service = service
        self._path = path
        self._by_method = {endpoint.method: endpoint for endpoint in endpoints}
        if "GET" in self._by_method:
            self._by_method["HEAD"] = self._by_method["GET"]
        self.allow = ", ".join([*sorted(self._by_method), "OPTIONS"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            status, headers, body = await self._answer(scope, receive)
        except Disconnected:
            return
        except RegistryError as error:
            status, headers, body = self._refusal(error)
        except asyncio.CancelledError:
            raise
        except Exception:
            _LOG.exception("%s %s failed", scope["method"], scope["path"])
            status, headers, body = self._refusal(
                RegistryError(500, "Internal Server Error: the log of the registry says more")
            )
        self._service.metrics.count(self._path, scope["method"], status)
        await respond(send, status, headers, body, is_head=scope["method"] == "HEAD")

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[int, Headers, bytes]:
        service = self._service
        headers: dict[str, str] = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        endpoint = self._by_method.get(scope["method"])
        if endpoint is None:
            if scope["method"] == "OPTIONS":
                return 200, [(b"allow", self.allow.encode())], b""
            raise RegistryError(405, "HTTP 405 Method Not Allowed")
        media_type = service.negotiation.media_type(headers.get("accept", ""))
        raw = await self._read(endpoint, receive, headers)
        query = scope["query_string"].decode("latin-1")
        call = Call(
            service.registry,
            scope["path_params"],
            query,
            await self._decoded(endpoint, raw, headers),
        )
        _authorize(endpoint, call, scope.get("user"))
        reply = await self._run(endpoint, call, scope, headers, raw)
        if isinstance(reply, CarriedBack):
            return reply.status, [(b"content-type", reply.media_type.encode())], reply.body
        if endpoint.status == 204:
            return 204, [], b""
        content_type = [(b"content-type", media_type.encode())]
        body = encode(reply, is_raw=endpoint.is_raw)
        return endpoint.status, content_type, body

    async def _read(self, endpoint: Endpoint, receive: Receive, headers: dict[str, str]) -> bytes:
        settings = self._service.registry.settings
        if endpoint.body is not None:
            check_body_type(headers.get("content-type", ""))
        return await read_body(
            receive,
            headers,
            max_bytes=settings.request_max_bytes,
            timeout_s=settings.request_timeout_ms / 1000,
        )

    async def _decoded(self, endpoint: Endpoint, raw: bytes, headers: dict[str, str]) -> Any:
        if endpoint.body is None:
            return None

        def work() -> Any:
            return decode(raw, endpoint.body, allow_unknown=_allows_unknown(headers))

        return work() if len(raw) < _LONG_BODY_BYTES else await self._service.registry.compute(work)

    async def _run(
        self, endpoint: Endpoint, call: Call, scope: Scope, headers: dict[str, str], raw: bytes
    ) -> object:
        registry = self._service.registry
        if endpoint.kind is Kind.WRITE:
            target = target_of(scope["path"], scope["query_string"].decode("latin-1"))
            return await registry.write(
                endpoint.handle(call),
                Carried(scope["method"], target, passed_on(headers), raw),
                was_carried=FORWARD_HEADER in headers,
                may_be_known=endpoint.may_be_known,
            )
        if endpoint.kind is Kind.COMPUTE or call.must_parse:
            return await registry.compute(lambda: endpoint.handle(call))
        return endpoint.handle(call)

    def _refusal(self, error: RegistryError) -> tuple[int, Headers, bytes]:
        status = error.http_status
        headers = [(b"content-type", self._service.error_type)]
        if status == 405:
            headers.append((b"allow", self.allow.encode()))
        elif status == 503:
            headers.append((b"retry-after", b"1"))
        elif status in _CLOSING:
            headers.append((b"connection", b"close"))
        if isinstance(error, NotPrimary):
            headers.append((NOT_PRIMARY_HEADER.encode(), b"true"))
        return status, headers, encode_error(error)


def _allows_unknown(headers: dict[str, str]) -> bool:
    return headers.get(_UNKNOWN_ALLOWED, "").lower() == "true"


def _authorize(endpoint: Endpoint, call: Call, user: User | None) -> None:
    if user is None:
        return  # Without authentication every client may do everything.
    needed = endpoint.role
    if endpoint.permanent_role is not None and (call.flag("permanent") or call.flag("force")):
        needed = endpoint.permanent_role
    if user.role < needed:
        raise RegistryError(
            40301,
            f"The user {user.name} may not {endpoint.method} {endpoint.path}: "
            f"it takes the role {needed.label}",
        )


async def respond(
    send: Send, status: int, headers: Headers, body: bytes, *, is_head: bool = False
) -> None:
    """Send a whole answer."""
    if status != 204:
        headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if is_head else body})
