"""Internal topics are made on first use, with as many replicas as their settings ask for."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from headrace.testing import Broker


def committed(broker: Broker, timeout_s: float) -> list[TopicPartition]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g"})
    try:
        return consumer.committed([TopicPartition("orders", 0)], timeout=timeout_s)
    finally:
        consumer.close()


def test_the_default_gives_way_to_a_small_cluster() -> None:
    """Three replicas are the default; a single broker serves groups all the same."""
    with Broker() as broker:
        assert committed(broker, 30)[0].offset < 0


@pytest.mark.spec("admin:CO-05")
def test_a_number_that_was_set_is_not_made_smaller() -> None:
    """Whoever asks for three replicas is not served with one: there is no coordinator."""
    with (
        Broker({"offsets.topic.replication.factor": "3"}) as broker,
        pytest.raises(KafkaException),
    ):
        committed(broker, 2)
