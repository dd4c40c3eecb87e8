"""One path as an ASGI application: from a request to an answer, and nothing escapes.

Who asks is known by now. In this order: is there such a method (405), which answer is wanted (406),
may the user do this (403), what was sent (415, 413, 408, 400), and only then the handler. An
exception that nothing handles is logged with its trace and answered 500 without it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headrace.errors import HeadraceError
from headrace.http.bodies import read_body
from headrace.http.call import Call
from headrace.http.endpoint import Endpoint
from headrace.http.faults import (
    MethodNotAllowed,
    NotAcceptable,
    RoleNeeded,
    UnsupportedMediaType,
)
from headrace.http.negotiation import matching, negotiated
from headrace.http.refusals import Refusal
from headrace.http.service import Service

_LOG: Final = logging.getLogger(__name__)


class Resource:
    """The endpoints of one path."""

    def __init__(self, service: Service, path: str, endpoints: Sequence[Endpoint]) -> None:
        self._service = service
        self._path = path
        self._by_method = {endpoint.method: endpoint for endpoint in endpoints}
        if "GET" in self._by_method:
            self._by_method["HEAD"] = self._by_method["GET"]
        self.methods = (*sorted(self._by_method), "OPTIONS")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        method = scope["method"]
        endpoint = self._by_method.get(method)
        try:
            response = await self._answer(endpoint, Request(scope, receive, send))
        except ClientDisconnect:
            return
        except Exception as error:
            response = refused(self._service, error, endpoint, f"{method} {scope['path']}")
        self._service.count(self._path, method, response.status_code)
        await response(scope, receive, send)

    async def _answer(self, endpoint: Endpoint | None, request: Request) -> Response:
        if endpoint is None:
            allow = ", ".join(self.methods)
            if request.method != "OPTIONS":
                raise MethodNotAllowed(allow)
            return Response(headers={"allow": allow})
        service = self._service
        call = service.call(endpoint, request, _media_type(endpoint, request))
        _authorize(service, call)
        if endpoint.body is not None:
            kind = _stated(call, endpoint)
            if not endpoint.is_stream:
                await self._read(call, kind)
        reply = await service.run(call)
        return reply if isinstance(reply, Response) else call.respond(reply)

    async def _read(self, call: Call, kind: Any) -> None:
        settings = self._service.settings
        call.raw = await read_body(
            call.request,
            max_bytes=settings.request_max_bytes,
            timeout_s=settings.request_timeout_ms / 1000,
        )
        if call.endpoint.needs_body or call.raw.strip():
            call.body = await self._service.decode(call, kind)


def _media_type(endpoint: Endpoint, request: Request) -> str:
    if len(endpoint.gives) == 1:
        return endpoint.gives[0]
    chosen = negotiated(request.headers.get("accept", ""), endpoint.gives)
    if chosen is None:
        raise NotAcceptable
    return chosen


def _authorize(service: Service, call: Call) -> None:
    user: Any = call.request.scope.get("user")
    if user is None:
        return  # Without authentication every client may do everything.
    needed = service.role(call)
    if needed > user.role:
        what = f"{call.endpoint.method} {call.endpoint.path}"
        raise RoleNeeded(user.name, what, needed.label)


def _stated(call: Call, endpoint: Endpoint) -> Any:
    """The type that the body has by its media type; `call` remembers which that is."""
    bodies = endpoint.bodies()
    stated = call.headers.get("content-type", "")
    if not stated and not endpoint.needs_body:
        return next(iter(bodies.values()))
    found = matching(stated, bodies)
    if found is None:
        raise UnsupportedMediaType
    call.body_type = found
    return bodies[found]


def refused(service: Service, error: Exception, endpoint: Endpoint | None, what: str) -> Response:
    """The answer to a request that failed so."""
    refusal = service.refusal(error, endpoint) if isinstance(error, HeadraceError) else None
    if refusal is None:
        _LOG.error("%s failed", what, exc_info=error)
        refusal = Refusal(500, "Internal Server Error: the log of the service says more")
    body = msgspec.json.encode(service.error_body(refusal))
    response = Response(body, refusal.status, media_type=service.error_type)
    response.raw_headers.extend(refusal.headers)
    return response
