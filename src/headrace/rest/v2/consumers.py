"""/consumers: create and delete instances, subscribe, assign, read records.

Version 1 creates its instances here too, told by the media type of the body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import quote

import msgspec
from starlette.responses import Response

from headrace.http.endpoint import Int64, Query
from headrace.http.negotiation import negotiated
from headrace.rest import errors
from headrace.rest.call import Call
from headrace.rest.consumers.manager import Name
from headrace.rest.consumers.options import CreateConsumerRequest, read_options
from headrace.rest.consumers.routing import owned
from headrace.rest.formats import ConsumedRecord
from headrace.rest.media_types import (
    ANSWERS,
    V2,
    V2_EMBEDDED,
    EmbeddedFormat,
    parse_kafka_type,
)
from headrace.rest.names import TopicName, TopicPattern, is_group_name
from headrace.rest.peers import FORWARDED
from headrace.rest.tables import v2_table
from headrace.security.users import Role

if TYPE_CHECKING:
    from headrace.rest.consumers.instance import ConsumerInstance
    from headrace.rest.consumers.manager import Handle

INSTANCE: Final = "/consumers/{group_name}/instances/{instance}"
# To read takes an instance of one's own, so a reader may do with it what it likes.
table: Final = v2_table(tag="Consumers (v2)", writer=Role.READ_ONLY, errors=(404, 409, 422))


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


class Subscribed(msgspec.Struct):
    topics: list[str]


@table.post(
    "/consumers/{group_name}",
    "Create a consumer instance in a group",
    body=CreateConsumerRequest,
    needs_body=False,
    reply=CreatedConsumer,
)
async def create_consumer(call: Call) -> CreatedConsumer:
    proxy, group, user = call.proxy, call.path("group_name"), call.user_name
    if not is_group_name(group):
        raise errors.invalid_consumer_config(f"the group {group!r} is not a name that Kafka takes")
    kind = parse_kafka_type(call.body_type)
    asked = call.body or CreateConsumerRequest()
    options = read_options(asked, kind.version if kind is not None else 2, proxy.settings)
    if options.name is not None and proxy.peers.others and FORWARDED not in call.headers:
        path = f"/consumers/{quote(group, '')}/instances/{quote(options.name, '')}/subscription"
        name = Name(user, group, options.name)
        reply = await proxy.peers.ask_owner(name, "GET", path, headers=call.headers)
        if reply is not None and 200 <= reply.status < 300:
            raise errors.consumer_already_exists()
    name = (await proxy.consumers.create(user, group, options)).name
    return CreatedConsumer(name.instance, _base_uri(call, group, name.instance))


def _base_uri(call: Call, group: str, name: str) -> str:
    """Where the client finds its instance: at `host.name`, else at the name it called."""
    settings = call.proxy.settings
    root = str(call.request.base_url).rstrip("/")
    if settings.host_name:
        scheme, (_, port) = call.request.scope["scheme"], call.request.scope["server"]
        root = f"{scheme}://{settings.host_name}:{port}"
    return f"{root}/consumers/{quote(group, '')}/instances/{quote(name, '')}"


@table.delete(INSTANCE, "Delete a consumer instance; it leaves its group", status=204)
@owned
async def delete_consumer(call: Call, handle: Handle) -> None:
    await call.proxy.consumers.delete(handle)


@table.post(
    f"{INSTANCE}/subscription",
    "Subscribe to topics, or to all whose names match a pattern",
    body=Subscription,
    status=204,
)
@owned
async def subscribe(call: Call, handle: Handle) -> None:
    topics, pattern = call.body.topics, call.body.topic_pattern
    if (topics is None) == (pattern is None):
        raise errors.invalid_field("Either topics or topic_pattern is needed, and not both")

    def subscribe_to(instance: ConsumerInstance) -> None:
        if pattern is not None:
            instance.subscribe_pattern(pattern)
        elif topics:
            instance.subscribe(topics)
        else:
            instance.unsubscribe()

    await call.proxy.consumers.use(handle, subscribe_to)


@table.get(
    f"{INSTANCE}/subscription", "The topics that an instance is subscribed to", reply=Subscribed
)
@owned
async def get_subscription(call: Call, handle: Handle) -> Subscribed:
    return Subscribed(await call.proxy.consumers.use(handle, lambda each: each.subscription()))


@table.delete(f"{INSTANCE}/subscription", "End the subscription, or the assignment", status=204)
@owned
async def unsubscribe(call: Call, handle: Handle) -> None:
    await call.proxy.consumers.use(handle, lambda each: each.unsubscribe())


@table.post(
    f"{INSTANCE}/assignments",
    "Read these partitions, without the group's coordination",
    body=Assignments,
    status=204,
)
@owned
async def assign(call: Call, handle: Handle) -> None:
    wanted = [(each.topic, each.partition) for each in call.body.partitions]
    await call.proxy.consumers.use(handle, lambda each: each.assign(wanted))


@table.get(
    f"{INSTANCE}/assignments", "The partitions that an instance reads now", reply=Assignments
)
@owned
async def get_assignments(call: Call, handle: Handle) -> Assignments:
    found = await call.proxy.consumers.use(handle, lambda each: each.assignment())
    return Assignments([TopicPartition(*each) for each in found])


@table.get(
    f"{INSTANCE}/records",
    "Read records as they come",
    query=(
        Query("timeout", Int64, "How long to wait for records, in milliseconds", default=-1),
        Query("max_bytes", Int64, "How many bytes of keys and values to return", default=-1),
        Query("headers", bool, "Whether to add headers and timestamps", default=False),
    ),
    reply=list[ConsumedRecord],
)
@owned
async def read_records(call: Call, handle: Handle) -> Response:
    proxy, options = call.proxy, handle.options
    media_type = _media_type(call.headers.get("accept", ""), options.format)
    timeout_ms, max_bytes = call.query("timeout"), call.query("max_bytes")
    with_headers = call.query("headers")
    most = proxy.settings.consumer_request_max_bytes
    limit = min(max_bytes, most) if max_bytes > 0 else most
    wait_ms = options.request_timeout_ms
    if timeout_ms > 0:
        wait_ms = min(timeout_ms, wait_ms)
    # Encoded where it was read: a large answer must not hold up the other requests.
    body = await proxy.consumers.use(
        handle,
        lambda each: msgspec.json.encode(each.read(wait_ms, limit, with_headers=with_headers)),
    )
    return Response(body, media_type=media_type)


def _media_type(accept: str, embedded: EmbeddedFormat) -> str:
    """The type of the records; 40601 if the client asks for another format."""
    own = f"application/vnd.kafka.{embedded}.v2+json"
    others = tuple(each for each in V2_EMBEDDED if each != own)
    chosen = negotiated(accept, (own, V2, *others, *ANSWERS))
    assert chosen is not None, "the endpoint gives no others"
    kind = parse_kafka_type(chosen)
    # Without a format version 2 means binary.
    asked = None if kind is None else kind.format or EmbeddedFormat.BINARY
    if asked not in (None, embedded):
        raise errors.consumer_format_mismatch()
    return chosen
