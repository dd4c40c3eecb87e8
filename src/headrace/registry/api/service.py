"""What all resources share: the instance, the negotiation of types, the counters."""

from __future__ import annotations

from collections import Counter
from typing import Final

from headrace.registry.api.media_types import Negotiation
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
