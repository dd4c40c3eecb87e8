"""All endpoints in the order in which they are described, and the routes made of them."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from starlette.routing import BaseRoute, Route

from headrace.registry.api import (
    associations,
    compatibility,
    config,
    contexts,
    dek_registry,
    metadata,
    mode,
    schemas,
    subjects,
)
from headrace.registry.api.endpoint import Endpoint
from headrace.registry.api.resource import Resource
from headrace.registry.api.service import Service

ENDPOINTS: Final[tuple[Endpoint, ...]] = tuple(
    endpoint
    for module in (
        metadata,
        schemas,
        subjects,
        compatibility,
        config,
        mode,
        contexts,
        associations,
        dek_registry,
    )
    for endpoint in module.table.endpoints
)


def build_routes(service: Service) -> list[BaseRoute]:
    """One route for each path; paths without parameters come first, since both could match."""
    by_path: defaultdict[str, list[Endpoint]] = defaultdict(list)
    for endpoint in ENDPOINTS:
        by_path[endpoint.path].append(endpoint)
    ordered = sorted(by_path, key=lambda path: "{" in path)
    return [Route(path, Resource(service, path, by_path[path])) for path in ordered]
