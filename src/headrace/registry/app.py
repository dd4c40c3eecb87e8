"""The service: its parts put together, started, and stopped cleanly.

`build_app` gives the ASGI application of an instance; `serve` runs the whole until SIGTERM or
Ctrl-C. On the way down no new connection is taken, requests under way are answered, and the group
is left, so that another instance is the primary before this one is gone.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import signal
import sys
from collections.abc import Callable
from typing import Final

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from headrace.http.entrance import entrance
from headrace.http.listeners import bind
from headrace.http.server import build_server
from headrace.registry.api.bodies import encode_error
from headrace.registry.api.door import Door
from headrace.registry.api.resource import respond
from headrace.registry.api.routes import ENDPOINTS, build_routes
from headrace.registry.api.service import Service
from headrace.registry.errors import RegistryError
from headrace.registry.instance import Registry
from headrace.registry.openapi import build_openapi
from headrace.registry.settings import RegistrySettings
from headrace.security.basic import read_authenticator

_HEALTH: Final = "/healthz"


def build_app(registry: Registry) -> Starlette:
    """The API of an instance."""
    service = Service(registry)
    # The description takes some memory and is seldom read, so it is made when somebody asks.
    described: list[bytes] = []

    async def openapi(request: Request) -> Response:
        if not described:
            described.append(msgspec.json.encode(build_openapi(ENDPOINTS)))
        return Response(described[0], media_type="application/json")

    async def healthz(request: Request) -> Response:
        failure = registry.failure
        body = {"status": "ok" if failure is None else "failing", "primary": registry.is_primary}
        if failure is not None:
            body["reason"] = failure
        status = 200 if failure is None else 503
        return Response(msgspec.json.encode(body), status, media_type="application/json")

    async def metrics(request: Request) -> Response:
        lines = [*service.metrics.lines(), *_gauges(registry)]
        return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")

    async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
        service.metrics.count("unmatched", scope["method"], 404)
        headers = [(b"content-type", service.error_type)]
        await respond(send, 404, headers, encode_error(RegistryError(404, "HTTP 404 Not Found")))

    app = Starlette(
        routes=[
            *build_routes(service),
            Route("/openapi.json", openapi),
            Route(_HEALTH, healthz),
            Route("/metrics", metrics),
        ],
        middleware=[*_entrance(registry.settings), Middleware(Door, service=service)],
    )
    app.router.redirect_slashes = False
    app.router.default = not_found
    return app


def _entrance(settings: RegistrySettings) -> list[Middleware]:
    """Who may call: only the health of the instance needs no user."""
    return entrance(
        settings,
        authenticator=read_authenticator(settings, secrets.token_bytes(32)),
        open_paths=(_HEALTH,),
        unauthenticated_code=401,
        media_type=settings.response_media_type,
    )


def _gauges(registry: Registry) -> list[str]:
    state = registry.state
    values = {
        "schema_registry_primary": int(registry.is_primary),
        "schema_registry_subjects": len(state.versions.subjects()),
        "schema_registry_offset": registry.store.offset,
        "schema_registry_broken_records": state.broken_records,
        "schema_registry_healthy": int(registry.failure is None),
    }
    return [
        line
        for name, value in values.items()
        for line in (f"# TYPE {name} gauge", f"{name} {value}")
    ]


def _print_ready(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def serve(settings: RegistrySettings, announce: Callable[[str], None] = _print_ready) -> int:
    """Run until SIGTERM or Ctrl-C; returns the exit code."""
    import uvloop

    # What clients do wrong is answered, not logged.
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, announce))
    return 0


async def _serve(settings: RegistrySettings, announce: Callable[[str], None]) -> None:
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    bound = [bind(listener) for listener in settings.listeners]
    registry = Registry(settings)
    try:
        app = build_app(registry)
        await loop.run_in_executor(None, registry.open, loop)
        servers = [(build_server(app, settings, where.scheme), socket) for socket, where in bound]
        running = [
            asyncio.create_task(server.serve(sockets=[socket])) for server, socket in servers
        ]
        # uvicorn has no event for this; a server that fails ends its task.
        while not all(server.started for server, _ in servers):
            await asyncio.sleep(0.005)
            for task in running:
                if task.done():
                    task.result()
        listening = next(
            where for _, where in bound if where.scheme == settings.inter_instance_protocol
        )
        registry.join(listening)
        for _, where in bound:
            announce(f"ready registry {where.url}")
        await asyncio.wait(
            [asyncio.create_task(stopping.wait()), *running], return_when=asyncio.FIRST_COMPLETED
        )
        for server, _ in servers:
            server.should_exit = True
        await asyncio.gather(*running)
    finally:
        await loop.run_in_executor(None, registry.close)
        for socket, _ in bound:
            socket.close()
