"""Questions to brokers from the event loop: a few threads, each with a raw client of its own.

The raw client rather than librdkafka's admin client, because version 3 shows what the latter cannot
say: settings of all brokers together, every synonym of a setting, reassignments. A question is a
plain blocking function of a `Cluster`; it returns, or raises what `faults` turns into an answer.
Threads and the questions that wait for one are bounded, and each question by the client's time-out.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from headrace.client.cluster import Cluster
from headrace.client.connection import Connection
from headrace.client.faults import BrokerRefused
from headrace.client.retrying import PASSING, Deadline
from headrace.client.settings import ClientSettings
from headrace.errors import Error, HeadraceError
from headrace.rest.errors import RestError
from headrace.rest.v3 import faults
from headrace.wire.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)

T = TypeVar("T")

MAX_WAITING: Final = 256
"""Questions that may wait for a thread; more are told to come back later."""


class BrokerCalls:
    """The way from a route to the brokers. Clients are opened on first use and kept."""

    def __init__(self, settings: ClientSettings, *, threads: int = 8, name: str = "asks") -> None:
        self._settings = settings
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=f"rest-{name}")
        self._max_under_way = threads + MAX_WAITING
        self._under_way = 0
        self._idle: list[Cluster] = []
        self._closed = False
        self._lock = threading.Lock()
        self._cluster_id: str | None = None

    async def ask(self, question: Callable[[Cluster], T]) -> T:
        """What the question returns; its errors come as `RestError`."""
        if self._under_way >= self._max_under_way:
            raise RestError(429, 42901, "too many requests wait for the brokers: try again later")
        self._under_way += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._executor, self._answer, question)
        except HeadraceError as error:
            raise faults.of_client(error) from None
        finally:
            self._under_way -= 1

    def _answer(self, question: Callable[[Cluster], T]) -> T:
        with self._lock:
            cluster = self._idle.pop() if self._idle else None
        if cluster is None:
            cluster = Cluster(self._settings)
        try:
            return question(cluster)
        finally:
            with self._lock:
                kept = not self._closed
                if kept:
                    self._idle.append(cluster)
            if not kept:
                cluster.close()

    async def cluster_id(self) -> str:
        """The id of the cluster behind this proxy, asked for once."""
        if self._cluster_id is None:
            self._cluster_id = (await self.ask(describe_cluster)).cluster_id
        return self._cluster_id

    def close(self) -> None:
        """Close what is idle; a question under way closes its client when it is done."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for cluster in idle:
            cluster.close()
        self._executor.shutdown(wait=False, cancel_futures=True)


def ask_any(cluster: Cluster, request: Any, what: str) -> Any:
    """The response of whichever broker answers."""
    deadline = cluster.deadline(what)
    while True:
        try:
            return cluster.call(cluster.any_broker(within=deadline), request, deadline)
        except PASSING as error:
            deadline.rest(error)


def ask_broker(cluster: Cluster, broker_id: int, request: Any, what: str) -> Any:
    """The response of this broker, which must be one that the cluster knows."""
    deadline = cluster.deadline(what)
    while True:
        try:
            return cluster.call(_broker(cluster, broker_id, deadline), request, deadline)
        except PASSING as error:
            deadline.rest(error)


def ask_controller(
    cluster: Cluster, request: Any, what: str, codes: Callable[[Any], list[int]]
) -> Any:
    """The response of the controller, found anew if it moves; `codes` are those of a response."""
    deadline = cluster.deadline(what)
    while True:
        try:
            controller = describe_cluster(cluster).controller_id
            response = cluster.call(_broker(cluster, controller, deadline), request, deadline)
            if Error.NOT_CONTROLLER not in codes(response):
                return response
            raise BrokerRefused(Error.NOT_CONTROLLER, what)
        except PASSING as error:
            deadline.rest(error)


def _broker(cluster: Cluster, broker_id: int, deadline: Deadline) -> Connection:
    # Addresses come with metadata; asking for no topics at all is the cheapest way to hear them.
    cluster.topics([], within=deadline)
    return cluster.broker(broker_id, within=deadline)


def describe_cluster(cluster: Cluster) -> DescribeClusterResponse:
    """Id, controller and brokers."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=False)
    response: DescribeClusterResponse = ask_any(cluster, request, "describing the cluster")
    if response.error_code:
        raise faults.of_code(response.error_code, response.error_message)
    return response
