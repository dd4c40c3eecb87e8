"""What all resources share: the instance, the users, the negotiation of types, the counters."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

from headrace.registry.api.media_types import Negotiation
from headrace.registry.auth import Authenticator, Role, read_users
from headrace.registry.errors import RegistryError
from headrace.registry.instance import Registry

_KNOWN_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


class Metrics:
    """Requests by route, method and status. Routes are templates, so their number is bounded."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self.fast_lookups = 0

    def count(self, route: str, method: str, status: int) -> None:
        """Note one answer."""
        known = method if method in _KNOWN_METHODS else "other"
        self._requests[route, known, status] += 1

    def lines(self) -> list[str]:
        """In Prometheus' text format."""
        requests = self._requests.copy()
        requests["/schemas/ids/{id}", "GET", 200] += self.fast_lookups
        return [
            "# TYPE schema_registry_requests_total counter",
            *(
                f'schema_registry_requests_total{{route="{route}",method="{method}",'
                f'status="{status}"}} {count}'
                for (route, method, status), count in sorted(requests.items())
                if count
            ),
        ]


class Service:
    """Made once per application."""

    def __init__(self, registry: Registry) -> None:
        settings = registry.settings
        self.registry = registry
        self.negotiation = Negotiation(settings.response_media_type)
        self.error_type = settings.response_media_type.encode()
        self.metrics = Metrics()
        self.authenticator: Authenticator | None = None
        if settings.authentication_method == "BASIC":
            assert settings.authentication_users_file is not None, "settings are checked"
            users = {
                name: user
                for name, user in read_users(settings.authentication_users_file).items()
                if user.role in settings.authentication_roles
            }
            self.authenticator = Authenticator(users, settings.authentication_realm)

    @property
    def challenge(self) -> bytes:
        """What a client without credentials is asked for."""
        return b"" if self.authenticator is None else self.authenticator.challenge.encode()

    async def role_of(self, headers: dict[str, str]) -> Role:
        """The role of whoever sent these headers; 401 for somebody unknown."""
        if self.authenticator is None:
            return Role.ADMIN
        header = headers.get("authorization", "").encode("latin-1")
        user = self.authenticator.remembered(header) if header else None
        if user is None and header:
            user = await asyncio.get_running_loop().run_in_executor(
                None, self.authenticator.check, header
            )
        if user is None:
            raise RegistryError(401, "Unauthorized")
        return user.role
