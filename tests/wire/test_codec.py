"""Encoders and decoders of every wire type, in legacy and flexible versions."""

from __future__ import annotations

import tracemalloc
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import ClientFault, Error
from headrace.wire import (
    MalformedMessage,
    UnencodableMessage,
    decode,
    decoder,
    encode,
    encode_bytes,
)
from headrace.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from headrace.wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest
from headrace.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from headrace.wire.messages.list_offsets import ListOffsetsRequest
from headrace.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from headrace.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from headrace.wire.primitives import MAX_REQUEST_ITEMS
from headrace.wire.types import Kept
from tests.conformance.message_strategies import messages
from tests.generated import examples
from tests.wire.samples import EverythingRequest, Inner, SmallResponse


@pytest.mark.parametrize("version", range(4))
def test_every_type_round_trips(version: int) -> None:
    """All wire types, alone and in arrays, null and not, read back as they were written."""

    @settings(max_examples=examples(40), deadline=None, database=None)
    @given(messages(EverythingRequest, version))
    def check(message: EverythingRequest) -> None:
        data = encode_bytes(message, version)
        again = decode(EverythingRequest, version, data)
        # A tagged struct that equals its defaults is left out, and None stands for that.
        if message.tag_inner == Inner():
            message.tag_inner = None
        assert again == message
        assert decode(EverythingRequest, version, bytearray(data)) == message

    check()


def test_long_arrays_and_strings() -> None:
    """Counts and lengths beyond one varint byte, of structs and of text, survive."""
    message = SmallResponse(
        message="m" * 5000, inners=[Inner(label="x" * (n % 300), number=n) for n in range(1000)]
    )
    for version in (1, 2):
        message.inners[0].since_two = -1
        assert decode(SmallResponse, version, encode_bytes(message, version)) == message


def test_absent_fields_have_their_defaults() -> None:
    """A reader of an old version finds the defaults of all that came later."""
    message = decode(FetchRequest, 4, bytes(21))
    assert (message.session_id, message.session_epoch, message.rack_id) == (0, -1, "")
    assert message.cluster_id is None
    assert message.forgotten_topics_data == []
    assert message.unknown_tags is None  # type: ignore[attr-defined]


def test_default_lists_are_not_shared() -> None:
    """Two messages never share the list that stands for an absent array."""
    first, second = decode(FetchRequest, 4, bytes(21)), decode(FetchRequest, 4, bytes(21))
    first.topics.append(FetchTopic(partitions=[]))
    assert first.forgotten_topics_data is not second.forgotten_topics_data
    assert second.topics == []


def test_records_are_views_of_the_frame() -> None:
    """Records are handed out as a slice of the received memory, without a copy."""
    request = ProduceRequest(
        acks=1,
        timeout_ms=1,
        topic_data=[
            TopicProduceData(
                name="t",
                partition_data=[PartitionProduceData(index=0, records=memoryview(b"batch"))],
            )
        ],
    )
    frame = bytearray(encode_bytes(request, 9))
    records = decode(ProduceRequest, 9, frame).topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records.obj is frame
    assert bytes(records) == b"batch"


def test_records_are_chunks_of_their_own() -> None:
    """An encoder hands records on as the very object it was given; empty ones make no chunk."""
    batches = memoryview(b"r" * 1000)

    def partition(index: int, records: memoryview | None) -> PartitionData:
        return PartitionData(partition_index=index, error_code=0, high_watermark=9, records=records)

    response = FetchResponse(
        responses=[
            FetchableTopicResponse(
                topic="t",
                partitions=[
                    partition(0, batches),
                    partition(1, memoryview(b"")),
                    partition(2, None),
                    partition(3, batches),
                ],
            )
        ]
    )
    for version in (4, 11, 12, 16):
        chunks = encode(response, version)
        assert [chunk is batches for chunk in chunks][:4] == [False, True, False, True]
        assert len(chunks) == (5 if version >= 12 else 4)
        again = decode(FetchResponse, version, b"".join(chunks))
        read = [partition.records for partition in again.responses[0].partitions]
        assert read == [batches, b"", None, batches]


