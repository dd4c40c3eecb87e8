"""DescribeCluster, v0-v2.

Behaviour: cluster id, controller and the brokers with the address of the listener that was asked.
Controller endpoints (endpoint type 2, KIP-919) are refused: there is no separate controller quorum.

Version notes: v1 endpoint type · v2 fenced brokers (KIP-1073).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.broker import authorized_operations
from headrace.broker.net.handler import Answer, Handler
from headrace.errors import Error
from headrace.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call

_BROKERS: Final = 1
_CONTROLLERS: Final = 2


def handle(
    metadata: Metadata, request: DescribeClusterRequest, call: Call
) -> Answer[DescribeClusterResponse]:
    image = metadata.image
    if request.endpoint_type != _BROKERS:
        return DescribeClusterResponse(
            error_code=Error.MISMATCHED_ENDPOINT_TYPE
            if request.endpoint_type == _CONTROLLERS
            else Error.UNSUPPORTED_ENDPOINT_TYPE,
            error_message="this listener serves brokers; ask with endpoint type 1",
            endpoint_type=_BROKERS,
            cluster_id=image.cluster_id,
            controller_id=-1,
            brokers=[],
        )
    listener = call.connection.listener.name
    brokers = [
        DescribeClusterBroker(
            broker_id=member.id,
            host=member.endpoints[listener].host,
            port=member.endpoints[listener].port,
            rack=member.rack,
        )
        for member in image.brokers.values()
        if listener in member.endpoints
    ]
    return DescribeClusterResponse(
        error_code=0,
        error_message=None,
        endpoint_type=_BROKERS,
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
        brokers=brokers,
        cluster_authorized_operations=authorized_operations.ON_CLUSTER
        if request.include_cluster_authorized_operations
        else authorized_operations.NOT_ASKED,
    )


HANDLER = Handler(request=DescribeClusterRequest, handle=handle)
