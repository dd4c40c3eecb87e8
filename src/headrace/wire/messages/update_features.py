"""UpdateFeatures (key 57): agree on the levels of the cluster's features (KIP-584)."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Bool, Int8, Int16, Int32


@request(key=57, versions="0-2", flexible=0)
class UpdateFeaturesRequest:
    """New levels, all of them or none.

    v1 kinds of downgrades, and asking without doing (KIP-778) · v2 as v1
    """

    timeout_ms: Int32 = 60_000
    feature_updates: list[FeatureUpdateKey]
    validate_only: Bool = v(1, default=False)


@struct
class FeatureUpdateKey:
    """The level wanted of one feature; below 1 the feature is taken back.

    `upgrade_type` is 1 for an upgrade, 2 for a downgrade that loses nothing, 3 for one that may.
    """

    feature: str
    max_version_level: Int16
    allow_downgrade: Bool = v(0, 0, default=False)
    upgrade_type: Int8 = v(1, default=1)


@response(key=57, versions="0-2", flexible=0)
class UpdateFeaturesResponse:
    """Whether the levels hold now. v2 no more results per feature."""

    throttle_time_ms: Int32 = 0
    error_code: Int16
    error_message: str | None
    results: list[UpdatableFeatureResult] = v(0, 1, default=[])


@struct
class UpdatableFeatureResult:
    """The outcome for one feature."""

    feature: str
    error_code: Int16
    error_message: str | None
