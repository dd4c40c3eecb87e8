"""The raw connection against a live broker and against strangers."""

from __future__ import annotations

import socket
import struct

import pytest

from headrace.client.connection import (
    Connection,
    ConnectionLost,
    NotKafka,
    Unreachable,
    Unsupported,
)
from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.faults import MalformedMessage
from headrace.wire.header import encode_response
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
from headrace.wire.messages.metadata import MetadataRequest
from tests.client.listeners import answering, closing, listening, silent, unused_port


def connect(port: int, **options: object) -> Connection:
    return Connection("127.0.0.1", port, timeout_s=5.0, **options)  # type: ignore[arg-type]


def test_a_call_uses_the_newest_version_that_both_know(headrace_broker: Broker) -> None:
    """Without a version the connection asks ApiVersions first."""
    with connect(headrace_broker.port) as connection:
        metadata = connection.call(MetadataRequest(topics=[]))
        assert metadata.brokers[0].port == headrace_broker.port
        assert metadata.cluster_id


def test_answers_come_in_the_order_of_the_requests(headrace_broker: Broker) -> None:
    """Several requests may be under way at once."""
    with connect(headrace_broker.port) as connection:
        connection.send(MetadataRequest(topics=[]), 9)
        connection.send(ApiVersionsRequest(), 0)
        assert connection.receive().brokers
        assert connection.receive().api_keys


def test_replies_may_be_asked_in_any_order(headrace_broker: Broker) -> None:
    """What arrives before it is wanted is kept for its holder, and dropped if that has gone."""
    with connect(headrace_broker.port) as connection:
        metadata = connection.request(MetadataRequest(topics=[]), 9)
        connection.request(MetadataRequest(topics=None), 9)
        versions = connection.request(ApiVersionsRequest(), 0)
        assert not connection.is_idle
        assert versions.result().api_keys
        assert metadata.is_here()
        assert metadata.result().brokers
        assert connection.is_idle


def test_a_reply_tells_of_a_lost_connection() -> None:
    """Also when somebody else found out, and when it is only asked whether it is here."""
    with listening(closing) as port, connect(port) as connection:
        first, second = (connection.request(ApiVersionsRequest(), 0) for _ in range(2))
        with pytest.raises(ConnectionLost):
            first.result()
        assert not connection.is_open
        assert second.is_here()
        with pytest.raises(ConnectionLost, match="was lost before the answer"):
            second.result()
        with pytest.raises(ConnectionLost, match="closed the connection"):
            connection.request(ApiVersionsRequest(), 0)


def test_a_large_answer_is_received_into_memory_of_its_own() -> None:
    """No copy: the records of a fetch are a view of the frame."""
    records = bytes(range(256)) * 40_000
    data = PartitionData(
        partition_index=0, error_code=0, high_watermark=1, records=memoryview(records)
    )
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[data])])
    with (
        listening(answering(b"".join(encode_response(1, 12, response)))) as port,
        connect(port) as connection,
    ):
        answer = connection.call(FetchRequest(max_wait_ms=0, min_bytes=0, topics=[]), 12)
    found = answer.responses[0].partitions[0].records
    assert found == records
    assert isinstance(found.obj, bytearray)


def test_negotiation_learns_versions_and_features(headrace_broker: Broker) -> None:
    """KIP-584: finalized features come with the versions."""
    with connect(headrace_broker.port) as connection:
        connection.negotiate()
        assert connection.features["transaction.version"] == 2
        assert connection.newest(FetchRequest) == 18
        assert connection.newest(FetchRequest, at_most=12) == 12


def test_negotiation_with_an_older_broker() -> None:
    """KIP-511: the refusal names what the broker knows, and that is asked for next."""
    refusal = ApiVersionsResponse(
        error_code=Error.UNSUPPORTED_VERSION,
        api_keys=[ApiVersion(api_key=18, min_version=0, max_version=2)],
    )
    older = ApiVersionsResponse(
        error_code=0, api_keys=[ApiVersion(api_key=1, min_version=4, max_version=11)]
    )
    replies = [b"".join(encode_response(1, 0, refusal)), b"".join(encode_response(2, 2, older))]

    def serve(connection: socket.socket) -> None:
        for reply in replies:
            connection.recv(4096)
            connection.sendall(reply)

    with listening(serve) as port, connect(port) as connection:
        connection.negotiate()
        assert connection.newest(FetchRequest) == 11
        assert connection.features == {}


