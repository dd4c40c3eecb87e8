"""A worker as a service over HTTP: where its handlers run, its errors, its health."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.errors import HeadraceError
from headrace.http.application import build_app
from headrace.http.endpoint import Endpoint
from headrace.http.entrance import entrance
from headrace.http.listeners import Listener
from headrace.http.refusals import Refusal
from headrace.http.running import Beside
from headrace.http.service import Service
from headrace.pipelines.connect.api import connectors, loggers, offsets, plugins, root, tasks
from headrace.pipelines.connect.api.call import Call
from headrace.pipelines.connect.api.errors import CONFLICT, NO_LEADER, TOO_FAR, Answered, answered
from headrace.pipelines.connect.api.forwarding import FORWARD, Carried, forward
from headrace.pipelines.connect.api.settings import advertised, http_settings
from headrace.pipelines.connect.config.providers import Provider
from headrace.pipelines.connect.config.worker import WorkerConfig
from headrace.pipelines.connect.faults import ConfigException, ConnectException
from headrace.pipelines.connect.worker.forwarding import tls_between_workers
from headrace.pipelines.connect.worker.loggers import Loggers
from headrace.pipelines.connect.worker.worker import AskElsewhere, Worker

THREADS: Final = 16
CONNECTIONS: Final = 1_000
_EVERY: Final = (root, connectors, tasks, offsets, plugins)


class ConnectService(Service):
    """One worker, and what its endpoints need besides.

    `worker_at` is called once, with the address at which others find the worker.
    """

    name = "connect"
    title = "Headrace Connect"
    about = "Connectors of a worker: their settings, states and offsets."
    metrics = "kafka_connect_rest"

    def __init__(
        self,
        worker_at: Callable[[str], Worker],
        config: WorkerConfig,
        providers: Mapping[str, Provider],
        log_levels: Loggers,
    ) -> None:
        has_admin = config.values["admin.listeners"] is None
        nouns = (*_EVERY, loggers) if has_admin else _EVERY
        endpoints = [endpoint for noun in nouns for endpoint in noun.table.endpoints]
        super().__init__(http_settings(config), endpoints)
        self.worker: Worker
        self.address = ""
        self._worker_at = worker_at
        self.config = config
        self.providers = providers
        self.loggers = log_levels
        self.was_well = False
        self._threads = ThreadPoolExecutor(THREADS, "REST")

    # -- requests ---------------------------------------------------------------------------------

    def call(self, endpoint: Endpoint, request: HTTPConnection, media_type: str) -> Call:
        return Call(self, endpoint, request, media_type)

    async def run(self, call: Any) -> object:
        """In a thread: a worker may wait for brokers and for other workers."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._handled, call)

    def _handled(self, call: Call) -> object:
        try:
            return call.endpoint.handle(call)
        except AskElsewhere as elsewhere:
            return _elsewhere(call, elsewhere.url)
        except (ConnectException, ConfigException) as fault:
            raise answered(fault) from fault

    def refusal(self, error: HeadraceError, endpoint: Endpoint | None) -> Refusal | None:
        if isinstance(error, Answered):
            return Refusal(error.status, str(error))
        return super().refusal(error, endpoint)

    # -- watching ---------------------------------------------------------------------------------

    def failure(self) -> str | None:
        return self.worker.trouble()

    # -- life -------------------------------------------------------------------------------------

    def listening(self, bound: Sequence[Listener]) -> None:
        self.address = bound[0].url
        self.worker = self._worker_at(f"{advertised(self.config, bound).url}/")

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _elsewhere(call: Call, url: str | None) -> Response:
    """The answer of the worker that must be asked."""
    if not call.flag(FORWARD, default=True):
        raise Answered(CONFLICT, TOO_FAR)
    if url is None:
        raise Answered(CONFLICT, NO_LEADER)
    scope = call.request.scope
    query = scope["query_string"].decode("latin-1")
    headers = dict(call.headers)
    tls = tls_between_workers(call.service.config, url)
    reply = forward(Carried(scope["method"], scope["path"], query, headers, call.raw), url, tls)
    kept = {name: reply.headers[name] for name in ("location",) if name in reply.headers}
    media_type = reply.headers.get("content-type")
    return Response(reply.body, reply.status, headers=kept, media_type=media_type)


class _RawPaths:
    """Middleware: routes match paths as they were sent, for a name may contain `/`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            raw: bytes = scope.get("raw_path") or scope["path"].encode()
            scope["path"] = raw.decode("latin-1").rstrip("/") or "/"
        await self._app(scope, receive, send)


def build(service: ConnectService) -> Starlette:
    """Its application."""
    way_in = entrance(service, authenticator=None, open_paths=(), unauthenticated_code=401)
    return build_app(service, [*way_in, Middleware(_RawPaths)])


def serving(service: ConnectService) -> Beside:
    """The service, to be started and stopped beside the worker."""
    return Beside(lambda: (service, build(service)), connections_max=CONNECTIONS)
