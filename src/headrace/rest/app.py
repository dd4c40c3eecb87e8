"""The proxy's service put together, as an application and as a process."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware

from headrace.http.application import build_app
from headrace.http.entrance import entrance
from headrace.http.hosts import host_name
from headrace.http.running import serve as serve_http
from headrace.rest.errors import KAFKA_AUTHENTICATION
from headrace.rest.guard import OPEN_PATHS, Guard
from headrace.rest.service import RestService
from headrace.rest.settings import RestSettings
from headrace.security.basic import read_authenticator


def build(settings: RestSettings) -> tuple[RestService, Starlette]:
    """An instance and its application; others call it by its name in `peers`, too."""
    service = RestService(settings)
    peers = (host_name(url.partition("://")[2]) for url in settings.peers)
    way_in = entrance(
        service,
        authenticator=read_authenticator(settings, secrets.token_bytes(32)),
        open_paths=OPEN_PATHS,
        unauthenticated_code=KAFKA_AUTHENTICATION,
        also_called=[name for name in peers if name is not None],
    )
    return service, build_app(service, [*way_in, Middleware(Guard, service=service)])


def serve(settings: RestSettings, announce: Callable[[str], Any] | None = None) -> int:
    """Serve until SIGTERM; the exit code. `announce` gets the line that says where."""
    return serve_http(
        lambda: build(settings),
        announce,
        websockets=True,
        connections_max=settings.connections_max,
    )
