"""What consumers of a classic group tell each other through the broker: wishes and assignments.

    OFFSET  SIZE  TYPE   FIELD
         0     2  int16  version
         2     n         fields, see below; never flexible

To a classic group these are bytes. They are read where a broker must know what a member of protocol
type `consumer` wants: in groups that hold members of both protocols, to protect the offsets of
topics in use, and to describe a group. New versions only ever add fields at the end, so what is
newer than the newest one known is read as that, and the rest is left alone.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, TypeVar

from headrace.types import Buffer
from headrace.wire import MalformedMessage, decoder, encode_bytes
from headrace.wire.schema import data, info, struct, v
from headrace.wire.types import Int32

PROTOCOL_TYPE: Final = "consumer"

_VERSION: Final = Struct(">h")

T = TypeVar("T")


@struct
class TopicPartitions:
    topic: str
    partitions: list[Int32]


@data(versions="0-3")
class ConsumerProtocolSubscription:
    """What a member wants, and what it has."""

    topics: list[str]
    user_data: bytes | None = v(default=None)
    owned_partitions: list[TopicPartitions] = v(1, default=[], ignorable=True)
    generation_id: Int32 = v(2, default=-1, ignorable=True)
    rack_id: str | None = v(3, default=None, ignorable=True)


@data(versions="0-3")
class ConsumerProtocolAssignment:
    """What a member gets."""

    assigned_partitions: list[TopicPartitions]
    user_data: bytes | None = v(default=None)


def encode_subscription(subscription: ConsumerProtocolSubscription, version: int) -> bytes:
    """The metadata that a member sends with JoinGroup."""
    return _VERSION.pack(version) + encode_bytes(subscription, version)


def encode_assignment(assignment: ConsumerProtocolAssignment, version: int) -> bytes:
    """The assignment that a member receives with SyncGroup."""
    return _VERSION.pack(version) + encode_bytes(assignment, version)


def version_of(buf: Buffer) -> int:
    """The version that a subscription or assignment was written in, known here or not."""
    if len(buf) < _VERSION.size:
        raise MalformedMessage("ConsumerProtocol", None, "it has no version")
    (version,) = _VERSION.unpack_from(buf)
    return int(version)


def decode_subscription(buf: Buffer) -> ConsumerProtocolSubscription:
    """What a member wants; MalformedMessage if the bytes say nothing of that kind."""
    return _decode(ConsumerProtocolSubscription, bytes(buf))


def decode_assignment(buf: Buffer) -> ConsumerProtocolAssignment:
    """What a member got; MalformedMessage if the bytes say nothing of that kind."""
    return _decode(ConsumerProtocolAssignment, bytes(buf))


def subscribed_topics(metadata: Buffer) -> frozenset[str] | None:
    """The topics that a member wants, all that most decisions need; None if this is unreadable.

    They stand at the beginning of every version, so it does not matter if the rest is damaged.
    """
    buf = bytes(metadata)
    try:
        version_of(buf)
        subscription, _ = decoder(ConsumerProtocolSubscription, 0)(
            buf, _VERSION.size, memoryview(buf)
        )
    except MalformedMessage:
        return None
    return frozenset(subscription.topics)


def _decode(cls: type[T], buf: bytes) -> T:
    version = version_of(buf)
    if version < 0:
        raise MalformedMessage(info(cls).name, version, "versions are not negative")
    message: T
    known = min(version, info(cls).versions[-1])
    message, _ = decoder(cls, known)(buf, _VERSION.size, memoryview(buf))
    return message
