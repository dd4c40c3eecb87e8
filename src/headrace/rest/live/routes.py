"""All routes of live reading."""

from __future__ import annotations

from typing import Final

from starlette.routing import BaseRoute, WebSocketRoute

from headrace.rest.live import events, socket, stateless
from headrace.rest.openapi import Endpoint, routes_of

endpoints: Final[tuple[Endpoint, ...]] = (*stateless.ENDPOINTS, *events.ENDPOINTS)
routes: Final[list[BaseRoute]] = [
    *routes_of(endpoints),
    WebSocketRoute(
        "/v3/clusters/{cluster_id}/topics/{topic_name}/records:socket", socket.socket_records
    ),
]
