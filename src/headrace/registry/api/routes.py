"""All endpoints in the order in which they are described."""

from __future__ import annotations

from typing import Final

from headrace.http.endpoint import Endpoint
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
