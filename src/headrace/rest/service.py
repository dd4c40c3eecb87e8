"""The proxy as a service over HTTP: what its endpoints share, its errors, its life."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.requests import HTTPConnection
from starlette.routing import BaseRoute

from headrace.errors import HeadraceError
from headrace.http.endpoint import Endpoint
from headrace.http.listeners import Listener
from headrace.http.refusals import Refusal
from headrace.http.service import Service
from headrace.rest.broker_calls import BrokerCalls
from headrace.rest.call import Call
from headrace.rest.consumers.routing import is_elsewhere
from headrace.rest.context import Proxy
from headrace.rest.live.session import Session
from headrace.rest.live.socket import socket_route
from headrace.rest.request_faults import rest_error
from headrace.rest.routes import ENDPOINTS
from headrace.rest.settings import RestSettings

READ_THREADS: Final = 16
_CLOSE_TIMEOUT_S: Final = 5.0


class RestService(Service):
    """An instance of the proxy, and what its endpoints need besides."""

    name = "rest"
    title = "Headrace REST Proxy"
    about = "Kafka over HTTP: produce, consume and administer."
    metrics = "kafka_rest"

    def __init__(self, settings: RestSettings) -> None:
        super().__init__(settings, ENDPOINTS)
        self.proxy = Proxy(settings)
        client = settings.client_settings()
        self.calls = BrokerCalls(client)
        # Reads may wait: they have threads apart from those that ask about the cluster.
        self.reads = BrokerCalls(client, threads=READ_THREADS, name="reads")
        self.sessions: set[Session] = set()
        self.streams: set[asyncio.Task[None]] = set()
        """Tasks that read requests without an end; to cancel one is to end its request there."""

    def call(self, endpoint: Endpoint, request: HTTPConnection, media_type: str) -> Call:
        return Call(self, endpoint, request, media_type)

    async def decode(self, call: Any, kind: Any) -> Any:
        """What is for an instance elsewhere is passed on as it came."""
        return None if is_elsewhere(call) else await super().decode(call, kind)

    def refusal(self, error: HeadraceError, endpoint: Endpoint | None) -> Refusal | None:
        told = rest_error(error, endpoint)
        if told is None:
            return super().refusal(error, endpoint)
        headers: tuple[tuple[bytes, bytes], ...] = ()
        if told.retry_after_s is not None:
            headers += ((b"retry-after", b"%d" % told.retry_after_s),)
        if told.http_status == 401:
            headers += ((b"www-authenticate", b"Basic"),)
        return Refusal(told.http_status, told.message, told.error_code, headers)

    def gauges(self) -> Mapping[str, tuple[str, int | float]]:
        return {
            "consumer_instances": ("Consumers of this instance.", len(self.proxy.consumers)),
            "live_sessions": ("Clients that follow topics.", len(self.sessions)),
            "produce_streams": ("Requests that stream records in.", len(self.streams)),
        }

    # -- life -------------------------------------------------------------------------------------

    def routes(self) -> Sequence[BaseRoute]:
        return (socket_route(self),)

    def listening(self, bound: Sequence[Listener]) -> None:
        """Tell the other instances where this one is."""
        self.proxy.start(bound[0])

    def stop(self) -> None:
        for session in list(self.sessions):
            session.close()
        for stream in list(self.streams):
            stream.cancel()

    async def close(self) -> None:
        """End every session, so that each has left its group, and let the waiting threads go."""
        sessions = list(self.sessions)
        self.stop()
        end = time.monotonic() + _CLOSE_TIMEOUT_S
        for session in sessions:
            session.has_ended.wait(max(0.0, end - time.monotonic()))
        self.reads.close()
        self.calls.close()
        await self.proxy.close()
