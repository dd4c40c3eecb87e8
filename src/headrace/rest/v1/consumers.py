"""GET …/instances/{instance}/topics/{topic}: version 1 reads one topic, named by each read.

The first read subscribes the instance; a read of another topic is refused (40901).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from headrace.rest import errors
from headrace.rest.answers import encode, path_topic, proxy_of, query_number
from headrace.rest.consumers.routing import owned
from headrace.rest.media_types import V1, V1_EMBEDDED, EmbeddedFormat, choose, parse_kafka_type
from headrace.rest.openapi import Endpoint, Parameter

if TYPE_CHECKING:
    from starlette.requests import Request

    from headrace.rest.consumers.instance import ConsumerInstance
    from headrace.rest.consumers.manager import Handle


@owned
async def read_topic(request: Request, handle: Handle) -> Response:
    """Records of a topic as they come."""
    proxy, options = proxy_of(request), handle.options
    topic = path_topic(request)
    media_type = _media_type(request.headers.get("accept"), options.format)
    asked = query_number(request, "max_bytes", -1)
    most = proxy.settings.consumer_request_max_bytes
    limit = min(asked, most) if asked > 0 else most

    def read(instance: ConsumerInstance) -> bytes:
        if instance.subscription() != [topic]:
            if instance.subscription():
                raise errors.consumer_already_subscribed()
            instance.subscribe([topic])
        return encode(instance.read(options.request_timeout_ms, limit))

    return Response(await proxy.consumers.use(handle, read), media_type=media_type)


def _media_type(accept: str | None, embedded: EmbeddedFormat) -> str:
    own = f"application/vnd.kafka.{embedded}.v1+json"
    others = tuple(each for each in V1_EMBEDDED if each != own)
    chosen = choose(accept, (own, V1, "application/json", *others))
    kind = parse_kafka_type(chosen)
    if kind is not None and (kind.format or EmbeddedFormat.BINARY) is not embedded:
        raise errors.consumer_format_mismatch()
    return chosen


_RECORDS: Final = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["topic", "key", "value", "partition", "offset"],
        "properties": {
            "topic": {"type": "string"},
            "key": {},
            "value": {},
            "partition": {"type": "integer"},
            "offset": {"type": "integer"},
        },
    },
}

ENDPOINTS: Final = (
    Endpoint(
        "/consumers/{group_name}/instances/{instance}/topics/{topic_name}",
        "GET",
        read_topic,
        "Read records of a topic",
        "Consumers (v1)",
        parameters=(
            Parameter("max_bytes", {"type": "integer"}, "How many bytes to return at most"),
        ),
        responses={200: _RECORDS},
        response_types=(*V1_EMBEDDED, V1),
        errors=(401, 403, 404, 406, 409, 422, 429, 500, 503),
    ),
)
