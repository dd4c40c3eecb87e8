"""Limits: how often, how much, how long, how many; and clients that lie or dawdle."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from tests.rest.service import Service, embedded, error_of

JSON = embedded("json")


@pytest.fixture(scope="module")
def strict(start_proxy: Callable[..., Service]) -> Iterator[Service]:
    """A proxy with small limits."""
    properties = {
        "request.max.bytes": 10_000,
        "request.timeout.ms": 500,
        "connections.max": 20,
        "consumer.instances.max": 2,
        "consumer.instance.timeout.ms": 700,
    }
    with start_proxy(properties) as service:
        yield service


def talk(service: Service, data: bytes, *, timeout_s: float = 10) -> bytes:
    """Everything that comes back until the proxy closes the connection."""
    with socket.create_connection(service.address, timeout=timeout_s) as connection:
        answer = b""
        # Whoever is refused in the middle of a sentence sees the answer, then the end.
        with contextlib.suppress(ConnectionError):
            connection.sendall(data)
        with contextlib.suppress(ConnectionError):
            while chunk := connection.recv(65536):
                answer += chunk
        return answer


def head(topic: str, *lines: str) -> bytes:
    return "\r\n".join(
        [
            f"POST /topics/{topic} HTTP/1.1",
            "Host: 127.0.0.1",
            f"Content-Type: {JSON}",
            *lines,
            "",
            "",
        ]
    ).encode()


# -- how much --------------------------------------------------------------------------------------


def test_413_for_a_body_that_is_too_large(strict: Service, topic: str) -> None:
    """By what it announces, before it is sent, and by what it really is."""
    body = {"records": [{"value": "x" * 20_000}]}
    reply = strict.post(f"/topics/{topic}", body, content_type=JSON)
    assert error_of(reply) == (
        413,
        413,
        "The request's body is larger than 10000 bytes (request.max.bytes)",
    )
    answer = talk(strict, head(topic, "Content-Length: 99999999", "Connection: close"))
    assert answer.startswith(b"HTTP/1.1 413")
    chunk = b"1000\r\n" + b"x" * 4096 + b"\r\n"
    chunked = head(topic, "Transfer-Encoding: chunked", "Connection: close") + chunk * 3
    assert talk(strict, chunked).startswith(b"HTTP/1.1 413")


# -- how long --------------------------------------------------------------------------------------


def test_408_for_a_body_that_does_not_come(strict: Service, topic: str) -> None:
    """A client that announces more than it sends is told so after request.timeout.ms."""
    began = time.monotonic()
    answer = talk(strict, head(topic, "Content-Length: 100", "Connection: close") + b'{"rec')
    assert answer.startswith(b"HTTP/1.1 408")
    assert b'"error_code":408' in answer
    assert time.monotonic() - began < 5


def test_a_head_that_does_not_come_closes_the_connection(strict: Service) -> None:
    """Neither silence nor a header per minute keeps a connection: 408 and its end."""
    for begun in (b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "):
        began = time.monotonic()
        assert talk(strict, begun).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - began < 5


def test_a_head_that_does_not_end_is_refused(strict: Service) -> None:
    """Headers without end get 431, and the connection is closed."""
    begun = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: " + b"a" * 200_000
    assert talk(strict, begun).startswith(b"HTTP/1.1 431 ")


def test_a_client_that_goes_away_is_forgotten(strict: Service, topic: str) -> None:
    """Half a body and a closed connection: nothing is sent to Kafka, the proxy goes on."""
    with socket.create_connection(strict.address, timeout=10) as connection:
        connection.sendall(head(topic, "Content-Length: 100") + b'{"records":[{"value":1}')
    assert strict.get("/").status == 200
    assert strict.get(f"/topics/{topic}/partitions/0/offsets").json["end_offset"] == 0


# -- lies ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nA B: c\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
    ids=["words", "version", "negative", "twice", "chunk", "header", "tls"],
)
def test_400_for_what_is_no_http(strict: Service, request_bytes: bytes) -> None:
    """Also TLS on a plain port; the connection is closed."""
    answer = talk(strict, request_bytes)
    assert answer.startswith(b"HTTP/1.1 400"), answer
    assert strict.get("/").status == 200


def test_more_than_was_announced_is_no_second_request(strict: Service, topic: str) -> None:
    """What follows the announced body is refused, and with it the connection."""
    body = b'{"records":[{"value":1}]}'
    answer = talk(strict, head(topic, f"Content-Length: {len(body)}") + body + b"trailing")
    assert b"HTTP/1.1 400" in answer
    assert strict.get("/").status == 200


# -- how many --------------------------------------------------------------------------------------


def test_503_for_more_connections_than_allowed(strict: Service) -> None:
    """Beyond connections.max the answer is 503, and it is fine again when they are gone."""
    held = [socket.create_connection(strict.address, timeout=10) for _ in range(30)]
    try:
        deadline = time.monotonic() + 5
        while strict.get("/").status != 503:
            assert time.monotonic() < deadline
    finally:
        for connection in held:
            connection.close()
    deadline = time.monotonic() + 5
    while strict.get("/").status != 200:
        assert time.monotonic() < deadline


def test_429_for_more_instances_than_allowed_until_idle_ones_are_reaped(
    strict: Service, fresh_name: str
) -> None:
    """consumer.instances.max bounds them; consumer.instance.timeout.ms closes what is not used."""
    for name in ("first", "second"):
        assert strict.post(f"/consumers/{fresh_name}", {"name": name}).status == 200
    reply = strict.post(f"/consumers/{fresh_name}", {"name": "third"})
    assert error_of(reply)[:2] == (429, 42901)
    assert "retry-after" in reply.headers
    deadline = time.monotonic() + 10
    first = f"/consumers/{fresh_name}/instances/first"
    while strict.post(f"/consumers/{fresh_name}", {"name": "third"}).status != 200:
        assert time.monotonic() < deadline
        # Who is used is not reaped: only the second one goes.
        assert strict.get(f"{first}/subscription").status == 200
        time.sleep(0.1)
    second = f"/consumers/{fresh_name}/instances/second"
    assert error_of(strict.get(f"{second}/subscription"))[:2] == (404, 40403)
    assert strict.get(f"{first}/subscription").status == 200
    strict.delete(first)


# -- how often -------------------------------------------------------------------------------------


def test_429_for_a_client_that_asks_too_often(start_proxy: Callable[..., Service]) -> None:
    """Retry-After says when; the root stays open for whatever watches the proxy."""
    properties = {
        "rate.limit.enable": "true",
        "rate.limit.permits.per.sec": 1,
        "rate.limit.burst": 3,
    }
    with start_proxy(properties) as proxy:
        replies = [proxy.get("/nowhere") for _ in range(5)]
        assert [reply.status for reply in replies][:3] == [404, 404, 404]
        refused = [reply for reply in replies if reply.status == 429]
        assert refused
        assert error_of(refused[0])[:2] == (429, 42901)
        assert int(refused[0].headers["retry-after"]) >= 1
        assert proxy.get("/").status == 200
