"""/consumers: create and delete instances, subscribe, assign, read records.

Version 1 creates its instances here too, told by the media type of the body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import quote

import msgspec
from starlette.responses import Response

from headrace.rest import errors
from headrace.rest.answers import (
    acceptable,
    answer,
    encode,
    no_content,
    proxy_of,
    query_flag,
    query_number,
)
from headrace.rest.bodies import decode, read, read_body
from headrace.rest.consumers.manager import Name
from headrace.rest.consumers.options import CreateConsumerRequest, read_options
from headrace.rest.consumers.routing import owned, user_of
from headrace.rest.media_types import (
    ANSWERS,
    V1,
    V2,
    V2_EMBEDDED,
    EmbeddedFormat,
    choose,
    content_type,
    parse_kafka_type,
)
from headrace.rest.names import TopicName, TopicPattern, is_group_name
from headrace.rest.openapi import Endpoint, Parameter
from headrace.rest.peers import FORWARDED
from headrace.rest.v2.schemas import NAME, PARTITIONS, control

if TYPE_CHECKING:
    from starlette.requests import Request

    from headrace.rest.consumers.instance import ConsumerInstance
    from headrace.rest.consumers.manager import Handle


class CreatedConsumer(msgspec.Struct):
    instance_id: str
    base_uri: str


class Subscription(msgspec.Struct, forbid_unknown_fields=True):
    topics: Annotated[list[TopicName], msgspec.Meta(max_length=10_000)] | None = None
    topic_pattern: TopicPattern | None = None


class TopicPartition(msgspec.Struct, forbid_unknown_fields=True):
    topic: TopicName
    partition: Annotated[int, msgspec.Meta(ge=0, le=0x7FFFFFFF)]


class Assignments(msgspec.Struct, forbid_unknown_fields=True):
    partitions: list[TopicPartition]


_create = msgspec.json.Decoder(CreateConsumerRequest, strict=False)
_subscription = msgspec.json.Decoder(Subscription, strict=False)
_assignments = msgspec.json.Decoder(Assignments, strict=False)


async def create_consumer(request: Request) -> Response:
    """Create a consumer instance in a group."""
    proxy, group, user = proxy_of(request), request.path_params["group_name"], user_of(request)
    kind = content_type(request)
    acceptable(request)
    if not is_group_name(group):
        raise errors.invalid_consumer_config(f"the group {group!r} is not a name that Kafka takes")
    body = await read_body(request, proxy.settings)
    asked = decode(_create, body) if body.strip() else CreateConsumerRequest()
    options = read_options(asked, kind.version if kind is not None else 2, proxy.settings)
    if options.name is not None and proxy.peers.others and FORWARDED not in request.headers:
        path = f"/consumers/{quote(group, '')}/instances/{quote(options.name, '')}/subscription"
        name = Name(user, group, options.name)
        reply = await proxy.peers.ask_owner(name, "GET", path, headers=request.headers)
        if reply is not None and 200 <= reply.status < 300:
            raise errors.consumer_already_exists()
    name = (await proxy.consumers.create(user, group, options)).name
    return answer(request, CreatedConsumer(name.instance, _base_uri(request, group, name.instance)))


def _base_uri(request: Request, group: str, name: str) -> str:
    """Where the client finds its instance: at `host.name`, else at the name it called."""
    settings = proxy_of(request).settings
    root = str(request.base_url).rstrip("/")
    if settings.host_name:
        scheme, (_, port) = request.scope["scheme"], request.scope["server"]
        root = f"{scheme}://{settings.host_name}:{port}"
    return f"{root}/consumers/{quote(group, '')}/instances/{quote(name, '')}"


@owned
async def delete_consumer(request: Request, handle: Handle) -> Response:
    """Delete a consumer instance; it leaves its group."""
    await proxy_of(request).consumers.delete(handle)
    return no_content()


@owned
async def subscribe(request: Request, handle: Handle) -> Response:
    """Subscribe to topics, or to all whose names match a pattern."""
    content_type(request)
    proxy = proxy_of(request)
    asked = await read(request, proxy.settings, _subscription)
    topics, pattern = asked.topics, asked.topic_pattern
    if (topics is None) == (pattern is None):
        raise errors.invalid_field("Either topics or topic_pattern is needed, and not both")

    def subscribe_to(instance: ConsumerInstance) -> None:
        if pattern is not None:
            instance.subscribe_pattern(pattern)
        elif topics:
            instance.subscribe(topics)
        else:
            instance.unsubscribe()

    await proxy.consumers.use(handle, subscribe_to)
    return no_content()


@owned
async def get_subscription(request: Request, handle: Handle) -> Response:
    """The topics that an instance is subscribed to."""
    found = await proxy_of(request).consumers.use(handle, lambda each: each.subscription())
    return answer(request, {"topics": found})


@owned
async def unsubscribe(request: Request, handle: Handle) -> Response:
    """End the subscription, or the assignment."""
    await proxy_of(request).consumers.use(handle, lambda each: each.unsubscribe())
    return no_content()


@owned
async def assign(request: Request, handle: Handle) -> Response:
    """Read these partitions, without the group's coordination."""
    content_type(request)
    proxy = proxy_of(request)
    asked = await read(request, proxy.settings, _assignments)
    wanted = [(each.topic, each.partition) for each in asked.partitions]
    await proxy.consumers.use(handle, lambda each: each.assign(wanted))
    return no_content()


