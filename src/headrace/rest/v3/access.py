"""From a request to the cluster it names: the calls to its brokers and the links below it."""

from __future__ import annotations

import asyncio

from starlette.applications import Starlette
from starlette.requests import HTTPConnection

from headrace.rest.context import Proxy
from headrace.rest.v3 import faults
from headrace.rest.v3.asking import BrokerCalls
from headrace.rest.v3.resources import Links


def proxy_of(request: HTTPConnection) -> Proxy:
    proxy: Proxy = request.app.state.proxy
    return proxy


def broker_calls(app: Starlette) -> BrokerCalls:
    """The calls of this application, made on first use."""
    calls: BrokerCalls | None = getattr(app.state, "broker_calls", None)
    if calls is None:
        proxy: Proxy = app.state.proxy
        calls = app.state.broker_calls = BrokerCalls(proxy.settings.client_settings())
    return calls


def open_streams(app: Starlette) -> set[asyncio.Task[None]]:
    """The tasks that read requests without an end; to cancel one is to end its request there."""
    streams: set[asyncio.Task[None]] | None = getattr(app.state, "open_streams", None)
    if streams is None:
        streams = app.state.open_streams = set()
    return streams


async def enter(request: HTTPConnection) -> tuple[BrokerCalls, Links]:
    """The calls and links of the cluster in the path; any other cluster is not found."""
    calls = broker_calls(request.app)
    cluster_id = await calls.cluster_id()
    asked = request.path_params["cluster_id"]
    if asked != cluster_id:
        raise faults.not_found(f"Cluster {asked} cannot be found.")
    return calls, Links(request, cluster_id)
