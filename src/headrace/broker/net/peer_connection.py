"""One connection to another broker: requests out, responses in, in the order of the requests.

The mirror of `connection`: frames are cut by the same reader, a large response is
received straight into its own memory, and the records of a fetch stay views of it. Requests are
pipelined; each has a deadline, and a deadline that passes ends the connection, because whatever
comes after it would have to wait behind the answer that does not come. The class refuses to know
which broker it speaks to, when to try again, and what a message means.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Final, NamedTuple, cast

from headrace import __version__
from headrace.errors import Error, HeadraceError
from headrace.wire import decoder
from headrace.wire.frame import BadFrame, FrameReader
from headrace.wire.header import decode_response_header, encode_request
from headrace.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from headrace.wire.registry import Api, by_key
from headrace.wire.schema import Decoder, info

_SOFTWARE_NAME: Final = "headrace-broker"
_API_VERSIONS: Final = 3  # the version that every broker of this project answers


class PeerLost(HeadraceError):
    """The connection ended, or was ended, before the answer; the text says why."""


class _Awaited(NamedTuple):
    correlation_id: int
    version: int
    response: type[Any]
    decode: Decoder
    deadline: float
    future: asyncio.Future[Any]


class PeerConnection(asyncio.BufferedProtocol):
    """See the module."""

    __slots__ = (
        "_alarm",
        "_alarm_at",
        "_awaited",
        "_client_id",
        "_correlation_id",
        "_loop",
        "_reader",
        "_served",
        "_transport",
        "_versions",
        "closed_because",
    )

    def __init__(
        self, loop: asyncio.AbstractEventLoop, client_id: str, reader: FrameReader
    ) -> None:
        self._loop = loop
        self._client_id = client_id
        self._reader = reader
        self._transport: asyncio.Transport | None = None
        self._correlation_id = 0
        self._awaited: deque[_Awaited] = deque()
        self._served: dict[int, range] = {}
        self._versions: dict[type[Any], tuple[int, type[Any], Decoder]] = {}
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = 0.0
        self.closed_because = ""  # empty while the connection is open

    # -- asyncio's side ---------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one only in duty

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._reader.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            for frame in self._reader.received(nbytes):
                self._on_frame(frame)
        except BadFrame as fault:
            self.abort(f"its answer is not a Kafka response ({fault})")
        except HeadraceError as fault:
            self.abort(f"its answer cannot be read ({fault})")

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._fail(f"the connection was broken ({exc})" if exc else "it closed the connection")

    # -- requests ---------------------------------------------------------------------------------

    async def negotiate(self, timeout_s: float) -> None:
        """Learn which versions the other side serves; the first request of every connection."""
        request = ApiVersionsRequest(
            client_software_name=_SOFTWARE_NAME, client_software_version=__version__
        )
        self._versions[ApiVersionsRequest] = (
            _API_VERSIONS,
            ApiVersionsResponse,
            decoder(ApiVersionsResponse, _API_VERSIONS),
        )
        answer: ApiVersionsResponse = await self.ask(request, timeout_s)
        if answer.error_code:
            reason = f"it refused ApiVersions with error {Error(answer.error_code).name}"
            self.abort(reason)
            raise PeerLost(reason)
        self._served = {
            api.api_key: range(api.min_version, api.max_version + 1) for api in answer.api_keys
        }

    def ask(self, request: Any, timeout_s: float) -> asyncio.Future[Any]:
        """Send a request in the newest version that both sides know; the future has its answer."""
        if self.closed_because:
            raise PeerLost(self.closed_because)
        assert self._transport is not None
        known = self._versions.get(type(request))
        if known is None:
            known = self._versions[type(request)] = self._choose(type(request))
        version, response, decode = known
        self._correlation_id = correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        chunks = encode_request(correlation_id, self._client_id, version, request)
        future: asyncio.Future[Any] = self._loop.create_future()
        deadline = self._loop.time() + timeout_s
        self._awaited.append(_Awaited(correlation_id, version, response, decode, deadline, future))
        if self._alarm is None or deadline < self._alarm_at:
            self._arm(deadline)
        self._transport.writelines(chunks)
        return future

    def _choose(self, request: type[Any]) -> tuple[int, type[Any], Decoder]:
        api = by_key(info(request).key)
        theirs = self._served.get(api.key, range(0))
        version = min(api.max_version, theirs[-1] if theirs else -1)
        if version < api.min_version or version not in theirs:
            raise PeerLost(_no_common_version(api, theirs))
        return version, api.response, decoder(api.response, version)

    # -- responses --------------------------------------------------------------------------------

    def _on_frame(self, frame: bytes | bytearray) -> None:
        if not self._awaited:
            raise PeerLost("an answer to nothing that was asked")
        awaited = self._awaited[0]
        correlation_id, position = decode_response_header(
            frame, 0, awaited.version, awaited.response
        )
        if correlation_id != awaited.correlation_id:
            raise PeerLost(
                f"request {awaited.correlation_id} was next, {correlation_id} was answered"
            )
        message, _ = awaited.decode(frame, position, memoryview(frame))
        self._awaited.popleft()
        if not awaited.future.done():
            awaited.future.set_result(message)

    # -- the end ----------------------------------------------------------------------------------

    def abort(self, reason: str) -> None:
        """Close for good; whoever waits for an answer is told `reason`."""
        self._fail(reason)
        if self._transport is not None:
            self._transport.abort()

    def _fail(self, reason: str) -> None:
        self.closed_because = self.closed_because or reason
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        awaited, self._awaited = self._awaited, deque()
        for each in awaited:
            if not each.future.done():
                each.future.set_exception(PeerLost(self.closed_because))

    def _arm(self, deadline: float) -> None:
        """One timer for all requests: it is set for the earliest deadline and moved when it rings,
        so that a request that is answered in time never touches it.
        """
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = deadline
        self._alarm = self._loop.call_at(deadline, self._on_alarm)

    def _on_alarm(self) -> None:
        self._alarm = None
        if not self._awaited:
            return
        earliest = min(each.deadline for each in self._awaited)
        if earliest <= self._loop.time():
            self.abort("it did not answer in time")
        else:
            self._arm(earliest)


def _no_common_version(api: Api, theirs: range) -> str:
    served = f"v{theirs[0]}-v{theirs[-1]}" if theirs else "no version"
    return (
        f"it serves {served} of {api.name}, this broker speaks "
        f"v{api.min_version}-v{api.max_version}; run brokers of neighbouring releases"
    )
