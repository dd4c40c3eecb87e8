"""One line of JSON for each request, in the layout of Kafka's request log.

The bodies of requests and answers are left out: they may hold anything, and are large.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from headrace.broker.watching import logs

if TYPE_CHECKING:
    from headrace.broker.net.call import Call
    from headrace.broker.net.request_times import RequestWatch
    from headrace.broker.watching.durations import Times

_STAGES: Final = (
    "requestQueueTimeMs",
    "localTimeMs",
    "remoteTimeMs",
    "throttleTimeMs",
    "responseQueueTimeMs",
    "sendTimeMs",
)


def log_request(watch: RequestWatch, call: Call, times: Times) -> None:
    """Tell what became of a request."""
    connection = call.connection
    name, _, version = connection.software.partition(" ")
    shown = {stage: round(value / 1e6, 3) for stage, value in zip(_STAGES, times, strict=True)}
    event = {
        "isForwarded": False,
        "requestHeader": {
            "requestApiKeyName": watch.name,
            "requestApiVersion": call.version,
            "correlationId": call.correlation_id,
            "clientId": call.client_id,
        },
        "connection": f"{connection.peer_host}:{connection.peer_port}",
        "totalTimeMs": round((sum(times) - times[3]) / 1e6, 3),
        **shown,
        "listener": connection.listener.name,
        "principal": f"User:{connection.principal}",
        "clientInformation": {"softwareName": name, "softwareVersion": version},
    }
    logs.REQUESTS.debug("Completed request:%s", json.dumps(event, separators=(",", ":")))
