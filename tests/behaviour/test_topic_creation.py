"""Topics that nobody created: what `auto.create.topics.enable` and `num.partitions` decide."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, Message
from confluent_kafka.admin import AdminClient

from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.messages.metadata import MetadataRequest
from tests.behaviour.application import TIMEOUT_SECONDS, new_producer, read, values, write
from tests.behaviour.conftest import AUTOMATIC_PARTITIONS
from tests.clients.configs import configs_of
from tests.clients.raw import Connection, batch_of
from tests.clients.records import numbered_records
from tests.clients.requests import METADATA_VERSION, metadata_request, produced_bytes


def partition_count(bootstrap: str, topic: str) -> int:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    return len(admin.list_topics(topic, timeout=TIMEOUT_SECONDS).topics[topic].partitions)


@pytest.mark.spec("slides:A31", "slides:A32", "book1:B-25")
def test_writing_to_a_missing_topic_creates_it(broker: Broker, topic_name: str) -> None:
    """By default a producer needs no topic: it appears with the broker's number of partitions."""
    write(broker.bootstrap_servers, topic_name, [b"first"], partition=AUTOMATIC_PARTITIONS - 1)
    assert partition_count(broker.bootstrap_servers, topic_name) == AUTOMATIC_PARTITIONS == 13
    last = read(broker.bootstrap_servers, topic_name, 1, partition=12)
    assert values(last) == [b"first"]


@pytest.mark.spec("slides:A32")
def test_another_broker_gives_33_partitions() -> None:
    """num.partitions is each broker's own; a topic made of defaults has the default configs."""
    settings = {"auto.create.topics.enable": "true", "num.partitions": 33}
    with Broker(settings) as broker:
        write(broker.bootstrap_servers, "mirrored", [b"x"], partition=32)
        assert partition_count(broker.bootstrap_servers, "mirrored") == 33
        with Connection(broker.bootstrap_servers) as connection:
            configs = configs_of(connection, "mirrored")
    assert configs["retention.ms"].value == "604800000"
    assert configs["cleanup.policy"].value == "delete"


@pytest.mark.spec("slides:A31", "book1:B-25")
def test_a_broker_can_refuse_to_create() -> None:
    """With auto.create.topics.enable=false neither metadata nor a producer brings a topic about."""
    failures: list[KafkaError] = []

    def note(error: KafkaError | None, _message: Message) -> None:
        assert error is not None, "a record was written to a topic that must not exist"
        failures.append(error)

    with Broker({"auto.create.topics.enable": "false"}) as broker:
        # librdkafka would wait half a minute for a topic that may be new.
        producer = new_producer(
            broker.bootstrap_servers, topic_metadata_propagation_max_ms=0, message_timeout_ms=10_000
        )
        producer.produce("missing", b"x", on_delivery=note)
        assert producer.flush(TIMEOUT_SECONDS) == 0
        with Connection(broker.bootstrap_servers) as connection:
            asked = metadata_request("missing", auto_create=True)
            (told,) = connection.ask(asked, METADATA_VERSION).topics
            refused = produced_bytes(connection, "missing", batch_of(numbered_records(1)))
            everything = connection.ask(MetadataRequest(topics=None), METADATA_VERSION).topics
    assert [failure.code() for failure in failures] == [Error.UNKNOWN_TOPIC_OR_PARTITION]
    assert told.error_code == refused.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert everything == []
