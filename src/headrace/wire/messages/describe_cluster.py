"""DescribeCluster (key 60): the cluster id, its controller and its nodes (KIP-700)."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Bool, Int8, Int16, Int32


@request(key=60, versions="0-2", flexible=0)
class DescribeClusterRequest:
    """Flexible from v0 on.

    v1 endpoint type: 1 brokers, 2 controllers (KIP-919) · v2 fenced brokers too (KIP-1073)
    """

    include_cluster_authorized_operations: Bool
    endpoint_type: Int8 = v(1, default=1)
    include_fenced_brokers: Bool = v(2, default=False)


@response(key=60, versions="0-2", flexible=0)
class DescribeClusterResponse:
    """The nodes of the endpoint type asked for.

    v1 endpoint type (KIP-919) · v2 which brokers are fenced (KIP-1073)
    """

    throttle_time_ms: Int32 = 0
    error_code: Int16
    error_message: str | None = None
    endpoint_type: Int8 = v(1, default=1)
    cluster_id: str
    controller_id: Int32 = -1
    brokers: list[DescribeClusterBroker]
    cluster_authorized_operations: Int32 = -2147483648


@struct
class DescribeClusterBroker:
    """One node and the address it advertises."""

    broker_id: Int32
    host: str
    port: Int32
    rack: str | None = None
    is_fenced: Bool = v(2, default=False)
