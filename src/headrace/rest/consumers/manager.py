"""All consumer instances of this proxy: created, found, used one thread at a time, and reaped.

The event loop owns the table; blocking work runs in threads. An instance that nobody used for
`consumer.instance.timeout.ms` is closed, so that its group gives its partitions to others.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from headrace.rest import errors
from headrace.rest.consumers.instance import ConsumerInstance
from headrace.rest.consumers.options import Options
from headrace.rest.errors import RestError
from headrace.rest.formats import SCHEMA_TYPES, Render, render_binary, render_json
from headrace.rest.librdkafka import consumer_properties
from headrace.rest.media_types import EmbeddedFormat
from headrace.rest.registry_faults import translated

if TYPE_CHECKING:
    from headrace.client.registry import Serdes
    from headrace.rest.settings import RestSettings

logger = logging.getLogger("kafkarest.consumers")

T = TypeVar("T")
MAX_WAITING: Final = 500
"""Requests that may wait for a thread; more are told to come back later."""


class Name(NamedTuple):
    """What an instance is found by: users do not see each other's instances."""

    user: str | None
    group: str
    instance: str


class Handle:
    """An instance, the lock that gives it one caller at a time, and when it is no longer wanted."""

    __slots__ = ("expires", "instance", "lock", "name")

    def __init__(self, name: Name, expires: float) -> None:
        self.name = name
        self.expires = expires
        self.lock = asyncio.Lock()
        self.instance: ConsumerInstance | None = None

    @property
    def options(self) -> Options:
        assert self.instance is not None
        return self.instance.options


class Consumers:
    """The table of instances by user, group and name."""

    def __init__(self, settings: RestSettings, serdes: Serdes) -> None:
        self._settings = settings
        self._serdes = serdes
        self._handles: dict[Name, Handle] = {}
        self._executor: ThreadPoolExecutor | None = None
        self._under_way = 0
        self._reaper: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._handles)

    def start(self) -> None:
        """Begin to reap."""
        self._reaper = asyncio.get_running_loop().create_task(self._reap())

    async def create(self, user: str | None, group: str, options: Options) -> Handle:
        """A new instance; 40902 if the name is taken, 429 if there are too many."""
        name = Name(user, group, options.name or self._new_name())
        if name in self._handles:
            raise errors.consumer_already_exists()
        if len(self._handles) >= self._settings.consumer_instances_max:
            raise errors.too_many_requests(
                f"This proxy has {len(self._handles)} consumer instances, the most that it may "
                "have (consumer.instances.max): delete some",
                retry_after_s=10,
            )
        handle = self._handles[name] = Handle(name, self._expiry())
        try:
            async with handle.lock:
                handle.instance = await self._in_thread(lambda: self._open(group, options))
        except BaseException:
            del self._handles[name]
            raise
        return handle

    def find(self, name: Name) -> Handle | None:
        """The instance of this name if it is here."""
        handle = self._handles.get(name)
        return handle if handle is not None and handle.instance is not None else None

    async def use(self, handle: Handle, call: Callable[[ConsumerInstance], T]) -> T:
        """What a call returns that has the instance for itself."""
        # A client that goes away must not leave its instance to two threads at once, so what has
        # begun is finished whether somebody waits for it or not.
        return await asyncio.shield(self._use(handle, call))

    async def _use(self, handle: Handle, call: Callable[[ConsumerInstance], T]) -> T:
        async with handle.lock:
            instance = handle.instance
            if instance is None or instance.is_closing:
                raise errors.consumer_instance_not_found()
            try:
                return await self._in_thread(lambda: call(instance))
            finally:
                handle.expires = self._expiry()

    async def delete(self, handle: Handle) -> None:
        """Close an instance; a read that is under way ends early."""
        if self._handles.pop(handle.name, None) is None:
            raise errors.consumer_instance_not_found()
        instance = handle.instance
        assert instance is not None
        instance.is_closing = True
        async with handle.lock:
            await self._in_thread(instance.close)

    async def close(self) -> None:
        """Close everything, all at once."""
        if self._reaper is not None:
            self._reaper.cancel()
        handles = [handle for handle in self._handles.values() if handle.instance is not None]
        await asyncio.gather(*map(self.delete, handles), return_exceptions=True)
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    # -- inside -----------------------------------------------------------------------------------

    def _open(self, group: str, options: Options) -> ConsumerInstance:
        from confluent_kafka import Consumer, KafkaException

        settings = self._settings
        properties = consumer_properties(settings.kafka, settings.consumer)
        try:
            consumer = Consumer({**properties, **options.properties, "group.id": group})
        except KafkaException as error:
            raise errors.invalid_consumer_config(error.args[0].str()) from None
        return ConsumerInstance(consumer, options, self._renderer(options.format))

    def _renderer(self, embedded: EmbeddedFormat) -> Render:
        if embedded is EmbeddedFormat.BINARY:
            return render_binary
        if embedded is EmbeddedFormat.JSON:
            return render_json
        expected = SCHEMA_TYPES[embedded]

        def render(data: bytes, header: bytes | None) -> object:
            return self._serdes.decode(data, header=header, expected=expected).value

        return render

    async def _in_thread(self, call: Callable[[], T]) -> T:
        if self._under_way >= self._settings.consumer_threads + MAX_WAITING:
            raise errors.too_many_requests("Too many requests of consumers wait: try again later")
        if self._executor is None:
            self._executor = ThreadPoolExecutor(
                self._settings.consumer_threads, thread_name_prefix="rest-consumer"
            )
        self._under_way += 1
        try:
            with translated():
                return await asyncio.get_running_loop().run_in_executor(self._executor, call)
        finally:
            self._under_way -= 1

    def _new_name(self) -> str:
        server = f"{self._settings.id}-" if self._settings.id else ""
        return f"rest-consumer-{server}{uuid.uuid4()}"

    def _expiry(self) -> float:
        return time.monotonic() + self._settings.consumer_instance_timeout_ms / 1000

    async def _reap(self) -> None:
        """Close what has expired; looks often enough to be late by a tenth at most."""
        pause_s = min(1.0, self._settings.consumer_instance_timeout_ms / 10_000)
        while True:
            await asyncio.sleep(pause_s)
            now = time.monotonic()
            expired = [
                handle
                for handle in self._handles.values()
                if handle.expires < now and not handle.lock.locked()
            ]
            for handle in expired:
                _, group, instance = handle.name
                logger.info("the consumer %s of %s was idle: closed", instance, group)
                try:
                    await self.delete(handle)
                except RestError as error:
                    logger.warning("closing the consumer %s: %s", instance, error)