def test_unknown_tags_are_kept_and_sent_on() -> None:
    """KIP-482: fields of a newer peer pass through, at every level."""
    inner: Any = Inner(label="a")
    inner.unknown_tags = {7: b"inner"}
    message: Any = SmallResponse(inners=[inner])
    message.unknown_tags = {3: b"", 1000: b"outer"}
    data = encode_bytes(message, 2)
    again: Any = decode(SmallResponse, 2, data)
    assert again.unknown_tags == {3: b"", 1000: b"outer"}
    assert again.inners[0].unknown_tags == {7: b"inner"}
    assert again == message
    assert encode_bytes(again, 2) == data


def test_unknown_tags_beside_known_ones() -> None:
    """A message with tagged fields of its own keeps those that it does not know."""
    message: Any = ApiVersionsResponse(error_code=0, api_keys=[], finalized_features_epoch=5)
    message.unknown_tags = {9: b"later"}
    data = encode_bytes(message, 3)
    again: Any = decode(ApiVersionsResponse, 3, data)
    assert (again.finalized_features_epoch, again.unknown_tags) == (5, {9: b"later"})
    assert encode_bytes(again, 3) == data


def test_more_unknown_tags_than_one_byte_counts() -> None:
    """The count of a tag buffer is a varint too."""
    message: Any = SmallResponse()
    message.unknown_tags = {tag: b"x" * tag for tag in range(300)}
    again: Any = decode(SmallResponse, 2, encode_bytes(message, 2))
    assert again.unknown_tags == message.unknown_tags


def test_legacy_versions_cannot_carry_unknown_tags() -> None:
    """A version without tag buffers drops what it has no room for."""
    message: Any = SmallResponse()
    message.unknown_tags = {1: b"x"}
    assert encode_bytes(message, 1) == encode_bytes(SmallResponse(), 1)


def test_tagged_fields_at_their_default_are_left_out() -> None:
    """Only what differs from its default is written, structs compared by value."""
    partition = PartitionData(partition_index=0, error_code=0, high_watermark=1, records=None)
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])
    bare = encode_bytes(response, 12)
    partition.diverging_epoch = EpochEndOffset()
    assert encode_bytes(response, 12) == bare
    partition.diverging_epoch = EpochEndOffset(epoch=3, end_offset=9)
    tagged = encode_bytes(response, 12)
    assert len(tagged) == len(bare) + 2 + 13
    again = decode(FetchResponse, 12, tagged).responses[0].partitions[0]
    assert again.diverging_epoch == EpochEndOffset(epoch=3, end_offset=9)
    assert again.current_leader is None


def test_tagged_field_of_the_wrong_size_is_refused() -> None:
    """A tagged field must end where its size says."""
    # error code, no keys, throttle time, one tag: 1, nine bytes announced for an int64
    data = b"\0\0" + b"\1" + b"\0\0\0\0" + b"\1" + b"\1\x09" + bytes(9)
    with pytest.raises(MalformedMessage, match="finalized_features_epoch"):
        decode(ApiVersionsResponse, 3, data)


def test_nullable_struct() -> None:
    """A nullable struct is led by -1 or 1 (KIP-893)."""
    without = encode_bytes(DescribeTopicPartitionsRequest(topics=[]), 0)
    assert without == b"\1" + (2000).to_bytes(4, "big") + b"\xff" + b"\0"
    cursor = Cursor(topic_name="t", partition_index=5)
    request = DescribeTopicPartitionsRequest(topics=[], cursor=cursor)
    data = encode_bytes(request, 0)
    assert data == b"\1" + (2000).to_bytes(4, "big") + b"\1\2t\0\0\0\5\0" + b"\0"
    assert decode(DescribeTopicPartitionsRequest, 0, data).cursor == cursor


def test_metadata_null_and_empty_topics() -> None:
    """Null topics exist from v1 on; in v0 a null count is refused."""
    assert decode(MetadataRequest, 1, b"\xff\xff\xff\xff").topics is None
    assert decode(MetadataRequest, 0, b"\0\0\0\0").topics == []
    with pytest.raises(MalformedMessage, match="topics"):
        decode(MetadataRequest, 0, b"\xff\xff\xff\xff")


