"""A server in the test's own loop that speaks as much of the protocol as it is told to.

It stands for another broker where a real one would not misbehave as wanted: it may be slow, answer
out of order, send nonsense, or die at a chosen moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from struct import Struct
from types import MappingProxyType
from typing import Any

import uvloop

from headrace.cluster.image import BrokerRegistration, ClusterImage, Endpoint
from headrace.wire import decode
from headrace.wire.header import decode_request_header, encode_response, peek
from headrace.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from headrace.wire.registry import all_apis, by_key

_SIZE = Struct(">i")
LISTENER = "PLAINTEXT"

Answering = Callable[[Any], Awaitable[Any]]


def run(main: Coroutine[Any, Any, None], timeout_s: float = 20) -> None:
    """Run a test on the loop that brokers use."""

    async def bounded() -> None:
        async with asyncio.timeout(timeout_s):
            await main

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(bounded())


def image_of(ports: Mapping[int, int], *, epoch: int = 1) -> ClusterImage:
    """A cluster of these brokers, all on this host."""
    return ClusterImage(
        "cluster",
        brokers={
            broker_id: BrokerRegistration(
                broker_id, {LISTENER: Endpoint("127.0.0.1", port)}, None, epoch
            )
            for broker_id, port in ports.items()
        },
    )


def api_versions(others: Mapping[int, tuple[int, int]] = MappingProxyType({})) -> Any:
    """What this broker serves, except for some APIs."""
    served = {api.key: (api.min_version, api.max_version) for api in all_apis()}
    return ApiVersionsResponse(
        error_code=0,
        api_keys=[
            ApiVersion(api_key=key, min_version=lowest, max_version=highest)
            for key, (lowest, highest) in (served | dict(others)).items()
        ],
    )


@dataclass
class FakeBroker:
    """`answers` maps a request class to what answers it; bytes are sent as they are."""

    answers: dict[type, Answering]
    versions: dict[int, tuple[int, int]] = field(default_factory=dict)
    port: int = 0
    heard: list[tuple[str | None, int, Any]] = field(default_factory=list)
    connections: list[asyncio.StreamWriter] = field(default_factory=list)
    serving: set[asyncio.Task[None]] = field(default_factory=set)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something that is heard, or somebody who leaves, makes it true."""
        async with self.news:
            await self.news.wait_for(condition)

    def hang_up(self) -> None:
        for connection in self.connections:
            connection.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(writer)
        task = asyncio.current_task()
        assert task is not None
        self.serving.add(task)
        try:
            while True:
                (size,) = _SIZE.unpack(await reader.readexactly(4))
                await self._answer(await reader.readexactly(size), writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.serving.discard(task)
            writer.close()
        async with self.news:
            self.news.notify_all()

    async def _answer(self, frame: bytes, writer: asyncio.StreamWriter) -> None:
        key, version, correlation_id = peek(frame)
        api = by_key(key)
        header, position = decode_request_header(frame, 0, api.request)
        request: Any = decode(api.request, version, frame, position)
        self.heard.append((header.client_id, version, request))
        async with self.news:
            self.news.notify_all()
        answering = self.answers.get(api.request)
        if answering is not None:
            answer = await answering(request)
        else:
            assert api.name == "ApiVersions", f"nobody told how to answer {api.name}"
            answer = api_versions(self.versions)
        if answer is None:
            return
        if not isinstance(answer, bytes):
            answer = b"".join(encode_response(correlation_id, version, answer))
        writer.write(answer)


@asynccontextmanager
async def fake_broker(
    answers: dict[type, Answering] | None = None,
    *,
    versions: dict[int, tuple[int, int]] | None = None,
    port: int = 0,
) -> AsyncIterator[FakeBroker]:
    fake = FakeBroker(answers or {}, versions or {})
    server = await asyncio.start_server(fake.serve, "127.0.0.1", port)
    fake.port = server.sockets[0].getsockname()[1]
    try:
        yield fake
    finally:
        server.close()
        fake.hang_up()
        serving = list(fake.serving)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving)
