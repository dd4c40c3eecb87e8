"""What every request passes first: is this service meant, and does a foreign web page ask?

A browser sends requests for any page that a user visits, also to services on the user's own machine
and network, where no password may be needed. It says so: `Host` has the name that was called,
`Origin` and `Sec-Fetch-Site` tell where the page came from, and without asking first (a preflight)
it sends only the few media types that forms have. Programs send no `Origin` and are not affected.
The last check is a layer of its own, so that an allowed page can be shown why it failed.

    421  a Host that is not a name of this service (DNS rebinding)
    403  a page of another site that is not allowed, over HTTP or WebSocket
    415  a body without a media type, or with one that a form can send
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from headrace.http.hosts import OwnNames
from headrace.http.refusals import Application, Receive, Refusal, Refuse, Scope, Send, quoted

_FORM_TYPES: Final = frozenset(
    {"", "text/plain", "multipart/form-data", "application/x-www-form-urlencoded"}
)
_UNSAFE: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_DEFAULT_PORTS: Final = {"http": ":80", "ws": ":80", "https": ":443", "wss": ":443"}


class Origins:
    """The web sites whose pages may call: exact origins, `*` inside of one, or `*` for all."""

    def __init__(self, allowed: Sequence[str], methods: Sequence[str]) -> None:
        self.exact = tuple(each for each in allowed if "*" not in each or each == "*")
        patterns = [re.escape(each) for each in allowed if each not in self.exact]
        self.pattern = "|".join(patterns).replace(r"\*", "[^/]*") or None
        self._takes_all = "*" in allowed
        self._matches = re.compile(self.pattern or "(?!)").fullmatch
        self._methods = frozenset(each.upper() for each in methods)

    def allow(self, origin: str, method: str) -> bool:
        """Whether a page of this origin may send this; a preflight asks for others itself."""
        if not (self._takes_all or origin in self.exact or self._matches(origin)):
            return False
        return method == "OPTIONS" or method in self._methods or "*" in self._methods


class Gate:
    """ASGI middleware, before everything else: the name that was called, and the page that asks."""

    def __init__(
        self, app: Application, *, names: OwnNames, origins: Origins, refuse: Refuse
    ) -> None:
        self._app = app
        self._names = names
        self._origins = origins
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject, or pass on."""
        if scope["type"] in ("http", "websocket"):
            refusal = self._refusal(scope)
            if refusal is not None:
                await self._refuse(refusal, scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> Refusal | None:
        host = origin = site = None
        for name, value in scope["headers"]:
            if name == b"host":
                if host is not None:
                    return Refusal(400, "The request has two Host headers: send one")
                host = value
            elif name == b"origin":
                origin = value
            elif name == b"sec-fetch-site":
                site = value
        if host is None and scope["http_version"] != "1.0":
            return Refusal(400, "The request has no Host header, which HTTP/1.1 requires")
        called = "" if host is None else host.decode("latin-1")
        if host is not None and not self._names.has(called, _local_address(scope)):
            return _not_here(called)
        if origin is not None or site is not None:
            method = scope.get("method", "GET")
            page = None if origin is None else origin.decode("latin-1")
            if not self._may_call(page, site, called, method):
                return _foreign_page(page)
        return None

    def _may_call(self, origin: str | None, site: bytes | None, host: str, method: str) -> bool:
        if origin is not None and self._origins.allow(origin, method):
            return True
        # No page can set this header. A rebound name was rejected by its Host already, so where
        # the origin differs a proxy in between has changed the Host.
        if site == b"same-origin":
            return True
        if site is not None and site != b"none":
            return False
        return origin is None or _is_same(origin, host)


class BodyGate:
    """ASGI middleware: no body may be of a type that a page can send without asking first."""

    def __init__(self, app: Application, *, refuse: Refuse) -> None:
        self._app = app
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject, or pass on."""
        if scope["type"] == "http" and scope["method"] in _UNSAFE:
            stated = _type_of_body(scope)
            if stated in _FORM_TYPES:
                await self._refuse(_no_media_type(stated), scope, receive, send)
                return
        await self._app(scope, receive, send)


def _type_of_body(scope: Scope) -> str | None:
    """The media type that a request states for its body, or nothing; None if it has no body."""
    stated, has_body = b"", False
    for name, value in scope["headers"]:
        if name == b"content-type":
            stated = value
        elif name == b"transfer-encoding" or (name == b"content-length" and value != b"0"):
            has_body = True
    return stated.partition(b";")[0].strip().lower().decode("latin-1") if has_body else None


def _is_same(origin: str, host: str) -> bool:
    """Whether an origin has this host and port; a proxy in between may have changed the scheme."""
    scheme, separator, place = origin.lower().partition("://")
    port = _DEFAULT_PORTS.get(scheme)
    if not separator or not place or port is None:
        return False
    return place.removesuffix(port) == host.lower().removesuffix(port)


def _local_address(scope: Scope) -> str:
    server = scope.get("server")
    return "" if server is None else str(server[0])


def _not_here(host: str) -> Refusal:
    return Refusal(
        421,
        f"Host {quoted(host)!r} is not a name of this service: call it by the name of its listener "
        "(listeners, host.name), or add this name to access.control.allow.host",
    )


def _foreign_page(origin: str | None) -> Refusal:
    page = "another site" if origin is None else quoted(origin)
    return Refusal(
        403,
        f"A web page of {page} may not send this request here: access.control.allow.origin and "
        "access.control.allow.methods say which pages may",
    )


def _no_media_type(stated: str) -> Refusal:
    what = f"Content-Type {quoted(stated)!r}" if stated else "a body without a Content-Type"
    return Refusal(
        415, f"HTTP 415 Unsupported Media Type: {what} is not accepted; application/json is"
    )
