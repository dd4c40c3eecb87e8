"""ListConfigResources (key 74): the resources that have settings (KIP-1142).

Version 0 is the former ListClientMetricsResources and lists nothing else."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Int8, Int16, Int32


@request(key=74, versions="0-1", flexible=0)
class ListConfigResourcesRequest:
    """v1 the types to list; none means all."""

    resource_types: list[Int8] = v(1, default=[])


@response(key=74, versions="0-1", flexible=0)
class ListConfigResourcesResponse:
    """The resources by name. v1 their types."""

    throttle_time_ms: Int32 = 0
    error_code: Int16
    config_resources: list[ConfigResource]


@struct
class ConfigResource:
    """One resource; type 16 is a client metrics subscription."""

    resource_name: str
    resource_type: Int8 = v(1, default=16)
