"""What a service says of itself, for the layer to do the rest.

A subclass names the service, has its endpoints, turns errors into answers, and may have its own
kind of call, way to decode bodies, place where handlers run, health and gauges. `open`,
`listening`, `stop` and `close` are the stages of its life, called in this order.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec
from starlette.requests import HTTPConnection
from starlette.routing import BaseRoute

from headrace.errors import HeadraceError
from headrace.http.bodies import decode
from headrace.http.call import Call
from headrace.http.endpoint import Endpoint, Role
from headrace.http.faults import BodyTooLarge, BodyTooSlow, Fault, MethodNotAllowed
from headrace.http.listeners import Listener
from headrace.http.negotiation import JSON
from headrace.http.refusals import Error, Receive, Refusal, Scope, Send, refuse
from headrace.http.settings import HttpSettings

_KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
_CLOSE = ((b"connection", b"close"),)


class Service:
    """Made once per application."""

    name: ClassVar[str]
    """In the line that says where it is ready."""
    title: ClassVar[str]
    about: ClassVar[str]
    metrics: ClassVar[str]
    """What the names of all metrics begin with."""
    path_types: ClassVar[Mapping[str, Any]] = {}
    """Parts of paths that are more than a text."""
    error: ClassVar[Any] = Error
    """The type of the body that every error has."""
    error_type: str = JSON

    def __init__(self, settings: HttpSettings, endpoints: Sequence[Endpoint]) -> None:
        self.settings = settings
        self.endpoints = endpoints
        self._requests: Counter[tuple[str, str, int]] = Counter()

    # -- requests ---------------------------------------------------------------------------------

    def call(self, endpoint: Endpoint, request: HTTPConnection, media_type: str) -> Call:
        """What the handler of an endpoint gets."""
        return Call(self, endpoint, request, media_type)

    def role(self, call: Call) -> Role:
        """The role that this call takes."""
        return call.endpoint.role

    async def decode(self, call: Call, kind: Any) -> Any:
        """The body of a call as a value of this type."""
        return decode(call.raw, kind, is_strict=call.endpoint.is_strict)

    async def run(self, call: Call) -> object:
        """What the handler returns."""
        reply = call.endpoint.handle(call)
        return await reply if inspect.isawaitable(reply) else reply

    def refusal(self, error: HeadraceError, endpoint: Endpoint | None) -> Refusal | None:
        """How an error is answered; None if it is none that a client should see."""
        if isinstance(error, MethodNotAllowed):
            return Refusal(error.status, str(error), headers=((b"allow", error.allow.encode()),))
        if isinstance(error, BodyTooLarge | BodyTooSlow):
            # The rest of the body is not wanted.
            return Refusal(error.status, str(error), headers=_CLOSE)
        return Refusal(error.status, str(error)) if isinstance(error, Fault) else None

    def error_body(self, refusal: Refusal) -> object:
        """The body of an error, of the type `error`."""
        return Error(refusal.code, refusal.message)

    async def refuse(self, refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what does not reach a route."""
        body = msgspec.json.encode(self.error_body(refusal))
        await refuse(refusal, body, self.error_type, scope, receive, send)

    # -- watching ---------------------------------------------------------------------------------

    def count(self, path: str, method: str, status: int) -> None:
        """Note one answer; paths are templates, so that their number is bounded."""
        known = method if method in _KNOWN_METHODS else "other"
        self._requests[path, known, status] += 1

    @property
    def requests(self) -> Mapping[tuple[str, str, int], int]:
        """How many answers there were, by path, method and status."""
        return self._requests

    def gauges(self) -> Mapping[str, tuple[str, int | float]]:
        """What else can be measured: what it is and how much, by names without the prefix."""
        return {}

    def failure(self) -> str | None:
        """Why this instance is not healthy; None if it is."""
        return None

    def health(self) -> Mapping[str, Any]:
        """What `/healthz` says besides whether it is well."""
        return {}

    # -- life -------------------------------------------------------------------------------------

    def routes(self) -> Sequence[BaseRoute]:
        """Routes that are not endpoints, such as WebSockets."""
        return ()

    async def open(self) -> None:
        """Before anybody can connect."""

    def listening(self, bound: Sequence[Listener]) -> None:
        """Clients can connect there, and are served in a moment."""

    def stop(self) -> None:
        """End the answers that would go on for ever; the others are finished."""

    async def close(self) -> None:
        """Nobody asks any more."""
