"""A bare connection: requests that no client library would send, answers as they arrive.

It blocks, with a time limit on every wait, and hides nothing: what is sent, in which version and
in which order, is the test's business.
"""

from __future__ import annotations

import itertools
import select
import socket
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

from headrace.records.batch import BatchHeader, split_batches
from headrace.records.builder import BatchOptions, build_batch
from headrace.records.record import Record as BatchRecord
from headrace.wire import decode
from headrace.wire.header import decode_response_header, encode_request
from headrace.wire.registry import by_key
from tests.clients.records import Record

TIMEOUT_SECONDS = 20


class ConnectionClosed(Exception):
    """The broker ended the connection, as it does with what it does not understand."""


class Connection:
    """One connection to a broker."""

    def __init__(self, bootstrap: str, *, client_id: str | None = "raw") -> None:
        host, _, port = bootstrap.partition(",")[0].rpartition(":")
        self._socket = socket.create_connection((host, int(port)), TIMEOUT_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client_id = client_id
        self._correlation_ids: Iterator[int] = itertools.count(1)

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def ask(self, request: Any, version: int) -> Any:
        """Send a request and wait for its answer."""
        return self.answer(self.send(request, version), type(request), version)

    def send(self, request: Any, version: int) -> int:
        """Send a request without waiting; returns its correlation id."""
        correlation_id = next(self._correlation_ids)
        frame = encode_request(correlation_id, self._client_id, version, request)
        self._socket.sendall(b"".join(frame))
        return correlation_id

    def send_bytes(self, data: bytes) -> None:
        """Send anything at all."""
        self._socket.sendall(data)

    def answer(self, correlation_id: int, request_class: type, version: int) -> Any:
        """The next answer on the connection, which must be the one to this request."""
        response_class = by_key(request_class.__wire__.key).response  # type: ignore[attr-defined]
        frame = self.receive_frame()
        found, position = decode_response_header(frame, 0, version, response_class)
        assert found == correlation_id, "answers leave a connection in the order of its requests"
        return decode(response_class, version, frame, position)

    def has_answer(self) -> bool:
        """Whether something has arrived that was not read yet, or the broker has gone."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def receive_frame(self) -> bytes:
        """The next frame, without its size."""
        return self._receive(int.from_bytes(self._receive(4), "big"))

    def _receive(self, size: int) -> bytes:
        chunks = []
        while size > 0:
            try:
                chunk = self._socket.recv(min(size, 1 << 20))
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                raise ConnectionClosed(f"{size} bytes were still expected")
            chunks.append(chunk)
            size -= len(chunk)
        return b"".join(chunks)


def batch_of(records: Sequence[Record], **options: Any) -> memoryview:
    """A record batch as a producer would send it; options as in headrace.records.builder."""
    plain = (
        BatchRecord(0, record.timestamp_ms, record.key, record.value, list(record.headers))
        for record in records
    )
    wanted: BatchOptions = {**options}  # type: ignore[typeddict-item]
    return memoryview(build_batch(plain, **wanted))


def batch_headers(records: memoryview | None) -> list[BatchHeader]:
    """The headers of the batches that a fetch returned, but for one that was cut off."""
    view = memoryview(b"") if records is None else records
    return [header for header, _ in split_batches(view, allow_partial_tail=True)]
