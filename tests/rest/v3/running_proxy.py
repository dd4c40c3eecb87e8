"""A REST Proxy on a socket of this machine, in a thread, and a client that says what it got."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, Self

from starlette.applications import Starlette

from headrace.http.listeners import BACKLOG, Listener, bind
from headrace.http.server import build_server
from headrace.rest.app import build
from headrace.rest.service import RestService
from headrace.rest.settings import rest_settings

TIMEOUT_S = 20
BROKER = 1001
"""The id that the first broker of a cluster gets."""


class Answer(NamedTuple):
    """A response as a test looks at it."""

    status: int
    body: Any
    headers: dict[str, str]


class RunningProxy:
    """`with RunningProxy(broker.bootstrap_servers) as proxy: proxy.get("/v3/clusters")`."""

    def __init__(self, bootstrap: str, **properties: str) -> None:
        settings, unknown = rest_settings(
            {
                "bootstrap.servers": bootstrap,
                "client.default.api.timeout.ms": "10000",
                "client.retry.backoff.ms": "20",
                "listeners": "http://127.0.0.1:0",
                "peer.discovery": "NONE",
                **{name.replace("_", "."): text for name, text in properties.items()},
            }
        )
        assert not unknown
        self._settings = settings
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self.app: Starlette
        self.service: RestService
        self.port = 0

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.service, self.app = build(self._settings)
        self._server = build_server(self.app, self._settings, "http", websockets=True)
        bound, where = bind(Listener("http", "127.0.0.1", 0))
        bound.listen(BACKLOG)
        self.port = where.port
        self._ready.set()
        try:
            await self._server.serve([bound])
        finally:
            await self.service.close()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(TIMEOUT_S)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self._server.should_exit = True
        self._thread.join(TIMEOUT_S)
        assert not self._thread.is_alive()

    def stop(self) -> None:
        """End what would go on for ever, as a proxy does that is told to stop."""
        self._loop.call_soon_threadsafe(self.service.stop)

    # -- asking -----------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """One request; `body` is sent as JSON unless it is bytes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        try:
            data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            stated = {} if data is None else {"content-type": "application/json"}
            connection.request(method, path, data, stated | (headers or {}))
            response = connection.getresponse()
            text = response.read()
            is_json = response.headers.get_content_type() == "application/json"
            parsed = json.loads(text) if is_json and text.count(b"\r\n") <= 1 else text
            return Answer(response.status, parsed or None, dict(response.getheaders()))
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """The body of a resource that must be there."""
        answer = self.ask("GET", path)
        assert answer.status == 200, answer
        return answer.body


def eventually(holds: Callable[[], Any], timeout_s: float = TIMEOUT_S) -> Any:
    """The first true value; for what another process or thread does in its own time."""
    end = time.monotonic() + timeout_s
    while not (value := holds()):
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)
    return value
