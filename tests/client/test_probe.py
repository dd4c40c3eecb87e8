"""Telling a Kafka broker from what is often taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.client.connection import Unreachable
from headrace.client.probe import Speaks, identify
from headrace.testing import Broker
from headrace.wire.header import encode_response
from headrace.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from tests.client.listeners import (
    answering,
    closing,
    http_server,
    listening,
    modern_zookeeper,
    self_signed,
    silent,
    tls,
    unused_port,
    zookeeper,
)

API_VERSIONS = b"".join(
    encode_response(
        1,
        0,
        ApiVersionsResponse(
            error_code=0, api_keys=[ApiVersion(api_key=18, min_version=0, max_version=4)]
        ),
    )
)


def test_a_broker_is_kafka(headrace_broker: Broker) -> None:
    """Our own broker answers as one."""
    assert identify("127.0.0.1", headrace_broker.port) is Speaks.KAFKA


@pytest.mark.parametrize("serve", [zookeeper, modern_zookeeper])
def test_zookeeper_is_found_by_its_four_letter_word(serve: object) -> None:
    """Also where the word is not allowed, because the refusal names it."""
    with listening(serve) as port:  # type: ignore[arg-type]
        assert identify("127.0.0.1", port, timeout_s=2.0) is Speaks.ZOOKEEPER


def test_an_http_server_is_found() -> None:
    """A REST proxy or registry given as a bootstrap server."""
    with http_server() as port:
        assert identify("127.0.0.1", port, timeout_s=2.0) is Speaks.HTTP


def test_a_tls_listener_is_found(tmp_path: Path) -> None:
    """With and without Kafka behind the handshake."""
    context = self_signed(tmp_path)
    with listening(tls(context, closing)) as port:
        assert identify("127.0.0.1", port, timeout_s=5.0) is Speaks.TLS
    with listening(tls(context, answering(API_VERSIONS))) as port:
        assert identify("127.0.0.1", port, timeout_s=5.0) is Speaks.KAFKA_TLS


@pytest.mark.parametrize("serve", [closing, silent, answering(b"\xff\xff")])
def test_anything_else_is_unknown(serve: object) -> None:
    """No question is answered, and the looking ends."""
    with listening(serve) as port:  # type: ignore[arg-type]
        assert identify("127.0.0.1", port, timeout_s=0.2) is Speaks.UNKNOWN


def test_nobody_there_is_not_a_protocol() -> None:
    """A closed port is told apart from a strange one."""
    with pytest.raises(Unreachable):
        identify("127.0.0.1", unused_port())
