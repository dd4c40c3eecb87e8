"""A produce like the last one, with other records: one topic, one partition, no transaction.

The first one is decoded; what it asks for is kept here together with its answer, encoded once, into
which each later one stamps its numbers. What is not as simple is declined before anything has
happened: the handler of Produce then decides, and says why.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from headrace.broker.net.call import LATER, Later
from headrace.errors import ClientFault
from headrace.log import Heavy, Records
from headrace.records.batch import ATTRIBUTES_AT, CODEC_MASK
from headrace.types import ZERO_UUID
from headrace.wire.header import encode_response
from headrace.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

if TYPE_CHECKING:
    from uuid import UUID

    from headrace.broker.storage.storage import Storage
    from headrace.cluster.image import ClusterImage
    from headrace.log.append import Appended
    from headrace.replica.partition import Partition
    from headrace.runtime.clock import Clock

Park = Callable[["Partition", "Appended", int], None]
"""Answer when the write is committed: (partition, what was appended, correlation id)."""
Stamp = Callable[[int, int, int, int], bytes]
"""The answer as a frame: (correlation id, base offset, append time, log start offset)."""

SINCE: Final = 7
"""The first version that takes every codec and is answered with the log start offset."""
_FLEXIBLE_SINCE: Final = 9
_NO_TAGS: Final = b"\0\0\0"  # of the partition, the topic and the request
_LENGTH: Final = Struct(">i")
_MOST_BYTES: Final = 1 << 16
_RESPONSE_HEAD: Final = 8
# Numbers that no frame has by chance. Where they stand in an encoded answer, others are stamped.
_MARKS: Final = (0x6B1F93D258A7C40E, 0x35E807BCD9164FA2, 0x7A40C1E52F8B639D)
_MARKED: Final = Struct(">qqq").pack(*_MARKS)


class Place(NamedTuple):
    """Where a request writes to; the id is zero where it names the topic."""

    topic: str
    topic_id: UUID
    partition: int
    acks: int


class RepeatedWrite:
    """See the module."""

    __slots__ = (
        "_api",
        "_clock",
        "_image",
        "_is_flexible",
        "_length_at",
        "_park",
        "_place",
        "_stamp",
        "_storage",
    )

    def __init__(
        self,
        first: bytes,
        length_at: int,
        place: Place,
        storage: Storage,
        image: ClusterImage,
        clock: Clock,
        park: Park,
    ) -> None:
        version = int.from_bytes(first[2:4])
        self._api = first[:4]
        self._length_at = length_at
        self._is_flexible = version >= _FLEXIBLE_SINCE
        self._place = place
        self._storage = storage
        self._image = image
        self._clock = clock
        self._park = park
        self._stamp = _stamp_of(version, place)

    def answer(self, frame: bytes, correlation_id: int) -> bytes | Later | None:
        records = self._records(frame)
        topic, topic_id, index, acks = self._place
        if records is None or (
            topic_id is not ZERO_UUID and self._image.topic_names.get(topic_id) != topic
        ):
            return None
        storage = self._storage
        try:
            partition = storage.find_leader(topic, index)
            appended = partition.append(
                records, acks=acks, now_ms=self._clock.now_ms(), records=Records.UNLESS_HEAVY
            )
        except (ClientFault, Heavy, OSError):
            return None
        storage.traffic_of(topic).produce_requests += 1
        if appended.flush_due or appended.rolled:
            storage.flush(partition)
        if not partition.is_acknowledged(appended.last_offset + 1, acks=acks):
            self._park(partition, appended, correlation_id)
            return LATER
        return self._stamp(
            correlation_id,
            appended.base_offset,
            appended.log_append_time_ms,
            appended.log_start_offset,
        )

    def _records(self, frame: bytes) -> memoryview | None:
        """The batch of a frame that is as the first one up to its length; None: it is another."""
        at = self._length_at
        end = len(frame)
        if frame[:4] != self._api or end < at + 4:
            return None
        if self._is_flexible:
            end -= len(_NO_TAGS)
            start, length = _compact_length(frame, at)
            if frame[end:] != _NO_TAGS:
                return None
        else:
            start = at + 4
            (length,) = _LENGTH.unpack_from(frame, at)
        if start + length != end or length <= ATTRIBUTES_AT:
            return None
        records = memoryview(frame)[start:end]
        # A transaction, or what only brokers may write.
        return None if records[ATTRIBUTES_AT] & ~CODEC_MASK else records


def length_place(frame: bytes, request: ProduceRequest, version: int) -> int | None:
    """Where the length of the records stands in a request that may be repeated; None: in none."""
    if len(frame) > _MOST_BYTES or version < SINCE:
        return None
    records = request.topic_data[0].partition_data[0].records
    assert records is not None, "they were appended"
    if version >= _FLEXIBLE_SINCE:
        end = len(frame) - len(_NO_TAGS)
        at = end - len(records) - _compact_size(len(records) + 1)
        is_plain = frame.endswith(_NO_TAGS) and _compact_length(frame, at) == (
            end - len(records),
            len(records),
        )
    else:
        end = len(frame)
        at = end - len(records) - 4
        is_plain = _LENGTH.unpack_from(frame, at) == (len(records),)
    return at if is_plain and records == frame[end - len(records) : end] else None


def _compact_length(frame: bytes, at: int) -> tuple[int, int]:
    """Where bytes with a compact length begin, and how many they are."""
    length = shift = 0
    while True:
        byte = frame[at]
        at += 1
        length |= (byte & 0x7F) << shift
        if byte < 0x80 or shift >= 14:
            return at, length - 1
        shift += 7


def _compact_size(number: int) -> int:
    return 1 if number < 1 << 7 else 2 if number < 1 << 14 else 3


def _stamp_of(version: int, place: Place) -> Stamp:
    answer = PartitionProduceResponse(
        index=place.partition,
        error_code=0,
        base_offset=_MARKS[0],
        log_append_time_ms=_MARKS[1],
        log_start_offset=_MARKS[2],
    )
    named = place.topic if place.topic_id is ZERO_UUID else ""
    topic = TopicProduceResponse(name=named, topic_id=place.topic_id, partition_responses=[answer])
    frame = b"".join(encode_response(0, version, ProduceResponse(responses=[topic])))
    at = frame.index(_MARKED)
    head, tail = frame[_RESPONSE_HEAD:at], frame[at + len(_MARKED) :]
    size = len(frame) - 4
    pack = Struct(f">ii{len(head)}sqqq{len(tail)}s").pack

    def stamp(correlation_id: int, base_offset: int, time_ms: int, start_offset: int) -> bytes:
        return pack(size, correlation_id, head, base_offset, time_ms, start_offset, tail)

    return stamp
