"""What listens at an address: a Kafka broker, or something that is often taken for one.

The commonest connection faults look alike from inside a client library: it waits, then gives up.
Each question here goes out on a connection of its own, because strangers close after the first.
"""

from __future__ import annotations

import ssl
from enum import Enum
from typing import Final

from headrace.client.connection import (
    Connection,
    ConnectionLost,
    NotKafka,
    Unreachable,
    open_socket,
)
from headrace.errors import HeadraceError
from headrace.wire.faults import MalformedMessage

_REPLY_BYTES: Final = 64


class Speaks(Enum):
    """The protocol of a listener, by the first question that it answers."""

    KAFKA = "kafka"
    KAFKA_TLS = "kafka over TLS"
    TLS = "TLS"
    HTTP = "HTTP"
    ZOOKEEPER = "ZooKeeper"
    UNKNOWN = "an unknown protocol"


def identify(host: str, port: int, *, timeout_s: float = 3.0) -> Speaks:
    """Ask as a Kafka client, then as others would; raises `Unreachable` if nobody listens."""
    if _is_kafka(host, port, timeout_s, None):
        return Speaks.KAFKA
    timeout_s = min(timeout_s, 1.0)
    if _completes_handshake(host, port, timeout_s):
        over_tls = _is_kafka(host, port, timeout_s, trust_anyone())
        return Speaks.KAFKA_TLS if over_tls else Speaks.TLS
    if _ask(host, port, b"GET / HTTP/1.0\r\n\r\n", timeout_s).startswith(b"HTTP/"):
        return Speaks.HTTP
    # A ZooKeeper that does not allow the word says so, and names it.
    if _ask(host, port, b"ruok", timeout_s)[:4] in (b"imok", b"ruok"):
        return Speaks.ZOOKEEPER
    return Speaks.UNKNOWN


def trust_anyone() -> ssl.SSLContext:
    """For questions about a listener only: no secret ever passes such a connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _is_kafka(host: str, port: int, timeout_s: float, tls: ssl.SSLContext | None) -> bool:
    try:
        with Connection(host, port, timeout_s=timeout_s, tls=tls) as connection:
            return bool(connection.served())
    except (ConnectionLost, NotKafka, MalformedMessage):
        return False
    except Unreachable as error:
        if error.reason == Unreachable.TLS:
            return False
        raise


def _completes_handshake(host: str, port: int, timeout_s: float) -> bool:
    try:
        Connection(host, port, timeout_s=timeout_s, tls=trust_anyone()).close()
    except HeadraceError:
        return False
    return True


def _ask(host: str, port: int, question: bytes, timeout_s: float) -> bytes:
    """The first bytes of the answer to a bare question; empty when there is none."""
    try:
        with open_socket(host, port, timeout_s) as connected:
            connected.sendall(question)
            return connected.recv(_REPLY_BYTES)
    except (OSError, Unreachable):
        return b""
