"""A service as an ASGI application: its endpoints, and what every service has besides.

/openapi.json   the description of all endpoints
/healthz        200 or 503, for whatever watches the process; needs no user
/metrics        requests by path, method and status, and the gauges of the service
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from headrace.http.endpoint import Endpoint
from headrace.http.exposition import CONTENT_TYPE, family
from headrace.http.negotiation import JSON
from headrace.http.openapi import build_document
from headrace.http.refusals import Refusal
from headrace.http.resource import Resource
from headrace.http.service import Service

HEALTH: Final = "/healthz"
_NOWHERE: Final = "unmatched"
_NOT_FOUND: Final = Refusal(404, "HTTP 404 Not Found")


def build_app(service: Service, middleware: Sequence[Middleware] = ()) -> Starlette:
    """The application of a service that somebody else opens and closes."""
    # The description takes some memory and is seldom read, so it is made when somebody asks.
    described: list[bytes] = []

    async def openapi(request: Request) -> Response:
        if not described:
            described.append(msgspec.json.encode(build_document(service)))
        return Response(described[0], media_type=JSON)

    async def healthz(request: Request) -> Response:
        failure = service.failure()
        told = {"status": "ok" if failure is None else "failing", **service.health()}
        if failure is not None:
            told["reason"] = failure
        status = 200 if failure is None else 503
        return Response(msgspec.json.encode(told), status, media_type=JSON)

    async def metrics(request: Request) -> Response:
        return Response("".join(_exposed(service)), headers={"content-type": CONTENT_TYPE})

    async def nowhere(scope: Scope, receive: Receive, send: Send) -> None:
        service.count(_NOWHERE, scope.get("method", "GET"), _NOT_FOUND.status)
        await service.refuse(_NOT_FOUND, scope, receive, send)

    app = Starlette(
        routes=[
            *_routes(service),
            *service.routes(),
            Route("/openapi.json", openapi),
            Route(HEALTH, healthz),
            Route("/metrics", metrics),
        ],
        middleware=middleware,
    )
    app.router.redirect_slashes = False
    app.router.default = nowhere
    return app


def _routes(service: Service) -> Iterator[BaseRoute]:
    """One route for each path; those without parameters come first, since both could match."""
    by_path: dict[str, list[Endpoint]] = {}
    for endpoint in service.endpoints:
        by_path.setdefault(endpoint.path, []).append(endpoint)
    for path in sorted(by_path, key=lambda path: "{" in path):
        yield Route(path, Resource(service, path, by_path[path]))


def _exposed(service: Service) -> Iterator[str]:
    answers = (
        ((path, method, str(status)), count)
        for (path, method, status), count in sorted(service.requests.items())
    )
    name = f"{service.metrics}_requests_total"
    labels = ("route", "method", "status")
    yield from family(name, "counter", "Requests that were answered.", labels, answers)
    for name, (about, value) in service.gauges().items():
        yield from family(f"{service.metrics}_{name}", "gauge", about, (), [((), value)])
