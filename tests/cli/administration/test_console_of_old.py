"""The console tools as books of old call them: by ZooKeeper's address."""

from __future__ import annotations

import uuid

import pytest
from confluent_kafka import Producer

from headrace.cli.kafka_compat import console_consumer
from headrace.testing import Cluster
from tests.cli.administration.conftest import Tool


@pytest.mark.spec("book2:A2-05")
def test_a_consumer_that_knows_only_zookeeper(tool: Tool, trio: Cluster) -> None:
    """The brokers registered there are asked; a notice advises --bootstrap-server instead."""
    topic = f"iprecord-{uuid.uuid4().hex[:8]}"
    producer = Producer({"bootstrap.servers": trio.bootstrap_servers})
    producer.produce(topic, b"10.0.0.1")
    assert producer.flush(30) == 0
    words = ("--zookeeper", trio.zookeeper, "--topic", topic, "--from-beginning")
    read = tool(console_consumer.run, *words, "--max-messages", "1")
    assert (read.code, read.out) == (0, "10.0.0.1\n")
    notice, count = read.err.splitlines()
    assert "--zookeeper is deprecated" in notice
    assert "use --bootstrap-server" in notice
    assert count == "Processed a total of 1 messages"