def test_uuid_is_big_endian() -> None:
    """A topic id is sixteen bytes in the order in which it is printed."""
    topic_id = UUID("00112233-4455-6677-8899-aabbccddeeff")
    request = FetchRequest(
        max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic_id=topic_id, partitions=[])]
    )
    data = encode_bytes(request, 13)
    assert bytes.fromhex("00112233445566778899aabbccddeeff") in data
    assert decode(FetchRequest, 13, data).topics[0].topic_id == topic_id


# -- what cannot be encoded ---------------------------------------------------------------------


def test_responses_drop_what_the_version_cannot_carry() -> None:
    """A handler fills one answer for all versions; old ones are written without the new fields."""
    full = SmallResponse(error_code=3, message="why", inners=[Inner(since_two=4)])
    again = decode(SmallResponse, 0, encode_bytes(full, 0))
    assert (again.error_code, again.message, again.inners[0].since_two) == (3, None, -1)


def test_requests_refuse_to_lose_a_meaning() -> None:
    """read_committed cannot be asked for in ListOffsets v1, so such a request is not sent."""
    request = ListOffsetsRequest(replica_id=-1, isolation_level=1, topics=[])
    assert encode_bytes(request, 2)
    with pytest.raises(UnencodableMessage, match=r"ListOffsetsRequest v1.* isolation_level"):
        encode_bytes(request, 1)


def test_requests_may_lose_what_is_ignorable() -> None:
    """Topic name and topic id may both be set; each version carries the one that it knows."""
    topic = FetchTopic(topic="t", topic_id=UUID(int=5), partitions=[])
    request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[topic])
    assert decode(FetchRequest, 12, encode_bytes(request, 12)).topics[0].topic == "t"
    assert decode(FetchRequest, 13, encode_bytes(request, 13)).topics[0].topic_id.int == 5


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"message": None, "error_code": None}, r"SmallResponse\.error_code is None"),
        ({"error_code": 40000}, r"error_code is 40000, not int16"),
        ({"message": 5}, r"message is 5, not a string"),
        ({"message": "x" * 32768}, r"message is longer than the 32767 bytes"),
        ({"inners": None}, r"inners is None"),
        ({"inners": 3}, r"inners is 3, not a list"),
        ({"inners": [Inner(), None]}, r"inners\[1\] is None, not Inner"),
        ({"inners": [Inner(label=None)]}, r"inners\[0\]\.label is None"),  # type: ignore[arg-type]
        ({"records": 3}, r"records is 3, not records"),
    ],
)
@pytest.mark.parametrize("version", [1, 3])
def test_bad_values_are_named(version: int, change: dict[str, Any], complaint: str) -> None:
    """An error tells message, version, field and value, not just that packing failed."""
    message = SmallResponse()
    for name, value in change.items():
        setattr(message, name, value)
    with pytest.raises(UnencodableMessage, match=rf"SmallResponse v{version}.*{complaint}"):
        encode_bytes(message, version)


def test_text_that_is_no_unicode() -> None:
    """A lone surrogate cannot be encoded; that is an error of ours, not a crash."""
    with pytest.raises(UnencodableMessage, match="surrogates"):
        encode_bytes(SmallResponse(message="\ud800"), 2)


# -- what cannot be decoded ---------------------------------------------------------------------


def test_trailing_bytes_are_refused() -> None:
    """A message fills its frame; what follows would be silently lost."""
    data = encode_bytes(SmallResponse(), 2)
    with pytest.raises(MalformedMessage, match="3 bytes follow its end"):
        decode(SmallResponse, 2, data + b"abc")
    message, end = decoder(SmallResponse, 2)(data + b"abc", 0, memoryview(data + b"abc"))
    assert (message, end) == (SmallResponse(), len(data))


def test_malformed_message_is_the_clients_fault() -> None:
    """It carries INVALID_REQUEST and names message and version."""
    with pytest.raises(ClientFault, match="malformed SmallResponse v2") as caught:
        decode(SmallResponse, 2, b"")
    assert caught.value.error is Error.INVALID_REQUEST


@pytest.mark.parametrize("version", [-1, 4, 99])
def test_undeclared_versions_are_refused(version: int) -> None:
    """The error names what would have been possible."""
    with pytest.raises(ClientFault, match="versions 0 to 3 are") as caught:
        decode(SmallResponse, version, b"")
    assert caught.value.error is Error.UNSUPPORTED_VERSION
    with pytest.raises(ClientFault, match="versions 0 to 3 are"):
        encode(SmallResponse(), version)


