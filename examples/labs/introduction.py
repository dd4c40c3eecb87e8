"""What a cluster says of itself, and a first message.

    python -m examples.labs.introduction

Any broker tells a client everything that it needs to know: which cluster this is, which brokers are
in it, which of them is the controller, and which requests they understand.
"""

from __future__ import annotations

from typing import Any, Final

from confluent_kafka import Producer

from examples.cluster.lab import PATIENCE_S, say, shell
from examples.labs.reading import read_topic
from examples.labs.staging import check, expect, on_broker
from examples.topics import create_topic
from headrace.testing import Broker

TOPIC: Final = "first-topic"


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    where = ("--bootstrap-server", servers)
    producer = Producer({"bootstrap.servers": servers})
    metadata: Any = producer.list_topics(timeout=PATIENCE_S)
    say("Which cluster is it, and who is in it?")
    told = shell("kafka-cluster", "cluster-id", *where)
    check(metadata.cluster_id in told, "the tool and the client are told the same id")
    brokers = {each.id: f"{each.host}:{each.port}" for each in metadata.brokers.values()}
    expect(brokers, {0: servers}, "broker 0 is alone")
    expect(metadata.controller_id, 0, "so it is the controller as well")

    say("What does it understand?")
    text = shell("kafka-broker-api-versions", *where)
    check("Produce(0): " in text and "Fetch(1): " in text, "it takes records and gives them back")

    say("The first message")
    create_topic(servers, TOPIC)
    producer.produce(TOPIC, "Hello", "first")
    left = producer.flush(PATIENCE_S)
    producer.close()
    (record,) = read_topic(servers, TOPIC)
    expect((left, record.name, record.text), (0, "first", "Hello"), "it is in the topic")
    expect((record.partition, record.offset), (0, 0), "in partition 0, at offset 0")


if __name__ == "__main__":
    on_broker(story)
