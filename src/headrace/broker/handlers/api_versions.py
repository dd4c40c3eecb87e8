"""ApiVersions, v0-v4.

Behaviour: the registered handlers and nothing else. A client that is newer than v4 is answered in
the v0 layout with UNSUPPORTED_VERSION and our range (KIP-511; see `dispatch`). A software name or
version with other characters than letters, digits, `-` and `.` is INVALID_REQUEST.

Version notes: v1 throttle time · v3 flexible, software name (KIP-511) and features (KIP-584) ·
v4 features whose lowest version is 0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from headrace.broker.dispatch import Answer, Handler
from headrace.errors import Error
from headrace.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.connection import Call

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")


def handle(broker: Broker, request: ApiVersionsRequest, call: Call) -> Answer:
    if call.version >= 3:
        name, version = request.client_software_name, request.client_software_version
        if not (_SOFTWARE.fullmatch(name) and _SOFTWARE.fullmatch(version)):
            return ApiVersionsResponse(error_code=Error.INVALID_REQUEST, api_keys=[])
        call.connection.software = f"{name} {version}"
    keys = []
    for handler in broker.handlers:
        lowest, highest = handler.advertised or handler.versions
        keys.append(ApiVersion(api_key=handler.key, min_version=lowest, max_version=highest))
    return ApiVersionsResponse(error_code=0, api_keys=keys)


HANDLER = Handler(key=18, versions=(0, 4), request=ApiVersionsRequest, handle=handle)
