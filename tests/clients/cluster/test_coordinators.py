"""Groups and transactions whose coordinators are on other brokers than their partitions, or die."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from headrace.errors import Error
from headrace.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from headrace.wire.messages.heartbeat import HeartbeatRequest
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from tests.clients.cluster.clients import read_all
from tests.clients.cluster.observing import GROUP, TRANSACTION, Observer

if TYPE_CHECKING:
    from headrace.testing import Cluster


def test_only_the_coordinator_serves_its_groups_and_transactions(
    cluster: Cluster, observer: Observer
) -> None:
    """Every other broker answers NOT_COORDINATOR."""
    name = f"g-{uuid.uuid4().hex[:8]}"
    group, transaction = (observer.coordinator(name, each) for each in (GROUP, TRANSACTION))
    heartbeat = HeartbeatRequest(group_id=name, generation_id=1, member_id="m")
    init = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=10_000)
    for broker in cluster.brokers:
        error = observer.ask(broker.id, heartbeat, 3).error_code
        expected = Error.UNKNOWN_MEMBER_ID if broker.id == group else Error.NOT_COORDINATOR
        assert error == expected, broker.id
        answer = observer.until(
            lambda each=broker.id: observer.ask(each, init, 4),  # type: ignore[misc]
            lambda answer: (
                answer.error_code
                not in (Error.CONCURRENT_TRANSACTIONS, Error.COORDINATOR_LOAD_IN_PROGRESS)
            ),
            "settled",
        )
        assert (answer.error_code == Error.NONE) == (broker.id == transaction)
        if broker.id != transaction:
            assert answer.error_code == Error.NOT_COORDINATOR


@pytest.mark.parametrize("victim", ["coordinator", "leader"])
def test_transactions_survive_the_death_of_a_broker(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str], victim: str
) -> None:
    """Committed ones are read once and whole, aborted ones never, whoever dies in between."""
    from confluent_kafka import Producer

    topic = new_topic({0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]})
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "transactional.id": topic,
            "transaction.timeout.ms": 30_000,
            "socket.timeout.ms": 3000,
            "log_level": 0,
        }
    )
    producer.init_transactions(30)

    def transact(number: int, *, commit: bool) -> None:
        producer.begin_transaction()
        for partition in range(3):
            producer.produce(topic, b"%d-%d" % (number, partition), partition=partition)
        producer.flush(30)
        if commit:
            _until_done(lambda: producer.commit_transaction(30))
        else:
            _until_done(lambda: producer.abort_transaction(30))

    for number in range(6):
        if number == 3:
            coordinator = observer.coordinator(topic, TRANSACTION)
            doomed = coordinator if victim == "coordinator" else coordinator % 3 + 1
            cluster.broker(doomed).kill()
        transact(number, commit=number % 2 == 1)
    expected = {b"%d-%d" % (number, index): 1 for number in (1, 3, 5) for index in range(3)}
    found = read_all(
        cluster.bootstrap_servers, topic, len(expected), isolation_level="read_committed"
    )
    assert found == expected


def _until_done(call: Callable[[], None]) -> None:
    """What a transactional application does: as long as it may try again, it does."""
    from confluent_kafka import KafkaException

    deadline = time.monotonic() + 30
    while True:
        try:
            call()
            return
        except KafkaException as fault:
            if not fault.args[0].retriable() or time.monotonic() > deadline:
                raise


def test_offsets_of_a_transaction_reach_a_group_on_another_broker(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """send_offsets_to_transaction with group and transaction coordinated by different brokers."""
    from confluent_kafka import Consumer, Producer, TopicPartition

    observer.lead_by_preference("__transaction_state")
    topic = new_topic({0: [1, 2, 3]})
    names = (f"{topic}-{number}" for number in range(50))
    group = f"{topic}-group"
    there = observer.coordinator(group, GROUP)
    transactional_id = next(
        name for name in names if observer.coordinator(name, TRANSACTION) != there
    )
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}
    producer = Producer({**settings, "transactional.id": transactional_id})
    consumer = Consumer({**settings, "group.id": group, "enable.auto.commit": False})
    producer.init_transactions(30)
    for offset, commit in ((5, True), (9, False)):
        producer.begin_transaction()
        producer.produce(topic, b"x")
        producer.send_offsets_to_transaction(
            [TopicPartition(topic, 0, offset)], consumer.consumer_group_metadata(), 30
        )
        if commit:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)
        (known,) = consumer.committed([TopicPartition(topic, 0)], timeout=20)
        assert known.offset == 5
    consumer.close()


def test_every_replica_tells_of_an_open_transaction(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """Who looks for hanging transactions on one broker finds those of partitions it follows."""
    from confluent_kafka import Producer

    topic = new_topic({0: [1, 2, 3]})
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}
    producer = Producer({**settings, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"x")
    assert producer.flush(30) == 0
    asked = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[0])])

    def open_since(broker_id: int) -> list[int]:
        (found,) = observer.ask(broker_id, asked, 0).topics[0].partitions
        assert found.error_code == Error.NONE, found.error_message
        return [each.current_txn_start_offset for each in found.active_producers]

    for broker in cluster.brokers:
        observer.until(
            lambda each=broker.id: open_since(each),  # type: ignore[misc]
            lambda offsets: offsets == [0],
            f"told by {broker.id}",
        )
    producer.abort_transaction(30)