@pytest.mark.parametrize(
    ("version", "data"),
    [
        (0, b"\0\0" + b"\x7f\xff\xff\xff" + bytes(40)),
        (2, b"\0\0" + b"\0" + b"\xff\xff\xff\xff\x07" + bytes(40)),
        (2, b"\0\0" + b"\0" + b"\xff\xff\xff\xff\x7f" + bytes(40)),
        (2, b"\0\0" + b"\0" + b"\x2a" + bytes(40)),  # 41 items cannot fit, though 40 bytes are left
    ],
)
def test_lying_counts_cost_nothing(version: int, data: bytes) -> None:
    """A count beyond the bytes that are left is refused before any item is made."""
    run = decoder(SmallResponse, version)
    tracemalloc.start()
    try:
        with pytest.raises(MalformedMessage, match="inners announces"):
            run(data, 0, memoryview(data))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50_000


def test_lying_count_of_numbers() -> None:
    """The same for arrays that are unpacked in one call."""
    # no names asked; FetchRequest v7: one forgotten topic with 2**31 - 1 partitions
    head = bytes(21 - 4) + bytes(8) + bytes(4)
    data = head + b"\0\0\0\1" + b"\0\1t" + b"\x7f\xff\xff\xff" + bytes(64)
    with pytest.raises(MalformedMessage, match="partitions announces 2147483647 items"):
        decode(FetchRequest, 7, data)


@pytest.mark.parametrize("version", range(14))
def test_kept_items_are_encoded_once(version: int) -> None:
    """The bytes are those of a list; afterwards nobody looks at the items again."""
    items = [
        MetadataResponsePartition(
            error_code=0, partition_index=index, leader_id=1, replica_nodes=[1, 2], isr_nodes=[1]
        )
        for index in range(3)
    ]

    def described(partitions: list[MetadataResponsePartition]) -> bytes:
        topic = MetadataResponseTopic(error_code=0, name="t", partitions=partitions)
        return encode_bytes(MetadataResponse(brokers=[], controller_id=1, topics=[topic]), version)

    kept = Kept(items)
    plain = described(items)
    assert described(kept) == plain
    items[0].leader_id = 2
    assert described(kept) == plain
    assert described(items) != plain


def test_a_request_has_room_for_a_hundred_thousand_items() -> None:
    """Two bytes on the wire are a hundred in memory: a frame may not hold all that fits into it."""

    def forgetting(partitions_each: int) -> FetchRequest:
        forgotten = [ForgottenTopic(topic="t", partitions=[0] * partitions_each)] * 2
        return FetchRequest(max_wait_ms=0, min_bytes=0, topics=[], forgotten_topics_data=forgotten)

    for version in (7, 12):
        data = encode_bytes(forgetting(MAX_REQUEST_ITEMS // 2 - 1), version)
        assert len(decode(FetchRequest, version, data).forgotten_topics_data) == 2
        with pytest.raises(MalformedMessage, match="more than 100000 items"):
            decode(FetchRequest, version, encode_bytes(forgetting(MAX_REQUEST_ITEMS // 2), version))


def test_a_request_has_room_for_a_hundred_thousand_unknown_tags() -> None:
    """Tags that we keep for others are items too."""
    tags = b"\xa1\x8d\x06" + b"\1\0" * (MAX_REQUEST_ITEMS + 1)
    with pytest.raises(MalformedMessage, match="more than 100000 items"):
        decode(ApiVersionsRequest, 3, b"\1\1" + tags)


@given(st.integers(-(2**15), -2))
def test_negative_lengths_are_refused(length: int) -> None:
    """Only -1 is a null; any other negative length would move the reader backwards."""
    data = b"\0\0" + length.to_bytes(2, "big", signed=True) + bytes(8)
    with pytest.raises(MalformedMessage, match="message has length"):
        decode(SmallResponse, 1, data)


def test_compact_string_above_the_limit_is_refused() -> None:
    """No version has strings of more than 32767 bytes: we could not answer with them either."""
    data = b"\0\0" + b"\x81\x80\x02" + b"x" * 32768 + b"\1\0\0"
    with pytest.raises(MalformedMessage, match="a string of 32768 bytes"):
        decode(SmallResponse, 2, data)
