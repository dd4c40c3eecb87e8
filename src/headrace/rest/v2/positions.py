"""Offsets of consumer instances: commit, look up, seek.

An empty commit is for everything that was read. Positions are given as offsets, as times, or as
one of the ends of a partition.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from headrace.rest import errors
from headrace.rest.answers import answer, no_content, proxy_of, query_flag
from headrace.rest.bodies import decode, read, read_body
from headrace.rest.consumers.instance import ConsumerInstance, Place
from headrace.rest.consumers.routing import owned
from headrace.rest.media_types import V1, V2, content_type
from headrace.rest.names import Metadata, TopicName
from headrace.rest.openapi import Parameter
from headrace.rest.v2.consumers import Assignments
from headrace.rest.v2.schemas import OFFSETS, PARTITIONS, control

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.rest.consumers.manager import Handle

_BEGINNING: Final = -2
_END: Final = -1
_Offset = Annotated[int, msgspec.Meta(ge=0, lt=(1 << 63) - 1)]
_Partition = Annotated[int, msgspec.Meta(ge=0, le=0x7FFFFFFF)]


class PartitionOffset(msgspec.Struct, forbid_unknown_fields=True):
    topic: TopicName
    partition: _Partition
    offset: _Offset
    metadata: Metadata | None = None


class Offsets(msgspec.Struct, forbid_unknown_fields=True):
    offsets: list[PartitionOffset]


class PartitionTimestamp(msgspec.Struct, forbid_unknown_fields=True):
    topic: TopicName
    partition: _Partition
    timestamp: int | str


class Positions(msgspec.Struct, forbid_unknown_fields=True):
    offsets: list[PartitionOffset] = []
    timestamps: list[PartitionTimestamp] = []


class ConsumedAndCommitted(msgspec.Struct):
    """What version 1 answers to a commit."""

    topic: str
    partition: int
    consumed: int
    committed: int


_offsets = msgspec.json.Decoder(Offsets, strict=False)
_positions = msgspec.json.Decoder(Positions, strict=False)
_partitions = msgspec.json.Decoder(Assignments, strict=False)


@owned
async def commit_offsets(request: Request, handle: Handle) -> Response:
    """Commit offsets, or without a body all that was read."""
    content_type(request)
    proxy = proxy_of(request)
    wait = not query_flag(request, "async")
    body = await read_body(request, proxy.settings)
    places = None
    if body.strip() not in (b"", b"null", b"{}"):
        places = [_place(each) for each in decode(_offsets, body).offsets]
    done = await proxy.consumers.use(handle, lambda each: each.commit(places, wait=wait))
    if handle.options.version == 1:
        # An offset of version 1 is that of the last record, not of the one to come.
        told = [
            ConsumedAndCommitted(topic, partition, offset - 1, offset - 1)
            for (topic, partition), offset in sorted(done.items())
        ]
        return answer(request, told)
    return answer(request, [])


def _place(asked: PartitionOffset) -> Place:
    # A client names the record that it has finished; the group goes on with the one after it.
    return Place(asked.topic, asked.partition, asked.offset + 1, asked.metadata)


@owned
async def get_committed(request: Request, handle: Handle) -> Response:
    """The committed offsets of partitions."""
    content_type(request)
    proxy = proxy_of(request)
    body = await read_body(request, proxy.settings)
    if not body.strip():
        raise errors.partition_not_found()
    wanted = [(each.topic, each.partition) for each in decode(_partitions, body).partitions]
    found = await proxy.consumers.use(handle, lambda each: each.committed(wanted))
    return answer(
        request, Offsets([PartitionOffset(*place[:3], place.metadata or "") for place in found])
    )


@owned
async def seek(request: Request, handle: Handle) -> Response:
    """Go to offsets, or to the first records at or after times."""
    content_type(request)
    proxy = proxy_of(request)
    asked = await read(request, proxy.settings, _positions)
    places = [Place(each.topic, each.partition, each.offset) for each in asked.offsets]
    times = [(each.topic, each.partition, _milliseconds(each)) for each in asked.timestamps]

    def go(instance: ConsumerInstance) -> None:
        instance.seek(places)
        instance.seek_to_times(times)

    await proxy.consumers.use(handle, go)
    return no_content()


def _milliseconds(asked: PartitionTimestamp) -> int:
    if isinstance(asked.timestamp, int):
        return max(asked.timestamp, 0)
    try:
        moment = datetime.fromisoformat(asked.timestamp)
        return max(int(moment.timestamp() * 1000), 0)
    except (ValueError, OverflowError):
        raise errors.invalid_field(
            f"timestamp {asked.timestamp!r}: milliseconds or 2026-01-31T12:00:00Z are needed"
        ) from None


@owned
async def seek_to_beginning(request: Request, handle: Handle) -> Response:
    """Go to the first records of partitions."""
    return await _seek_to(request, handle, _BEGINNING)


@owned
async def seek_to_end(request: Request, handle: Handle) -> Response:
    """Go behind the last records of partitions."""
    return await _seek_to(request, handle, _END)


async def _seek_to(request: Request, handle: Handle, offset: int) -> Response:
    content_type(request)
    proxy = proxy_of(request)
    asked = await read(request, proxy.settings, _partitions)
    places = [Place(each.topic, each.partition, offset) for each in asked.partitions]
    await proxy.consumers.use(handle, lambda each: each.seek(places))
    return no_content()


_INSTANCE: Final = "/consumers/{group_name}/instances/{instance}"
_OFFSETS: Final = {
    "type": "object",
    "required": ["offsets"],
    "additionalProperties": False,
    "properties": {"offsets": OFFSETS},
}
_POSITIONS: Final = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "offsets": OFFSETS,
        "timestamps": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["topic", "partition", "timestamp"],
                "additionalProperties": False,
                "properties": {
                    "topic": {"type": "string"},
                    "partition": {"type": "integer", "minimum": 0},
                    "timestamp": {"type": ["integer", "string"]},
                },
            },
        },
    },
}

ENDPOINTS: Final = (
    control(
        f"{_INSTANCE}/offsets",
        "POST",
        commit_offsets,
        {200: {"type": "array"}},
        404,
        request=_OFFSETS,
        request_required=False,
        request_types=(V2, V1),
        parameters=(Parameter("async", {"type": "boolean"}, "Whether not to wait for Kafka"),),
    ),
    control(f"{_INSTANCE}/offsets", "GET", get_committed, {200: _OFFSETS}, 404, request=PARTITIONS),
    control(f"{_INSTANCE}/positions", "POST", seek, {204: None}, 404, 409, request=_POSITIONS),
    control(
        f"{_INSTANCE}/positions/beginning",
        "POST",
        seek_to_beginning,
        {204: None},
        404,
        409,
        request=PARTITIONS,
    ),
    control(
        f"{_INSTANCE}/positions/end",
        "POST",
        seek_to_end,
        {204: None},
        404,
        409,
        request=PARTITIONS,
    ),
)
