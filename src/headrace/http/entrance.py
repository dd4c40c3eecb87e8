"""The way in that every HTTP service has: the gate, pages of allowed sites (CORS), the user."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from headrace.http.gate import BodyGate, Gate, Origins
from headrace.http.hosts import OwnNames
from headrace.http.service import Service
from headrace.http.sign_in import Authenticator, SignIn


def entrance(
    service: Service,
    *,
    authenticator: Authenticator | None,
    open_paths: Collection[str],
    unauthenticated_code: int,
    also_called: Iterable[str] = (),
) -> list[Middleware]:
    """Middleware for Starlette, outermost first; `also_called` are further names of the service."""
    settings = service.settings
    hosts = [listener.host for listener in settings.listeners]
    names = OwnNames(hosts, (settings.host_name, *settings.allow_host, *also_called))
    origins = Origins(settings.allow_origin, settings.allow_methods)
    layers = [Middleware(Gate, names=names, origins=origins, refuse=service.refuse)]
    if settings.allow_origin:
        layers.append(
            Middleware(
                CORSMiddleware,
                allow_origins=origins.exact,
                allow_origin_regex=origins.pattern,
                allow_methods=settings.allow_methods,
                allow_headers=settings.allow_headers,
            )
        )
    layers.append(Middleware(BodyGate, refuse=service.refuse))
    if authenticator is not None:
        layers.append(
            Middleware(
                SignIn,
                authenticator=authenticator,
                realm=settings.authentication_realm,
                failures_per_minute=settings.authentication_failures_per_minute,
                open_paths=open_paths,
                error_code=unauthenticated_code,
                refuse=service.refuse,
            )
        )
    return layers
