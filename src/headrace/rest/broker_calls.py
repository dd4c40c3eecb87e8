"""Questions to brokers from the event loop: a few threads, each with an `Admin` of its own.

A question is a plain blocking function; it returns, or raises what the version of the API turns
into an answer. Threads and the questions that wait for one are bounded, and each question by the
client's time-out.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from headrace.admin.client import Admin
from headrace.client.settings import ClientSettings
from headrace.errors import HeadraceError
from headrace.rest.errors import RestError, too_many_requests
from headrace.rest.v3 import faults

T = TypeVar("T")

MAX_WAITING: Final = 256
"""Questions that may wait for a thread; further ones are answered 429."""


class BrokerCalls:
    """The way from a route to the brokers. Clients are opened on first use and kept."""

    def __init__(self, settings: ClientSettings, *, threads: int = 8, name: str = "asks") -> None:
        self._settings = settings
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=f"rest-{name}")
        self._max_under_way = threads + MAX_WAITING
        self._under_way = 0
        self._idle: list[Admin] = []
        self._closed = False
        self._lock = threading.Lock()
        self._cluster_id: str | None = None

    async def ask(
        self,
        question: Callable[[Admin], T],
        answer_to: Callable[[HeadraceError], RestError] = faults.of_client,
    ) -> T:
        """What the question returns; its errors come as `RestError`."""
        if self._under_way >= self._max_under_way:
            raise too_many_requests("too many requests wait for the brokers: try again later")
        self._under_way += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._executor, self._answer, question)
        except HeadraceError as error:
            raise answer_to(error) from None
        finally:
            self._under_way -= 1

    def _answer(self, question: Callable[[Admin], T]) -> T:
        with self._lock:
            admin = self._idle.pop() if self._idle else None
        if admin is None:
            admin = Admin(self._settings)
        try:
            return question(admin)
        finally:
            with self._lock:
                kept = not self._closed
                if kept:
                    self._idle.append(admin)
            if not kept:
                admin.close()

    async def cluster_id(self) -> str:
        """The id of the cluster behind this proxy, asked for once."""
        if self._cluster_id is None:
            self._cluster_id = (await self.ask(Admin.describe_cluster)).cluster_id
        return self._cluster_id

    def close(self) -> None:
        """Close what is idle; a question under way closes its client when it is done."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for admin in idle:
            admin.close()
        self._executor.shutdown(wait=False, cancel_futures=True)
