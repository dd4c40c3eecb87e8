"""One blocking connection to a broker: requests out, responses in, in the order of the requests.

Several users may have requests under way on one connection: each holds a `Reply` and asks it when
it wants the answer; what arrives before is kept for its own holder, or dropped if that has gone.
A frame is received into memory of its own size, and the records of a fetch are views of it.

Every wait is bounded by a time-out and every answer by a size. What cannot be an answer of a Kafka
broker is named when its first bytes tell (HTTP, TLS). After any failure the connection is closed
for good, because its stream has no next frame any more. The class refuses to know leaders, retries
and what a message means.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import ssl
import weakref
from collections import deque
from collections.abc import Mapping
from struct import Struct
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from headrace import __version__
from headrace.errors import Error, HeadraceError
from headrace.types import Buffer
from headrace.wire import decode
from headrace.wire.header import decode_response_header, encode_request
from headrace.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from headrace.wire.registry import Api, by_key
from headrace.wire.schema import LAST_VERSION, info

_SIZE: Final = Struct(">i")
_SOFTWARE_NAME: Final = "headrace-python"
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


class Reply:
    """The answer to one request, there or still to come.

    Whoever loses interest lets go of it: the connection holds it by a weak reference only.
    """

    __slots__ = ("__weakref__", "_frame", "_response", "_version", "connection", "correlation_id")

    def __init__(
        self, connection: Connection, correlation_id: int, version: int, response: type[Any]
    ) -> None:
        self.connection = connection
        self._version = version
        self._response = response
        self._frame: bytearray | None = None
        self.correlation_id = correlation_id

    def is_here(self) -> bool:
        """Whether `result` would return, or raise, without waiting for the broker to think."""
        connection = self.connection
        try:
            while self._frame is None and connection.is_open and connection.has_input():
                connection.receive_next()
        except HeadraceError:
            pass  # The connection is closed now, which `result` will tell.
        return self._frame is not None or not connection.is_open

    def result(self) -> Any:
        """The response, waited for. Ask once."""
        while self._frame is None:
            self.connection.receive_next()
        frame, self._frame = self._frame, None
        version = self._version
        _, position = decode_response_header(frame, 0, version, self._response)
        # A broker that does not know our ApiVersions answers in the layout of v0 (KIP-511).
        if self._response is ApiVersionsResponse and _is_refused(frame, position):
            version = 0
        return decode(self._response, version, frame, position)

    def take(self, frame: bytearray) -> None:
        """The connection hands over what came."""
        self._frame = frame


class _Awaited(NamedTuple):
    correlation_id: int
    holder: weakref.ref[Reply]


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
        self.where = (host, port)
        self.address = f"{host}:{port}"
        self.is_open = True
        self._client_id = client_id
        self._max_bytes = max_bytes
        self._awaited: deque[_Awaited] = deque()
        self._unread: deque[Reply] = deque()
        self._next_correlation_id = 1
        self._served: dict[int, range] | None = None
        self._features: dict[str, int] = {}
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
        self.is_open = False
        self._socket.close()

    @property
    def is_idle(self) -> bool:
        """Whether no answer is outstanding that a further request would have to wait for."""
        return not self._awaited

    @property
    def is_usable(self) -> bool:
        """Whether another request may be sent. A broker closes connections that were idle for long;
        nobody hears of it before looking, and then it is too late for the request.
        """
        if self.is_open and self.is_idle and self.has_input():
            self.close()  # nothing is awaited, so what has come is the end, or no answer
        return self.is_open

    def set_timeout(self, timeout_s: float) -> None:
        """Bound each wait from now on."""
        if self.is_open:
            self._socket.settimeout(timeout_s)

    def call(self, request: Any, version: int | None = None) -> Any:
        """Send one request and return its response; without a version, the newest both know."""
        return self.request(request, version).result()

    def request(self, request: Any, version: int | None = None) -> Reply:
        """Send one request, whose answer will be in the `Reply`."""
        api = by_key(info(type(request)).key)
        if version is None:
            version = self._choose(api)
        correlation_id = self._send(request, version)
        reply = Reply(self, correlation_id, version, api.response)
        self._awaited.append(_Awaited(correlation_id, weakref.ref(reply)))
        return reply

    def send(self, request: Any, version: int, *, answered: bool = True) -> int:
        """Send without waiting; returns the correlation id. Produce with acks=0 has no answer."""
        if not answered:
            return self._send(request, version)
        reply = self.request(request, version)
        self._unread.append(reply)
        return reply.correlation_id

    def receive(self) -> Any:
        """The response to the oldest `send` that has none yet."""
        assert self._unread, "receive() without a request under way"
        return self._unread.popleft().result()

    def receive_next(self) -> None:
        """Read one frame and give it to whom it belongs."""
        if not self.is_open:
            raise ConnectionLost(f"the connection to {self.address} was lost before the answer")
        assert self._awaited, "no request is under way"
        frame = self.receive_frame()
        expected, holder = self._awaited.popleft()
        (found,) = _SIZE.unpack_from(frame)
        if found != expected:
            self.close()
            raise NotKafka(
                f"{self.address} answered request {found} where {expected} was next",
                bytes(frame[:4]),
            )
        reply = holder()
        if reply is not None:
            reply.take(frame)

    def has_input(self) -> bool:
        """Whether bytes of an answer wait to be read."""
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return True
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def _send(self, request: Any, version: int) -> int:
        correlation_id = self._next_correlation_id
        self._next_correlation_id = correlation_id % 0x7FFFFFFF + 1
        self.send_bytes(b"".join(encode_request(correlation_id, self._client_id, version, request)))
        return correlation_id

    def send_bytes(self, data: Buffer) -> None:
        """Send these bytes as they are; tests use it to send what no client would."""
        try:
            self._socket.sendall(data)
        except TimeoutError:
            self.close()
            raise ConnectionLost(f"{self.address} does not take bytes in time") from None
        except OSError as error:
            self.close()
            raise ConnectionLost(f"{self.address} closed the connection ({error})") from None

    def receive_frame(self) -> bytearray:
        """The next frame without its size."""
        head = self._receive_exactly(4)
        (size,) = _SIZE.unpack(head)
        if not 4 <= size <= self._max_bytes:
            self.close()
            raise NotKafka(f"{self.address} {_describe(bytes(head), size)}", bytes(head))
        return self._receive_exactly(size)

    def _receive_exactly(self, size: int) -> bytearray:
        buffer = bytearray(size)
        view = memoryview(buffer)
        filled = 0
        while filled < size:
            try:
                count = self._socket.recv_into(view[filled:])
            except TimeoutError:
                self.close()
                raise ConnectionLost(f"{self.address} does not answer in time") from None
            except OSError as error:
                self.close()
                reason = errno.errorcode.get(error.errno or 0, str(error))
                raise ConnectionLost(f"{self.address} broke the connection ({reason})") from None
            if not count:
                self.close()
                raise ConnectionLost(f"{self.address} closed the connection without an answer")
            filled += count
        return buffer

    def negotiate(self) -> None:
        """Introduce this client and learn versions and features, in the newest common version."""
        request = ApiVersionsRequest(
            client_software_name=_SOFTWARE_NAME, client_software_version=__version__
        )
        newest = info(ApiVersionsRequest).versions[-1]
        response = self.call(request, newest)
        if response.error_code == Error.UNSUPPORTED_VERSION:
            theirs = max(
                (api.max_version for api in response.api_keys if api.api_key == 18), default=0
            )
            response = self.call(request, max(0, min(theirs, newest)))
        if response.error_code:
            raise Unsupported(
                f"{self.address} refuses ApiVersions with error {response.error_code}"
            )
        self._served = _ranges(response)
        self._features = {
            feature.name: feature.max_version_level for feature in response.finalized_features
        }

    @property
    def features(self) -> Mapping[str, int]:
        """The cluster's finalized features, as `negotiate` heard of them."""
        return self._features

    def served(self) -> dict[int, range]:
        """The versions of each API that the broker says it serves.

        Without `negotiate` the question has version 0, which everything that speaks Kafka answers.
        """
        if self._served is None:
            self._served = _ranges(self.call(ApiVersionsRequest(), 0))
        return self._served

    def newest(self, request: type, *, at_most: int = LAST_VERSION) -> int:
        """The newest version of this request that both know, up to a bound of the caller's."""
        return self._choose(by_key(info(request).key), at_most)

    def _choose(self, api: Api, at_most: int = LAST_VERSION) -> int:
        theirs = self.served().get(api.key, range(0))
        common = [v for v in api.versions if v in theirs and v <= at_most]
        if not common:
            raise Unsupported(f"{self.address} and this client share no version of {api.name}")
        return common[-1]


def _ranges(response: ApiVersionsResponse) -> dict[int, range]:
    return {api.api_key: range(api.min_version, api.max_version + 1) for api in response.api_keys}


def _is_refused(frame: bytearray, position: int) -> bool:
    return frame[position : position + 2] == Error.UNSUPPORTED_VERSION.to_bytes(2, "big")


def _describe(head: bytes, size: int) -> str:
    if head[:4] == b"HTTP":
        return "answers in HTTP, so it is not a Kafka broker"
    if head[:2] in (b"\x15\x03", b"\x16\x03"):
        return "answers in TLS, so it wants security.protocol=SSL"
    return f"announces an answer of {size} bytes, which no Kafka broker would send"
