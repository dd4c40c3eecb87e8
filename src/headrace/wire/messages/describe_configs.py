"""DescribeConfigs (key 32): settings of topics, brokers and groups, and where they come from."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Bool, Int8, Int16, Int32


@request(key=32, versions="1-4", flexible=4)
class DescribeConfigsRequest:
    """The resources to describe.

    v1 synonyms (KIP-226) · v3 documentation and type (KIP-569) · v4 flexible
    """

    resources: list[DescribeConfigsResource]
    include_synonyms: Bool = False
    include_documentation: Bool = v(3, default=False)


@struct
class DescribeConfigsResource:
    """One resource; null keys mean all of its settings."""

    resource_type: Int8
    resource_name: str
    configuration_keys: list[str] | None


@response(key=32, versions="1-4", flexible=4)
class DescribeConfigsResponse:
    """Every setting with its source.

    v1 source and synonyms (KIP-226) · v3 type and documentation (KIP-569) · v4 flexible
    """

    throttle_time_ms: Int32 = 0
    results: list[DescribeConfigsResult]


@struct
class DescribeConfigsResult:
    """The settings of one resource."""

    error_code: Int16
    error_message: str | None = None
    resource_type: Int8
    resource_name: str
    configs: list[DescribeConfigsResourceResult]


@struct
class DescribeConfigsResourceResult:
    """One setting; the value of a sensitive one is null."""

    name: str
    value: str | None
    read_only: Bool
    config_source: Int8 = -1
    is_sensitive: Bool
    synonyms: list[DescribeConfigsSynonym]
    config_type: Int8 = v(3, default=0)
    documentation: str | None = v(3, default=None)


@struct
class DescribeConfigsSynonym:
    """A level at which the setting has a value; the first one rules."""

    name: str
    value: str | None
    source: Int8
