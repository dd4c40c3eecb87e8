"""Questions about topics and brokers, through librdkafka's admin client, awaited by the loop.

The client is opened with the first question. `call` takes whatever the admin client answers with:
a future, futures by name, or a plain value; `blocking` is for its few methods that wait by
themselves. Failures come as `RestError`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from headrace.rest import errors
from headrace.rest.kafka_faults import rest_error

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

TIMEOUT_S: Final = 10.0
MAX_WAITING: Final = 64
_THREADS: Final = 4
T = TypeVar("T")


def admin_api() -> Any:
    """The module `confluent_kafka.admin`, untyped: its type information hides its public names."""
    return import_module("confluent_kafka.admin")


class Admin:
    """The admin client of this process."""

    def __init__(self, properties: dict[str, Any]) -> None:
        self._properties = properties
        self._client: AdminClient | None = None
        self._executor: ThreadPoolExecutor | None = None
        self._under_way = 0

    def _opened(self) -> AdminClient:
        if self._client is None:
            self._client = admin_api().AdminClient(self._properties)
        assert self._client is not None
        return self._client

    async def call(self, ask: Callable[[AdminClient], Any]) -> Any:
        """The value of one future, or a dict of values; the first failure is raised."""
        from confluent_kafka import KafkaException

        try:
            answer = ask(self._opened())
            if isinstance(answer, Future):
                return await asyncio.wrap_future(answer)
            if isinstance(answer, dict):
                values = await asyncio.gather(
                    *(asyncio.wrap_future(future) for future in answer.values())
                )
                return dict(zip(answer, values, strict=True))
            return answer
        except KafkaException as error:
            raise rest_error(error.args[0]) from None

    async def blocking(self, ask: Callable[[AdminClient], T]) -> T:
        """What a method returns that waits for the broker itself."""
        from confluent_kafka import KafkaException

        if self._under_way >= MAX_WAITING:
            raise errors.too_many_requests("Too many requests wait for Kafka: try again later")
        if self._executor is None:
            # Threads of its own: while no broker answers, what waits here must not hold up others.
            self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="rest-admin")
        self._under_way += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._executor, ask, self._opened())
        except KafkaException as error:
            raise rest_error(error.args[0]) from None
        finally:
            self._under_way -= 1

    def close(self) -> None:
        """Let the waiting threads go."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
