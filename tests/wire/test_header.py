"""Request and response headers."""

from __future__ import annotations

import struct

import pytest

from headrace.wire import MalformedMessage, decode, encode_bytes
from headrace.wire.header import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request,
    encode_response,
    peek,
)
from headrace.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from headrace.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from headrace.wire.messages.metadata import MetadataRequest, MetadataResponse


def header_bytes(key: int, version: int, correlation_id: int, client_id: bytes | None) -> bytes:
    size = -1 if client_id is None else len(client_id)
    return struct.pack(">hhih", key, version, correlation_id, size) + (client_id or b"")


@pytest.mark.spec("book1:F-03")
def test_header_v1_names_api_version_and_client() -> None:
    """A request says which API in which version it speaks, so that a broker can refuse it."""
    data = header_bytes(3, 8, 77, b"client") + b"body"
    header, pos = decode_request_header(data, 0, MetadataRequest)
    assert (header.api_key, header.api_version) == (3, 8)
    assert (header.correlation_id, header.client_id) == (77, "client")
    assert data[pos:] == b"body"


def test_header_v2_keeps_the_old_client_id() -> None:
    """KIP-482: a flexible header ends in tags, but its client id has an int16 length."""
    tags = b"\2" + b"\0\3abc" + b"\x85\1\0"
    for data_tags in (b"\0", tags):
        data = header_bytes(3, 9, 77, b"client") + data_tags + b"body"
        header, pos = decode_request_header(data, 0, MetadataRequest)
        assert header.client_id == "client"
        assert data[pos:] == b"body"


def test_null_and_empty_client_id() -> None:
    """A client need not say who it is."""
    for client_id, expected in ((None, None), (b"", "")):
        header, pos = decode_request_header(header_bytes(3, 1, 1, client_id), 0, MetadataRequest)
        assert (header.client_id, pos) == (expected, 10)


def test_header_behind_a_size() -> None:
    """Positions are those of the buffer, wherever the header begins."""
    data = b"\0\0\0\x0b" + header_bytes(3, 9, 5, b"") + b"\0"
    assert peek(data, 4) == (3, 9, 5)
    assert decode_request_header(bytearray(data), 4, MetadataRequest)[1] == len(data)


@pytest.mark.parametrize("version", [1, 9])
def test_truncated_headers_are_refused(version: int) -> None:
    """Every prefix of a header is malformed, and says so."""
    data = header_bytes(3, version, 77, b"client") + (b"\1\5\3abc" if version == 9 else b"")
    for size in range(len(data)):
        with pytest.raises(MalformedMessage, match="request header"):
            decode_request_header(data[:size], 0, MetadataRequest)


@pytest.mark.parametrize("client_id", [b"\xff\xfe" + b"abc", b"\x00\x02\xff\xff", b"\x7f\xffabc"])
def test_bad_client_ids_are_refused(client_id: bytes) -> None:
    """A negative length, bytes that are not UTF-8, a length beyond the frame."""
    with pytest.raises(MalformedMessage):
        decode_request_header(struct.pack(">hhi", 3, 1, 1) + client_id, 0, MetadataRequest)


def test_header_tags_have_a_limit() -> None:
    """Nobody sends a thousand tags in a header; reading over millions would stall a broker."""
    data = header_bytes(3, 9, 1, b"") + b"\xe9\x07" + b"\1\0" * 1001
    with pytest.raises(MalformedMessage, match="1001 tagged fields"):
        decode_request_header(data, 0, MetadataRequest)


def test_peek_reads_eight_bytes_of_any_header() -> None:
    """KIP-511: of a version never heard of, only the first eight bytes are certain."""
    assert peek(struct.pack(">hhi", 18, 999, -5) + b"\xff" * 20) == (18, 999, -5)
    with pytest.raises(MalformedMessage, match="request header"):
        peek(b"\0\x12\0\3\0\0\0")


def test_response_headers_by_version() -> None:
    """v0 is a correlation id; flexible responses add an empty tag buffer."""
    message = MetadataResponse(brokers=[], topics=[])
    for version, head in ((8, b"\0\0\0\x4d"), (9, b"\0\0\0\x4d\0")):
        body = head + encode_bytes(message, version)
        frame = b"".join(encode_response(77, version, message))
        assert frame == len(body).to_bytes(4, "big") + body
        assert decode_response_header(frame, 4, version, MetadataResponse) == (77, 4 + len(head))


@pytest.mark.parametrize("version", range(5))
def test_api_versions_is_always_answered_with_header_v0(version: int) -> None:
    """KIP-511: a client reads this answer before it knows what the broker speaks."""
    message = ApiVersionsResponse(
        error_code=35, api_keys=[ApiVersion(api_key=18, min_version=0, max_version=4)]
    )
    frame = b"".join(encode_response(7, version, message))
    assert frame[4:] == b"\0\0\0\7" + encode_bytes(message, version)
    correlation_id, pos = decode_response_header(frame, 4, version, ApiVersionsResponse)
    assert (correlation_id, pos) == (7, 8)
    assert decode(ApiVersionsResponse, version, frame, pos) == message


def test_response_header_tags_are_read_over() -> None:
    """A newer broker may put tags into its header."""
    assert decode_response_header(b"\0\0\0\7\1\0\1x", 0, 9, MetadataResponse) == (7, 8)
    for size in range(8):
        with pytest.raises(MalformedMessage, match="response header"):
            decode_response_header(b"\0\0\0\7\1\0\1x"[:size], 0, 9, MetadataResponse)


def test_size_counts_records_that_are_not_copied() -> None:
    """The size in front covers all chunks; records stay the object that they were."""
    records = memoryview(b"r" * 100_000)
    partition = PartitionData(partition_index=0, error_code=0, high_watermark=1, records=records)
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])
    chunks = encode_response(1, 12, response)
    assert chunks[1] is records
    frame = b"".join(chunks)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4


def test_request_frames() -> None:
    """What a client sends is what a broker reads, in both header versions."""
    for version in (2, 3):
        message = ApiVersionsRequest()
        frame = b"".join(encode_request(9, "me", version, message))
        assert int.from_bytes(frame[:4], "big") == len(frame) - 4
        header, pos = decode_request_header(frame, 4, ApiVersionsRequest)
        assert repr(header) == repr(
            RequestHeader(api_key=18, api_version=version, correlation_id=9, client_id="me")
        )
        assert decode(ApiVersionsRequest, version, frame, pos) == message
    frame = b"".join(
        encode_request(9, None, 4, FetchRequest(max_wait_ms=1, min_bytes=1, topics=[]))
    )
    assert decode_request_header(frame, 4, FetchRequest)[0].client_id is None
