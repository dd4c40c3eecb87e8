"""ApiVersions, v0-v4.

Behaviour: the registered handlers and nothing else, and the cluster's features: the levels that
this broker supports, the levels that are finalized, and the epoch of these. The two APIs of client
telemetry are listed only while there is a subscription to metrics: every client would ask for its
subscription, and some say so on the terminal. A client that is newer than v4 is answered in the v0
layout with UNSUPPORTED_VERSION and our range (KIP-511; see `dispatch`). A software name or version
with other characters than letters, digits, `-` and `.` is INVALID_REQUEST.

Version notes: v1 throttle time · v3 flexible, software name (KIP-511) and features (KIP-584) ·
v4 supported features whose lowest level is 0, which older clients cannot read (KAFKA-17011).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from headrace.broker.net.handler import Answer, Handler
from headrace.cluster.config_owners import OwnerKind
from headrace.cluster.features import SUPPORTED
from headrace.errors import Error
from headrace.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call
    from headrace.broker.net.handler import AnyHandler

_TELEMETRY: Final = (71, 72)
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")


def handle(
    metadata: Metadata, served: Sequence[AnyHandler], request: ApiVersionsRequest, call: Call
) -> Answer[ApiVersionsResponse]:
    if call.version >= 3:
        name, version = request.client_software_name, request.client_software_version
        if not (_SOFTWARE.fullmatch(name) and _SOFTWARE.fullmatch(version)):
            return ApiVersionsResponse(error_code=Error.INVALID_REQUEST, api_keys=[])
        call.connection.software = f"{name} {version}"
    image = metadata.image
    hidden = () if image.configs[OwnerKind.CLIENT_METRICS] else _TELEMETRY
    keys = []
    for handler in served:
        if handler.key in hidden:
            continue
        lowest, highest = handler.advertised or handler.versions
        keys.append(ApiVersion(api_key=handler.key, min_version=lowest, max_version=highest))
    return ApiVersionsResponse(
        error_code=0,
        api_keys=keys,
        supported_features=[
            SupportedFeatureKey(name=name, min_version=levels.lowest, max_version=levels.highest)
            for name, levels in SUPPORTED.items()
            if levels.lowest > 0 or call.version >= 4
        ],
        finalized_features_epoch=image.features_epoch,
        finalized_features=[
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in image.features.items()
        ],
    )


HANDLER = Handler(request=ApiVersionsRequest, handle=handle)
