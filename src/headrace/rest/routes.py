"""All endpoints of all versions, in the order in which their paths are tried."""

from __future__ import annotations

from typing import Final

from headrace.http.endpoint import Endpoint
from headrace.rest.call import Call
from headrace.rest.live import events, stateless
from headrace.rest.tables import v3_table
from headrace.rest.v1 import consumers as v1_consumers
from headrace.rest.v2 import brokers as v2_brokers
from headrace.rest.v2 import consumers as v2_consumers
from headrace.rest.v2 import positions as v2_positions
from headrace.rest.v2 import produce as v2_produce
from headrace.rest.v2 import topics as v2_topics
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

table: Final = v3_table(tag="Service")


@table.get("/", "Nothing, as a sign of life", reply=dict[str, str], errors=())
def get_root(call: Call) -> dict[str, str]:
    return {}


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    # What is asked most comes first.
    *v2_produce.table.endpoints,
    *v2_topics.table.endpoints,
    *v2_brokers.table.endpoints,
    *v2_consumers.table.endpoints,
    *v2_positions.table.endpoints,
    *v1_consumers.table.endpoints,
    *stateless.table.endpoints,
    *events.table.endpoints,
    *clusters.table.endpoints,
    *acls.table.endpoints,
    *configs.table.endpoints,
    *records.table.endpoints,
    *batch.table.endpoints,
    *partitions.table.endpoints,
    *topics.table.endpoints,
    *lags.table.endpoints,
    *groups.table.endpoints,
    *table.endpoints,
)
