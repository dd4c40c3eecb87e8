"""aiokafka, the client for asyncio: it speaks old, non-flexible versions of every request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, for_code

from tests.clients.drivers.driver import TIMEOUT_SECONDS, Refused
from tests.clients.records import CODECS, NEITHER_KEY_NOR_VALUE, Record, Stored

Result = TypeVar("Result")


class Aiokafka:
    """A driver that runs each operation in an event loop of its own."""

    codecs = frozenset(CODECS)
    refuses = frozenset({NEITHER_KEY_NOR_VALUE})

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def produce(
        self,
        topic: str,
        partition: int,
        records: Sequence[Record],
        *,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
    ) -> list[int]:
        async def sent() -> list[int]:
            producer = AIOKafkaProducer(
                bootstrap_servers=self._bootstrap,
                acks="all" if acks == -1 else acks,
                compression_type=None if codec == "none" else codec,
                enable_idempotence=idempotent,
                linger_ms=20,
            )
            await producer.start()
            try:
                futures = [
                    await producer.send(
                        topic,
                        key=record.key,
                        value=record.value,
                        headers=list(record.headers),
                        partition=partition,
                        timestamp_ms=record.timestamp_ms,
                    )
                    for record in records
                ]
                # With acks=0 there is no metadata to be had, only the knowledge that it was sent.
                results = await asyncio.gather(*futures)
                return [-1 if result is None else result.offset for result in results]
            finally:
                await producer.stop()

        return _run(sent())

    def read(self, topic: str, partition: int, offset: int, count: int) -> list[Stored]:
        async def received() -> list[Stored]:
            async with self._consumer() as consumer:
                assigned = TopicPartition(topic, partition)
                consumer.assign([assigned])
                consumer.seek(assigned, offset)
                return [_stored(await consumer.getone(assigned)) for _ in range(count)]

        return _run(received())

    def create_topic(self, topic: str, partitions: int, config: Mapping[str, str]) -> None:
        async def create(admin: AIOKafkaAdminClient) -> Any:
            wanted = NewTopic(topic, partitions, 1, topic_configs=dict(config))
            return (await admin.create_topics([wanted])).topic_errors

        self._administer(create)

    def create_partitions(self, topic: str, total: int) -> None:
        async def create(admin: AIOKafkaAdminClient) -> Any:
            return (await admin.create_partitions({topic: NewPartitions(total)})).topic_errors

        self._administer(create)

    def delete_topic(self, topic: str) -> None:
        async def delete(admin: AIOKafkaAdminClient) -> Any:
            return (await admin.delete_topics([topic])).topic_error_codes

        self._administer(delete)

    def partition_counts(self) -> dict[str, int]:
        async def counts() -> dict[str, int]:
            async with self._admin() as admin:
                topics = await admin.describe_topics()
                return {topic["topic"]: len(topic["partitions"]) for topic in topics}

        return _run(counts())

    def topic_config(self, topic: str) -> dict[str, str | None]:
        async def config() -> dict[str, str | None]:
            async with self._admin() as admin:
                resource = ConfigResource(ConfigResourceType.TOPIC, topic)
                (response,) = await admin.describe_configs([resource])
                (found,) = response.to_object()["resources"]
                entries = found["config_entries"]
                return {entry["config_names"]: entry["config_value"] for entry in entries}

        return _run(config())

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        async def offset() -> int | None:
            async with self._consumer() as consumer:
                assigned = TopicPartition(topic, partition)
                found = (await consumer.offsets_for_times({assigned: timestamp_ms}))[assigned]
                return None if found is None else int(found.offset)

        return _run(offset())

    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        async def delete() -> int:
            async with self._admin() as admin:
                wanted = TopicPartition(topic, partition)
                result = await admin.delete_records({wanted: RecordsToDelete(before_offset)})
                return int(result[wanted])

        return _run(delete())

    def _administer(self, act: Any) -> None:
        """Run an administrator's request whose answer lists (topic, error code, …)."""

        async def acted() -> Any:
            async with self._admin() as admin:
                return await act(admin)

        ((_, code, *_),) = _run(acted())
        if code != 0:
            raise Refused(code, for_code(code).__name__)

    @asynccontextmanager
    async def _admin(self) -> AsyncIterator[AIOKafkaAdminClient]:
        admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
        await admin.start()
        try:
            yield admin
        finally:
            await admin.close()

    @asynccontextmanager
    async def _consumer(self) -> AsyncIterator[AIOKafkaConsumer]:
        consumer = AIOKafkaConsumer(bootstrap_servers=self._bootstrap, auto_offset_reset="none")
        await consumer.start()
        try:
            yield consumer
        finally:
            await consumer.stop()


def _run(operation: Coroutine[Any, Any, Result]) -> Result:
    with _refusals():
        return asyncio.run(asyncio.wait_for(operation, TIMEOUT_SECONDS))


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except KafkaError as fault:
        raise Refused(getattr(fault, "errno", -1), str(fault)) from fault


def _stored(message: Any) -> Stored:
    headers = tuple(message.headers)
    return Stored(message.offset, Record(message.key, message.value, message.timestamp, headers))
