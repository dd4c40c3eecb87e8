"""GET …/instances/{instance}/topics/{topic}: version 1 reads one topic, named by each read.

The first read subscribes the instance; a read of another topic is refused (40901).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from starlette.responses import Response

from headrace.http.endpoint import Int64, Query
from headrace.http.faults import NotAcceptable
from headrace.http.negotiation import JSON, negotiated
from headrace.rest import errors
from headrace.rest.call import Call
from headrace.rest.consumers.routing import owned
from headrace.rest.formats import ConsumedRecord
from headrace.rest.media_types import V1, V1_EMBEDDED, EmbeddedFormat, format_of, parse_kafka_type
from headrace.rest.tables import v2_table
from headrace.rest.v2.consumers import INSTANCE

if TYPE_CHECKING:
    from headrace.rest.consumers.instance import ConsumerInstance
    from headrace.rest.consumers.manager import Handle

table: Final = v2_table(tag="Consumers (v1)", errors=(404, 409, 422))


@table.get(
    f"{INSTANCE}/topics/{{topic_name}}",
    "Read records of a topic",
    query=(Query("max_bytes", Int64, "How many bytes to return at most", default=-1),),
    reply=list[ConsumedRecord],
    gives=(*V1_EMBEDDED, V1, JSON),
)
@owned
async def read_topic(call: Call, handle: Handle) -> Response:
    """Records of a topic as they come."""
    proxy, options, topic = call.proxy, handle.options, call.topic
    media_type = _media_type(call.headers.get("accept", ""), options.format)
    asked: int = call.query("max_bytes")
    most = proxy.settings.consumer_request_max_bytes
    limit = min(asked, most) if asked > 0 else most

    def read(instance: ConsumerInstance) -> bytes:
        if instance.subscription() != [topic]:
            if instance.subscription():
                raise errors.consumer_already_subscribed()
            instance.subscribe([topic])
        return msgspec.json.encode(instance.read(options.request_timeout_ms, limit))

    return Response(await proxy.consumers.use(handle, read), media_type=media_type)


def _media_type(accept: str, embedded: EmbeddedFormat) -> str:
    own = f"application/vnd.kafka.{embedded}.v1+json"
    others = tuple(each for each in V1_EMBEDDED if each != own)
    chosen = negotiated(accept, (own, V1, JSON, *others))
    if chosen is None:
        raise NotAcceptable
    if parse_kafka_type(chosen) is not None and format_of(chosen) is not embedded:
        raise errors.consumer_format_mismatch()
    return chosen
