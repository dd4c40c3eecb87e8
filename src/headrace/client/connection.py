"""One blocking connection to a broker: requests out, responses in, in the order of the requests.

Every wait is bounded by a time-out and every answer by a size. What cannot be an answer of a Kafka
broker is named when its first bytes tell (HTTP, TLS). The class refuses to know leaders, retries
and what a message means.
"""

from __future__ import annotations

import errno
import os
import socket
import ssl
from collections import deque
from struct import Struct
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from headrace.errors import Error, HeadraceError
from headrace.types import Buffer
from headrace.wire import decode
from headrace.wire.header import decode_response_header, encode_request
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.registry import Api, by_key
from headrace.wire.schema import info

_SIZE: Final = Struct(">i")
_CHUNK: Final = 1 << 16
MAX_RESPONSE_BYTES: Final = 128 << 20


class Unreachable(HeadraceError):
    """No connection came about; `reason` is one of the constants below."""

    REFUSED: Final = "refused"
    UNRESOLVED: Final = "unresolved"
    TIMED_OUT: Final = "timed out"
    TLS: Final = "tls"
    OTHER: Final = "other"

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class ConnectionLost(HeadraceError):
    """The other side closed the connection, or did not answer in time."""


class NotKafka(HeadraceError):
    """What came back is no answer of a Kafka broker; `first_bytes` is how it began."""

    def __init__(self, message: str, first_bytes: bytes) -> None:
        super().__init__(message)
        self.first_bytes = first_bytes


class Unsupported(HeadraceError):
    """Client and broker share no version of this API."""


class _Pending(NamedTuple):
    correlation_id: int
    version: int
    response: type[Any]


def open_socket(host: str, port: int, timeout_s: float) -> socket.socket:
    """A connected socket, or `Unreachable` with the reason in words."""
    where = f"{host}:{port}"
    try:
        connected = socket.create_connection((host, port), timeout=timeout_s)
    except socket.gaierror as error:
        raise Unreachable(
            Unreachable.UNRESOLVED, f"the name {host} cannot be resolved ({error.strerror})"
        ) from None
    except TimeoutError:
        raise Unreachable(
            Unreachable.TIMED_OUT, f"{where} does not answer within {timeout_s:g} s"
        ) from None
    except ConnectionRefusedError:
        raise Unreachable(Unreachable.REFUSED, f"{where} refused the connection") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise Unreachable(Unreachable.OTHER, f"{where} cannot be reached ({reason})") from None
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connected


class Connection:
    """Use as a context manager, or `close` it."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        timeout_s: float = 10.0,
        client_id: str | None = "headrace",
        tls: ssl.SSLContext | None = None,
        max_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        self.address = f"{host}:{port}"
        self._client_id = client_id
        self._max_bytes = max_bytes
        self._pending: deque[_Pending] = deque()
        self._next_correlation_id = 1
        self._served: dict[int, range] | None = None
        self._socket = open_socket(host, port, timeout_s)
        if tls is not None:
            self._socket = self._encrypt(self._socket, tls, host)

    def _encrypt(self, plain: socket.socket, tls: ssl.SSLContext, host: str) -> socket.socket:
        try:
            return tls.wrap_socket(plain, server_hostname=host)
        except OSError as error:
            plain.close()
            raise Unreachable(
                Unreachable.TLS, f"{self.address} does not complete a TLS handshake ({error})"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def call(self, request: Any, version: int | None = None) -> Any:
        """Send one request and return its response; without a version, the newest both know."""
        if version is None:
            version = self._choose(by_key(info(type(request)).key))
        self.send(request, version)
        return self.receive()

    def send(self, request: Any, version: int, *, answered: bool = True) -> int:
        """Send without waiting; returns the correlation id. Produce with acks=0 has no answer."""
        correlation_id = self._next_correlation_id
        self._next_correlation_id = correlation_id % 0x7FFFFFFF + 1
        self.send_bytes(b"".join(encode_request(correlation_id, self._client_id, version, request)))
        if answered:
            api = by_key(info(type(request)).key)
            self._pending.append(_Pending(correlation_id, version, api.response))
        return correlation_id

    def receive(self) -> Any:
        """The response to the oldest request that has none yet."""
        assert self._pending, "receive() without a request under way"
        expected = self._pending.popleft()
        frame = self.receive_frame()
        found, position = decode_response_header(frame, 0, expected.version, expected.response)
        if found != expected.correlation_id:
            raise NotKafka(
                f"{self.address} answered request {found} where {expected.correlation_id} was next",
                frame[:4],
            )
        # A broker that does not know our ApiVersions answers in the layout of v0 (KIP-511).
        version = expected.version
        if expected.response.__name__ == "ApiVersionsResponse" and _is_refused(frame, position):
            version = 0
        return decode(expected.response, version, frame, position)

    def send_bytes(self, data: Buffer) -> None:
        """Send these bytes as they are; tests use it to send what no client would."""
        try:
            self._socket.sendall(data)
        except TimeoutError:
            raise ConnectionLost(f"{self.address} does not take bytes in time") from None
        except OSError as error:
            raise ConnectionLost(f"{self.address} closed the connection ({error})") from None

    def receive_frame(self) -> bytes:
        """The next frame without its size."""
        head = self._receive_exactly(4)
        (size,) = _SIZE.unpack(head)
        if not 4 <= size <= self._max_bytes:
            raise NotKafka(f"{self.address} {_describe(head, size)}", head)
        return self._receive_exactly(size)

    def _receive_exactly(self, size: int) -> bytes:
        chunks: list[bytes] = []
        missing = size
        while missing:
            try:
                chunk = self._socket.recv(min(missing, _CHUNK))
            except TimeoutError:
                raise ConnectionLost(f"{self.address} does not answer in time") from None
            except OSError as error:
                reason = errno.errorcode.get(error.errno or 0, str(error))
                raise ConnectionLost(f"{self.address} broke the connection ({reason})") from None
            if not chunk:
                raise ConnectionLost(f"{self.address} closed the connection without an answer")
            chunks.append(chunk)
            missing -= len(chunk)
        return b"".join(chunks)

    def served(self) -> dict[int, range]:
        """The versions of each API that the broker says it serves."""
        if self._served is None:
            response = self.call(ApiVersionsRequest(), 0)
            self._served = {
                api.api_key: range(api.min_version, api.max_version + 1)
                for api in response.api_keys
            }
        return self._served

    def _choose(self, api: Api) -> int:
        theirs = self.served().get(api.key, range(0))
        common = [version for version in api.versions if version in theirs]
        if not common:
            raise Unsupported(f"{self.address} and this client share no version of {api.name}")
        return common[-1]


def _is_refused(frame: bytes, position: int) -> bool:
    return frame[position : position + 2] == Error.UNSUPPORTED_VERSION.to_bytes(2, "big")


def _describe(head: bytes, size: int) -> str:
    if head[:4] == b"HTTP":
        return "answers in HTTP, so it is no Kafka broker"
    if head[:2] in (b"\x15\x03", b"\x16\x03"):
        return "answers in TLS, so it wants security.protocol=SSL"
    return f"announces an answer of {size} bytes, which no Kafka broker would send"
