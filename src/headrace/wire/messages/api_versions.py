"""ApiVersions (key 18): what a broker speaks; the first request on every connection.

The answer always has response header v0. A request in a version that is too new is answered in the
layout of v0 with UNSUPPORTED_VERSION and the range of this very API (KIP-511)."""

from __future__ import annotations

from ..schema import request, response, struct, tagged, v
from ..types import Bool, Int16, Int32, Int64


@request(key=18, versions="0-4", flexible=3)
class ApiVersionsRequest:
    """The client introduces itself.

    v3 flexible, name and version of the client's software (KIP-511) · v4 as v3
    """

    client_software_name: str = v(3, default="", ignorable=True)
    client_software_version: str = v(3, default="", ignorable=True)


@response(key=18, versions="0-4", flexible=3)
class ApiVersionsResponse:
    """Every API with its range of versions, and the cluster's features.

    v1 throttle time · v3 flexible, features as tagged fields (KIP-584) · v4 a feature may begin at
    0 (KAFKA-17011); leave such features out below
    """

    error_code: Int16
    api_keys: list[ApiVersion]
    throttle_time_ms: Int32 = v(1, default=0)
    supported_features: list[SupportedFeatureKey] = tagged(0, since=3, default=[])
    finalized_features_epoch: Int64 = tagged(1, since=3, default=-1)
    finalized_features: list[FinalizedFeatureKey] = tagged(2, since=3, default=[])
    zk_migration_ready: Bool = tagged(3, since=3, default=False)


@struct
class ApiVersion:
    """The range of versions of one API."""

    api_key: Int16
    min_version: Int16
    max_version: Int16


@struct
class SupportedFeatureKey:
    """The levels of a feature that this broker could run."""

    name: str
    min_version: Int16
    max_version: Int16


@struct
class FinalizedFeatureKey:
    """The level of a feature that the cluster has agreed on."""

    name: str
    max_version_level: Int16
    min_version_level: Int16
