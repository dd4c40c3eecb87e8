"""AlterConfigs (key 33): replace all settings of a resource; see IncrementalAlterConfigs."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Bool, Int8, Int16, Int32


@request(key=33, versions="0-2", flexible=2)
class AlterConfigsRequest:
    """What a resource is set to; what is not named falls back to its default. v2 flexible."""

    resources: list[AlterConfigsResource]
    validate_only: Bool


@struct
class AlterConfigsResource:
    """The settings of one resource."""

    resource_type: Int8
    resource_name: str
    configs: list[AlterableConfig]


@struct
class AlterableConfig:
    """One setting."""

    name: str
    value: str | None


@response(key=33, versions="0-2", flexible=2)
class AlterConfigsResponse:
    """The outcome per resource. v2 flexible."""

    throttle_time_ms: Int32 = 0
    responses: list[AlterConfigsResourceResponse]


@struct
class AlterConfigsResourceResponse:
    """The outcome for one resource."""

    error_code: Int16
    error_message: str | None = None
    resource_type: Int8
    resource_name: str
