"""IncrementalAlterConfigs (key 44): change single settings of a resource (KIP-339)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Bool, Int8, Int16, Int32


@request(key=44, versions="0-1", flexible=1)
class IncrementalAlterConfigsRequest:
    """What to change; everything else stays. v1 flexible."""

    resources: list[AlterConfigsResource]
    validate_only: Bool


@struct
class AlterConfigsResource:
    """The changes to one resource."""

    resource_type: Int8
    resource_name: str
    configs: list[AlterableConfig]


@struct
class AlterableConfig:
    """One change.

    The operation is 0 set, 1 delete, 2 append to a list, 3 subtract from a list.
    """

    name: str
    config_operation: Int8
    value: str | None


@response(key=44, versions="0-1", flexible=1)
class IncrementalAlterConfigsResponse:
    """The outcome per resource. v1 flexible."""

    throttle_time_ms: Int32 = 0
    responses: list[AlterConfigsResourceResponse]


@struct
class AlterConfigsResourceResponse:
    """The outcome for one resource."""

    error_code: Int16
    error_message: str | None = None
    resource_type: Int8
    resource_name: str
