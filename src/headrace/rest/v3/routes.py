"""All endpoints of version 3, in the order in which their paths are tried."""

from __future__ import annotations

from typing import Final

from headrace.rest.openapi import Endpoint, routes_of
from headrace.rest.v3 import (
    acls,
    batch,
    clusters,
    configs,
    groups,
    lags,
    partitions,
    records,
    topics,
)

endpoints: Final[tuple[Endpoint, ...]] = (
    *clusters.ENDPOINTS,
    *acls.ENDPOINTS,
    *configs.ENDPOINTS,
    *records.ENDPOINTS,
    *batch.ENDPOINTS,
    *partitions.ENDPOINTS,
    *topics.ENDPOINTS,
    *lags.ENDPOINTS,
    *groups.ENDPOINTS,
    groups.GROUP_ENDPOINT,
)
routes: Final = routes_of(endpoints)
