"""A sink without Spark: rows, attempts that die where they are told to, and what a reader sees.

Readers are confluent-kafka's, so that what our client writes is judged by another.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, auto

import pyarrow as pa
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from headrace.client.cluster import Cluster
from headrace.client.producing import RawProducer, RecordsPayload
from headrace.pipelines.sink.attempt import OpenProducer, Outcome, open_producer, write_exactly_once
from headrace.pipelines.sink.delivery import GATHER_BYTES
from headrace.pipelines.sink.identity import TaskIdentity
from headrace.pipelines.sink.options import SinkOptions, sink_options
from headrace.types import TopicPartition

READ_TIMEOUT_SECONDS = 30
COLUMNS = ("key", "value")


def new_topic(bootstrap: str, partitions: int = 3) -> str:
    """An empty topic of its own for a test."""
    name = f"sink-{uuid.uuid4().hex[:12]}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    (created,) = admin.create_topics([NewTopic(name, partitions, 1)]).values()
    created.result(30)
    return name


def read_all(bootstrap: str, topic: str, *, committed: bool = True) -> list[Message]:
    """Every record of the topic, committed ones only unless told otherwise."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,
            "isolation.level": "read_committed" if committed else "read_uncommitted",
        }
    )
    try:
        partitions = consumer.list_topics(topic, 10).topics[topic].partitions
        consumer.assign([Place(topic, number, OFFSET_BEGINNING) for number in partitions])
        found: list[Message] = []
        waiting = set(partitions)
        while waiting:
            message = consumer.poll(READ_TIMEOUT_SECONDS)
            assert message is not None, f"{topic} partitions {waiting} did not come to their end"
            error = message.error()
            if error is None:
                found.append(message)
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                waiting.discard(message.partition())
        return found
    finally:
        consumer.close()


def values(bootstrap: str, topic: str, *, committed: bool = True) -> list[str]:
    """What was written, sorted, without padding."""
    found = read_all(bootstrap, topic, committed=committed)
    return sorted((message.value() or b"").decode().rstrip(".") for message in found)


def batch(first: int, count: int, *, padding: int = 0) -> pa.RecordBatch:
    """Rows `first` and on; the value tells the row."""
    names = [f"{number:06}" for number in range(first, first + count)]
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array([name.encode() for name in names]),
            "value": pa.array([name + "." * padding for name in names]),
        }
    )


def sent_at_once(first: int, count: int) -> pa.RecordBatch:
    """Rows so large that a sink does not wait for more before it sends them."""
    return batch(first, count, padding=GATHER_BYTES // count)


def numbered(count: int) -> list[str]:
    return [f"{number:06}" for number in range(count)]


def three_batches() -> Iterator[pa.RecordBatch]:
    """Three hundred rows."""
    yield from (batch(0, 100), batch(100, 100), batch(200, 100))


class Step(Enum):
    """The points after which an attempt can die."""

    BEGIN = auto()
    FIRST_SEND = auto()
    THIRD_SEND = auto()
    FLUSH = auto()
    SEND_OFFSETS = auto()
    COMMIT = auto()


class Killed(BaseException):
    """Stands for SIGKILL: nobody catches it, and nothing is sent after it."""


class MortalProducer(RawProducer):
    """The real producer, until a step is done; from then on a broker hears nothing of it."""

    step: Step
    _sends = 0
    _dead = False

    def _after(self, step: Step) -> None:
        if step is self.step:
            self._dead = True
            raise Killed

    def begin(self) -> None:
        super().begin()
        self._after(Step.BEGIN)

    def send(self, topic: str, partition: int, payload: RecordsPayload) -> None:
        super().send(topic, partition, payload)
        self._sends += 1
        if self._sends in (1, 3):
            # What was handed over is on its way: a process dies with its last request sent.
            self.flush_quietly()
            self._after(Step.FIRST_SEND if self._sends == 1 else Step.THIRD_SEND)

    def flush_quietly(self) -> None:
        super().flush()

    def flush(self) -> None:
        super().flush()
        self._after(Step.FLUSH)

    def send_offsets(self, group: str, offsets: Mapping[TopicPartition, tuple[int, str]]) -> None:
        super().send_offsets(group, offsets)
        self._after(Step.SEND_OFFSETS)

    def commit(self) -> None:
        super().commit()
        self._after(Step.COMMIT)

    def abort(self) -> None:
        if not self._dead:
            super().abort()

    def close(self) -> None:
        if not self._dead:
            super().close()


def mortal(step: Step) -> OpenProducer:
    """Producers that die after this step."""

    def producing(
        cluster: Cluster, options: SinkOptions, transactional_id: str | None
    ) -> RawProducer:
        producer = MortalProducer(
            cluster,
            transactional_id=transactional_id,
            transaction_timeout_ms=options.transaction_timeout_ms,
        )
        producer.step = step
        return producer

    return producing


class Query:
    """A streaming query as its sink knows it: an id, and tasks that write batches."""

    def __init__(self, bootstrap: str, topic: str | None, **more: str) -> None:
        given = {"kafka.bootstrap.servers": bootstrap, **more}
        self.options = sink_options(given if topic is None else {**given, "topic": topic})
        self.id = str(uuid.uuid4())

    def attempt(
        self,
        batch_id: int,
        batches: Iterable[pa.RecordBatch],
        *,
        task: int = 0,
        columns: tuple[str, ...] = COLUMNS,
        producing: OpenProducer = open_producer,
    ) -> Outcome:
        """One attempt, with connections of its own as in a process of its own."""
        cluster = Cluster(self.options.settings)
        identity = TaskIdentity(self.id, batch_id, task)
        try:
            return write_exactly_once(batches, columns, self.options, cluster, identity, producing)
        finally:
            cluster.close()
