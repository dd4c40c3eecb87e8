"""The application of the proxy, and the process that serves it.

`build_app` puts the routes of all versions behind the guard; `serve` binds the listeners, says
`ready` and ends cleanly on SIGTERM. It knows no route by itself but `/`.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from headrace.http.entrance import entrance
from headrace.http.hosts import host_name
from headrace.http.listeners import BACKLOG, bind
from headrace.http.server import build_server
from headrace.rest import server, v1, v2
from headrace.rest.context import Proxy
from headrace.rest.errors import KAFKA_AUTHENTICATION, RestError, response_of
from headrace.rest.guard import OPEN_PATHS, Guard
from headrace.rest.live import routes as live
from headrace.rest.live.access import close as close_live
from headrace.rest.live.access import stop as stop_live
from headrace.rest.media_types import JSON
from headrace.rest.openapi import document_route, routes_of
from headrace.rest.settings import RestSettings
from headrace.rest.v3 import routes as v3
from headrace.security.basic import read_authenticator

logger = logging.getLogger("kafkarest.server")

_HTTP_TEXTS = {404: "HTTP 404 Not Found", 405: "HTTP 405 Method Not Allowed"}


async def get_root(request: Request) -> Response:
    """An empty object: the proxy is there."""
    return Response(b"{}", media_type="application/json")


async def _on_rest_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RestError)
    return response_of(error)


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    text = _HTTP_TEXTS.get(error.status_code, f"HTTP {error.status_code} {error.detail}")
    response = response_of(RestError(error.status_code, error.status_code, text))
    response.headers.update(error.headers or {})
    return response


async def _on_disconnect(request: Request, error: Exception) -> Response:
    return response_of(RestError(400, 400, "The client went away before its body had arrived"))


async def _on_any_error(request: Request, error: Exception) -> Response:
    logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return response_of(RestError(500, 500, "Internal Server Error"))


def build_app(proxy: Proxy) -> Starlette:
    """The application over a proxy that somebody else starts and closes."""
    from headrace import __version__

    settings = proxy.settings
    endpoints = (*v2.ENDPOINTS, *v1.ENDPOINTS, *v3.endpoints, *live.endpoints)
    app = Starlette(
        routes=[
            # Routes are tried in this order, so what is asked most comes first.
            *routes_of((*v2.ENDPOINTS, *v1.ENDPOINTS)),
            *live.routes,
            *v3.routes,
            Route("/", get_root),
            document_route(endpoints, __version__),
        ],
        middleware=[*_entrance(settings), Middleware(Guard, settings=settings)],
        exception_handlers={
            RestError: _on_rest_error,
            HTTPException: _on_http_error,
            ClientDisconnect: _on_disconnect,
            Exception: _on_any_error,
        },
    )
    app.router.redirect_slashes = False
    app.state.proxy = proxy
    return app


def _entrance(settings: RestSettings) -> list[Middleware]:
    """Who may call: only `/` needs no user; other instances use the name of this one in `peers`."""
    peers = (host_name(url.partition("://")[2]) for url in settings.peers)
    return entrance(
        settings,
        authenticator=read_authenticator(settings, secrets.token_bytes(32)),
        open_paths=OPEN_PATHS,
        unauthenticated_code=KAFKA_AUTHENTICATION,
        media_type=JSON,
        also_called=[name for name in peers if name is not None],
    )


def serve(settings: RestSettings, announce: Callable[[str], Any] | None = None) -> int:
    """Serve until SIGTERM; the exit code. `announce` gets the line that says where."""
    import uvloop

    uvloop.run(_serve(settings, announce or _print))
    return 0


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201


async def _serve(settings: RestSettings, announce: Callable[[str], Any]) -> None:
    proxy = Proxy(settings)
    app = build_app(proxy)
    servers = {
        scheme: build_server(
            app, settings, scheme, websockets=True, connections_max=settings.connections_max
        )
        for scheme in sorted({listener.scheme for listener in settings.listeners})
    }
    bound = [bind(listener) for listener in settings.listeners]
    proxy.start(bound[0][1])
    for socket, where in bound:
        # Whoever connects from now on is served in a moment.
        socket.listen(BACKLOG)
        announce(f"ready rest {where.url}")
    try:
        await server.run(
            [
                (each, [socket for socket, where in bound if where.scheme == scheme])
                for scheme, each in servers.items()
            ],
            on_stop=lambda: stop_live(app),
        )
    finally:
        close_live(app)
        await proxy.close()
