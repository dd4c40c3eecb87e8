"""Answers that are too long or too slow for one who waits for them."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from headrace.pipelines.connect.connectors.http.exchange import Ask, Exchange, HttpFault
from headrace.pipelines.connect.connectors.http.settings import HttpSettings
from tests.pipelines.connect.connectors.stand_in import Answer, stand_in

MOST = 10_000
BYTES = 100
PAUSE_S = 0.02


def exchange(url: str, timeout_ms: int = 60_000) -> Exchange:
    given = {"http.api.url": url, "http.request.timeout.ms": str(timeout_ms)}
    return Exchange(HttpSettings.of(given), most_bytes=MOST)


@contextmanager
def trickling(status: int) -> Iterator[str]:
    """A server that says one byte of its answer at a time, for two seconds in all."""
    left = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65_536)
            try:
                connection.sendall(
                    f"HTTP/1.1 {status} X\r\nContent-Length: {BYTES}\r\n\r\n".encode()
                )
                for _ in range(BYTES):
                    connection.sendall(b"x")
                    left.wait(PAUSE_S)
            except OSError:
                return  # the client has not waited

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        left.set()
        thread.join()
        listener.close()


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_that_is_too_long(packed: bool) -> None:
    """As long as it is unpacked; whoever does not read it does not mind."""
    long = b"x" * (MOST + 1)
    headers = {"Content-Encoding": "gzip"} if packed else {}
    given = Answer(200, gzip.compress(long) if packed else long, headers)
    with stand_in(lambda request: given) as server:
        asking = exchange(server.url)
        with pytest.raises(HttpFault, match=r"more than 10000 bytes: ask for smaller") as raised:
            asking.ask(Ask("GET", server.url, reads_all=True))
        assert not raised.value.passing
        asking.ask(Ask("POST", server.url, b"x"))
        asking.close()


def test_an_answer_of_some_length() -> None:
    long = b"x" * MOST
    with stand_in(lambda request: Answer(200, long)) as server:
        asking = exchange(server.url)
        for _ in range(2):
            assert asking.ask(Ask("GET", server.url, reads_all=True)) == long
        asking.close()


def test_an_error_that_is_too_long() -> None:
    with stand_in(lambda request: Answer(400, b"no" * MOST)) as server:
        asking = exchange(server.url)
        with pytest.raises(HttpFault, match=r"is answered with 400: (no)+$"):
            asking.ask(Ask("GET", server.url))
        asking.close()


def test_an_answer_that_is_too_slow() -> None:
    with trickling(200) as url:
        asking = exchange(url, 200)
        with pytest.raises(
            HttpFault, match=r"within 0\.2 s \(http\.request\.timeout\.ms\)"
        ) as raised:
            asking.ask(Ask("GET", url, reads_all=True))
        assert raised.value.passing
        asking.close()
