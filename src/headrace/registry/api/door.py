"""What stands in front of all routes: the general way to them, and a short one for look-ups by id.

Consumers ask for a schema by its id far more often than for anything else, and the answer is a
piece of bytes that exists already. Such a request is answered here without being routed. Everything
else gets its address in the form that routes expect.
"""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.http.negotiation import negotiated
from headrace.http.resource import refused
from headrace.registry.api.addresses import routed
from headrace.registry.api.service import RegistryService
from headrace.registry.errors import RegistryError

_BY_ID: Final = b"/schemas/ids/"
_BY_ID_ROUTE: Final = "/schemas/ids/{id}"
_MAX_ID_DIGITS: Final = 10


class Door:
    """Middleware: behind the entrance, and outside of Starlette's router."""

    def __init__(self, app: ASGIApp, service: RegistryService) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        if scope["method"] == "GET" and raw_path.startswith(_BY_ID) and not scope["query_string"]:
            found = self._by_id(raw_path[len(_BY_ID) :], scope)
            if found is not None:
                headers = [(b"content-type", found[0]), (b"content-length", b"%d" % len(found[1]))]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                await send({"type": "http.response.body", "body": found[1]})
                return
        try:
            query = scope["query_string"].decode("latin-1")
            path, query = routed(raw_path.decode("latin-1"), query, scope["method"])
        except RegistryError as error:
            await refused(self._service, error, None, "routing")(scope, receive, send)
            return
        scope["path"], scope["query_string"] = path, query.encode("latin-1", "replace")
        await self._app(scope, receive, send)

    def _by_id(self, digits: bytes, scope: Scope) -> tuple[bytes, bytes] | None:
        """Media type and body, if nothing about the request is out of the ordinary."""
        if not digits.isdigit() or len(digits) > _MAX_ID_DIGITS:
            return None
        accept = b""
        for name, value in scope["headers"]:
            if name == b"accept":
                accept = value
        service = self._service
        media_type = negotiated(accept.decode("latin-1"), service.gives)
        body = service.registry.state.encoded_schema(int(digits))
        if media_type is None or body is None:
            return None
        service.count(_BY_ID_ROUTE, "GET", 200)
        return media_type.encode(), body
