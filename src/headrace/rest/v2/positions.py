"""CommittedOffsets of consumer instances: commit, look up, seek.

An empty commit is for everything that was read. Positions are given as offsets, as times, or as
one of the ends of a partition.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import UNSET, UnsetType

from headrace.http.endpoint import Query
from headrace.rest import errors
from headrace.rest.call import Call
from headrace.rest.consumers.instance import ConsumerInstance, Place
from headrace.rest.consumers.routing import owned
from headrace.rest.names import Metadata, TopicName
from headrace.rest.tables import v2_table
from headrace.rest.v2.consumers import INSTANCE, Assignments
from headrace.security.users import Role

if TYPE_CHECKING:
    from headrace.rest.consumers.manager import Handle

table: Final = v2_table(tag="Consumers (v2)", writer=Role.READ_ONLY, errors=(404, 409, 422))

_BEGINNING: Final = -2
_END: Final = -1
_Offset = Annotated[int, msgspec.Meta(ge=0, lt=(1 << 63) - 1)]
_Partition = Annotated[int, msgspec.Meta(ge=0, le=0x7FFFFFFF)]


class PartitionOffset(msgspec.Struct, forbid_unknown_fields=True):
    topic: TopicName
    partition: _Partition
    offset: _Offset
    metadata: Metadata | None = None


class CommittedOffsets(msgspec.Struct, forbid_unknown_fields=True):
    offsets: list[PartitionOffset]


class Commit(msgspec.Struct, forbid_unknown_fields=True):
    offsets: list[PartitionOffset] | UnsetType = UNSET


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


@table.post(
    f"{INSTANCE}/offsets",
    "Commit offsets, or without a body all that was read",
    query=(Query("async", bool, "Whether not to wait for Kafka", default=False),),
    body=Commit | None,
    needs_body=False,
    reply=list[ConsumedAndCommitted],
)
@owned
async def commit_offsets(call: Call, handle: Handle) -> list[ConsumedAndCommitted]:
    wait = not call.query("async")
    asked: Commit | None = call.body
    places = None
    if asked is not None and asked.offsets is not UNSET:
        places = [_place(each) for each in asked.offsets]
    done = await call.proxy.consumers.use(handle, lambda each: each.commit(places, wait=wait))
    if handle.options.version != 1:
        return []
    # An offset of version 1 is that of the last record, not of the one to come.
    return [
        ConsumedAndCommitted(topic, partition, offset - 1, offset - 1)
        for (topic, partition), offset in sorted(done.items())
    ]


def _place(asked: PartitionOffset) -> Place:
    # A client names the record that it has finished; the group goes on with the one after it.
    return Place(asked.topic, asked.partition, asked.offset + 1, asked.metadata)


@table.get(
    f"{INSTANCE}/offsets",
    "The committed offsets of partitions",
    body=Assignments,
    needs_body=False,
    reply=CommittedOffsets,
)
@owned
async def get_committed(call: Call, handle: Handle) -> CommittedOffsets:
    if call.body is None:
        raise errors.partition_not_found()
    wanted = [(each.topic, each.partition) for each in call.body.partitions]
    found = await call.proxy.consumers.use(handle, lambda each: each.committed(wanted))
    return CommittedOffsets([PartitionOffset(*place[:3], place.metadata or "") for place in found])


@table.post(
    f"{INSTANCE}/positions",
    "Go to offsets, or to the first records at or after times",
    body=Positions,
    status=204,
)
@owned
async def seek(call: Call, handle: Handle) -> None:
    asked: Positions = call.body
    places = [Place(each.topic, each.partition, each.offset) for each in asked.offsets]
    times = [(each.topic, each.partition, _milliseconds(each)) for each in asked.timestamps]

    def go(instance: ConsumerInstance) -> None:
        instance.seek(places)
        instance.seek_to_times(times)

    await call.proxy.consumers.use(handle, go)


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


@table.post(
    f"{INSTANCE}/positions/beginning",
    "Go to the first records of partitions",
    body=Assignments,
    status=204,
)
@owned
async def seek_to_beginning(call: Call, handle: Handle) -> None:
    await _seek_to(call, handle, _BEGINNING)


@table.post(
    f"{INSTANCE}/positions/end",
    "Go behind the last records of partitions",
    body=Assignments,
    status=204,
)
@owned
async def seek_to_end(call: Call, handle: Handle) -> None:
    await _seek_to(call, handle, _END)


async def _seek_to(call: Call, handle: Handle, offset: int) -> None:
    places = [Place(each.topic, each.partition, offset) for each in call.body.partitions]
    await call.proxy.consumers.use(handle, lambda each: each.seek(places))
