"""Those whom the commands talk about: members of groups, producers in a transaction, a zombie."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaException, Producer

from headrace.admin.routing import at_coordinator
from headrace.cli.asking import connect
from headrace.cli.target import parse_target
from headrace.errors import Error
from headrace.records.builder import build_batch
from headrace.records.record import Record
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from headrace.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

PATIENCE_S = 30
# The last version that does not add its partitions to the transaction by itself.
PRODUCE_VERSION = 11


@contextmanager
def joined(
    servers: str,
    group: str,
    *topics: str,
    protocol: str = "classic",
    instance: str | None = None,
    client_id: str = "reader",
) -> Iterator[Consumer]:
    """A member that owns at least one partition; it leaves at the end unless it is static."""
    settings = {
        "bootstrap.servers": servers,
        "group.id": group,
        "group.protocol": protocol,
        "client.id": client_id,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "log_level": 0,
    }
    if instance is not None:
        settings["group.instance.id"] = instance
    consumer = Consumer(settings)
    consumer.subscribe(list(topics))
    deadline = time.monotonic() + PATIENCE_S
    try:
        while not consumer.assignment():
            assert time.monotonic() < deadline, f"{group} gave the member no partition"
            consumer.poll(0.1)
        yield consumer
    finally:
        consumer.close()


@contextmanager
def open_transaction(
    servers: str, transactional_id: str, topic: str, partitions: Iterable[int]
) -> Iterator[Producer]:
    """A producer with a record in each partition and its transaction open."""
    producer = Producer(
        {"bootstrap.servers": servers, "transactional.id": transactional_id, "log_level": 0}
    )
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    for partition in partitions:
        producer.produce(topic, b"uncommitted", partition=partition)
    assert producer.flush(PATIENCE_S) == 0
    yield producer
    try:
        producer.abort_transaction(PATIENCE_S)
    except KafkaException:
        pass  # The test has ended the transaction itself, or fenced the producer.


def leave_hanging(servers: str, transactional_id: str, topic: str, timestamp_ms: int) -> int:
    """Write into partition 0 as part of a transaction that was never begun; the producer's id."""
    with connect(parse_target(servers, [])) as admin:
        identity = at_coordinator(
            admin,
            transactional_id,
            InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000),
            transactional=True,
        )
        assert identity.error_code == Error.NONE
        batch = build_batch(
            [Record(0, timestamp_ms, None, b"lost")],
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            base_sequence=0,
            transactional=True,
        )
        data = TopicProduceData(
            name=topic, partition_data=[PartitionProduceData(index=0, records=memoryview(batch))]
        )
        request = ProduceRequest(
            transactional_id=transactional_id, acks=-1, timeout_ms=10_000, topic_data=[data]
        )
        answer = admin.cluster.leader(topic, 0).call(request, PRODUCE_VERSION)
        assert answer.responses[0].partition_responses[0].error_code == Error.NONE
        return int(identity.producer_id)