def test_a_broker_that_does_not_know_our_api_versions_is_understood() -> None:
    """KIP-511: the refusal has the layout of v0 whatever was asked."""
    refusal = ApiVersionsResponse(
        error_code=Error.UNSUPPORTED_VERSION,
        api_keys=[ApiVersion(api_key=18, min_version=0, max_version=2)],
    )
    with (
        listening(answering(b"".join(encode_response(1, 0, refusal)))) as port,
        connect(port) as connection,
    ):
        response = connection.call(ApiVersionsRequest(), 4)
    assert response.error_code == Error.UNSUPPORTED_VERSION
    assert response.api_keys[0].max_version == 2


def test_no_common_version_is_told_before_sending() -> None:
    """A broker that serves only ApiVersions is not asked for metadata."""
    only = ApiVersionsResponse(
        error_code=0, api_keys=[ApiVersion(api_key=18, min_version=0, max_version=4)]
    )
    with (
        listening(answering(b"".join(encode_response(1, 0, only)))) as port,
        connect(port) as connection,
        pytest.raises(Unsupported, match="share no version of Metadata"),
    ):
        connection.call(MetadataRequest(topics=[]))


def test_nobody_listens() -> None:
    """A refused connection is named as such, with the address."""
    port = unused_port()
    with pytest.raises(Unreachable, match=f"127.0.0.1:{port} refused") as caught:
        connect(port)
    assert caught.value.reason == Unreachable.REFUSED


def test_a_name_that_does_not_exist() -> None:
    """RFC 6761 reserves .invalid for this."""
    with pytest.raises(Unreachable, match="cannot be resolved") as caught:
        Connection("headrace.invalid", 9092, timeout_s=1.0)
    assert caught.value.reason == Unreachable.UNRESOLVED


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "answers in HTTP"),
        (b"\x15\x03\x03\x00\x02\x02\x46", "answers in TLS"),
        (b"\x7f\xff\xff\xff", "announces an answer of 2147483647 bytes"),
        (b"\xff\xff\xff\xff", "announces an answer of -1 bytes"),
        (b"\x00\x00\x00\x00", "announces an answer of 0 bytes"),
        (struct.pack(">iihi", 10, 77, 0, 0), "answered request 77 where 1 was next"),
    ],
)
def test_what_no_broker_would_say_is_named(reply: bytes, complaint: str) -> None:
    """The first bytes tell strangers apart; a wrong correlation id ends the talk."""
    with (
        listening(answering(reply)) as port,
        connect(port) as connection,
        pytest.raises(NotKafka, match=complaint),
    ):
        connection.served()


def test_an_answer_larger_than_allowed_is_not_read() -> None:
    """`max_bytes` bounds the memory that an answer may take."""
    with (
        listening(answering(struct.pack(">i", 1025) + bytes(1025))) as port,
        connect(port, max_bytes=1024) as connection,
        pytest.raises(NotKafka, match="announces an answer of 1025 bytes"),
    ):
        connection.served()


def test_a_malformed_answer_is_the_protocols_complaint() -> None:
    """Bytes that are no message never become one."""
    with (
        listening(answering(struct.pack(">iih", 6, 1, 0))) as port,
        connect(port) as connection,
        pytest.raises(MalformedMessage),
    ):
        connection.served()


def test_silence_ends_with_the_time_out() -> None:
    """No call waits for ever."""
    with (
        listening(silent) as port,
        Connection("127.0.0.1", port, timeout_s=0.1) as connection,
        pytest.raises(ConnectionLost, match="does not answer in time"),
    ):
        connection.served()


def test_a_closed_connection_is_told() -> None:
    """Hanging up is an answer too."""
    with (
        listening(closing) as port,
        connect(port) as connection,
        pytest.raises(ConnectionLost, match="the connection"),
    ):
        connection.served()