@owned
async def get_assignments(request: Request, handle: Handle) -> Response:
    """The partitions that an instance reads now."""
    found = await proxy_of(request).consumers.use(handle, lambda each: each.assignment())
    return answer(request, Assignments([TopicPartition(*each) for each in found]))


@owned
async def read_records(request: Request, handle: Handle) -> Response:
    """Records as they come; `headers=true` adds headers and timestamps."""
    proxy, options = proxy_of(request), handle.options
    media_type = _media_type(request.headers.get("accept"), options.format)
    timeout_ms = query_number(request, "timeout", -1)
    max_bytes = query_number(request, "max_bytes", -1)
    with_headers = query_flag(request, "headers")
    most = proxy.settings.consumer_request_max_bytes
    limit = min(max_bytes, most) if max_bytes > 0 else most
    wait_ms = options.request_timeout_ms
    if timeout_ms > 0:
        wait_ms = min(timeout_ms, wait_ms)
    # Encoded where it was read: a large answer must not hold up the other requests.
    body = await proxy.consumers.use(
        handle, lambda each: encode(each.read(wait_ms, limit, with_headers=with_headers))
    )
    return Response(body, media_type=media_type)


def _media_type(accept: str | None, embedded: EmbeddedFormat) -> str:
    """The type of the records; 40601 if the client asks for another format."""
    own = f"application/vnd.kafka.{embedded}.v2+json"
    others = tuple(each for each in V2_EMBEDDED if each != own)
    chosen = choose(accept, (own, V2, *others, *ANSWERS))
    kind = parse_kafka_type(chosen)
    # Without a format version 2 means binary.
    asked = None if kind is None else kind.format or EmbeddedFormat.BINARY
    if asked not in (None, embedded):
        raise errors.consumer_format_mismatch()
    return chosen


_CREATE: Final = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "id": {"type": ["string", "null"]},
        "name": {"type": ["string", "null"]},
        "format": {"enum": [*EmbeddedFormat, None]},
        "auto.offset.reset": {"enum": ["earliest", "latest", "none", "smallest", "largest", None]},
        "auto.commit.enable": {"enum": ["true", "false", True, False, None]},
        "enable.auto.commit": {"enum": ["true", "false", True, False, None]},
        "fetch.min.bytes": {"type": ["integer", "string", "null"]},
        "consumer.request.timeout.ms": {"type": ["integer", "string", "null"]},
    },
}
_CREATED: Final = {
    "type": "object",
    "required": ["instance_id", "base_uri"],
    "properties": {"instance_id": {"type": "string"}, "base_uri": {"type": "string"}},
}
_SUBSCRIBE: Final = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "topics": {"type": ["array", "null"], "items": NAME},
        "topic_pattern": {"type": ["string", "null"]},
    },
}
_SUBSCRIBED: Final = {
    "type": "object",
    "required": ["topics"],
    "properties": {"topics": {"type": "array", "items": {"type": "string"}}},
}
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
            "headers": {"type": "array"},
            "timestamp": {"type": ["integer", "null"]},
        },
    },
}
_READ_QUERY: Final = (
    Parameter("timeout", {"type": "integer"}, "How long to wait for records, in milliseconds"),
    Parameter("max_bytes", {"type": "integer"}, "How many bytes of keys and values to return"),
    Parameter("headers", {"type": "boolean"}, "Whether to add headers and timestamps"),
)
_INSTANCE: Final = "/consumers/{group_name}/instances/{instance}"


def _records_endpoint() -> Endpoint:
    base: dict[str, Any] = {"parameters": _READ_QUERY, "response_types": (*V2_EMBEDDED, V2)}
    return control(f"{_INSTANCE}/records", "GET", read_records, {200: _RECORDS}, 404, 409, **base)


ENDPOINTS: Final = (
    control(
        "/consumers/{group_name}",
        "POST",
        create_consumer,
        {200: _CREATED},
        409,
        request=_CREATE,
        request_required=False,
        request_types=(V2, V1),
    ),
    control(_INSTANCE, "DELETE", delete_consumer, {204: None}, 404),
    control(
        f"{_INSTANCE}/subscription", "POST", subscribe, {204: None}, 404, 409, request=_SUBSCRIBE
    ),
    control(f"{_INSTANCE}/subscription", "GET", get_subscription, {200: _SUBSCRIBED}, 404),
    control(f"{_INSTANCE}/subscription", "DELETE", unsubscribe, {204: None}, 404),
    control(f"{_INSTANCE}/assignments", "POST", assign, {204: None}, 404, 409, request=PARTITIONS),
    control(f"{_INSTANCE}/assignments", "GET", get_assignments, {200: PARTITIONS}, 404),
    _records_endpoint(),
)
