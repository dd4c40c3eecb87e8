"""The registry's service put together, as an application and as a process."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware

from headrace.http.application import HEALTH, build_app
from headrace.http.entrance import entrance
from headrace.http.running import serve as serve_http
from headrace.registry.api.door import Door
from headrace.registry.api.service import RegistryService
from headrace.registry.instance import Registry
from headrace.registry.settings import RegistrySettings
from headrace.security.basic import read_authenticator


def build(settings: RegistrySettings) -> tuple[RegistryService, Starlette]:
    """An instance and its application; only the health of the instance needs no user."""
    service = RegistryService(Registry(settings))
    way_in = entrance(
        service,
        authenticator=read_authenticator(settings, secrets.token_bytes(32)),
        open_paths=(HEALTH,),
        unauthenticated_code=401,
    )
    return service, build_app(service, [*way_in, Middleware(Door, service=service)])


def serve(settings: RegistrySettings, announce: Callable[[str], Any] | None = None) -> int:
    """Run until SIGTERM or Ctrl-C; returns the exit code."""
    return serve_http(lambda: build(settings), announce)
