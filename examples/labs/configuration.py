"""The five places a setting may come from, and which of them wins.

    python -m examples.labs.configuration

A topic's own value comes before the broker's dynamic one, that before the cluster's, that before
the broker's file, and last there is what is built in. What is deleted lets the next level through.
The limit of a message's size has another name for topics (`max.message.bytes`) than for brokers
(`message.max.bytes`), and can be tried out.
"""

from __future__ import annotations

from typing import Final

from confluent_kafka import KafkaError, Message, Producer

from examples.cluster.lab import PATIENCE_S, say, shell
from examples.labs.settings import setting_of
from examples.labs.staging import BROKER_PROPERTIES, alone, check, expect
from examples.topics import create_topic
from headrace.testing import Broker

TOPIC: Final = "configured"
BROKER_ID: Final = 107
IN_FILE: Final = 200_000
OF_CLUSTER: Final = 300_000
OF_BROKER: Final = 400_000
OF_TOPIC: Final = 500_000
_PAD: Final = 1_000  # what a batch has around its value, and a little more


def accepts(servers: str, size: int) -> bool:
    """Whether the broker takes a record with a value of about this size."""
    errors: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            errors.append(error)

    producer = Producer({"bootstrap.servers": servers, "log_level": 0})
    producer.produce(TOPIC, b"x" * (size - _PAD), on_delivery=on_delivery)
    producer.flush(PATIENCE_S)
    producer.close()
    return not errors


def story() -> None:
    properties = {**BROKER_PROPERTIES, "broker.id": BROKER_ID, "message.max.bytes": IN_FILE}
    say(f"Broker {BROKER_ID}, with message.max.bytes={IN_FILE} in its file")
    with Broker(properties) as broker:
        servers = broker.bootstrap_servers
        create_topic(servers, TOPIC)
        _limit_is(servers, IN_FILE, "the broker's file")
        _raise(servers)
        _fall_through(servers)


def _raise(servers: str) -> None:
    where = ("--bootstrap-server", servers, "--alter", "--add-config")
    say("A dynamic value for the whole cluster, without a restart")
    shell("kafka-configs", *where, f"message.max.bytes={OF_CLUSTER}", "--broker-defaults")
    _limit_is(servers, OF_CLUSTER, "dynamic, of the cluster")
    say("A dynamic value of this broker")
    of_broker = ("--broker", str(BROKER_ID))
    shell("kafka-configs", *where, f"message.max.bytes={OF_BROKER}", *of_broker)
    _limit_is(servers, OF_BROKER, "dynamic, of the broker")
    say("The topic's own, under its own name")
    shell("kafka-configs", *where, f"max.message.bytes={OF_TOPIC}", "--topic", TOPIC)
    _limit_is(servers, OF_TOPIC, "topic")
    described = shell(
        "kafka-configs", "--bootstrap-server", servers, "--describe", "--topic", TOPIC
    )
    check(f"max.message.bytes={OF_TOPIC}" in described, "the tool shows it")


def _fall_through(servers: str) -> None:
    where = ("--bootstrap-server", servers, "--alter", "--delete-config")
    say("Delete them again, one by one: each uncovers the next")
    shell("kafka-configs", *where, "max.message.bytes", "--topic", TOPIC)
    _limit_is(servers, OF_BROKER, "dynamic, of the broker")
    shell("kafka-configs", *where, "message.max.bytes", "--broker", str(BROKER_ID))
    _limit_is(servers, OF_CLUSTER, "dynamic, of the cluster")
    shell("kafka-configs", *where, "message.max.bytes", "--broker-defaults")
    _limit_is(servers, IN_FILE, "the broker's file")
    built_in = setting_of(servers, "topic", TOPIC, "segment.bytes")
    expect(built_in, ("1073741824", "built in"), "what nobody has set is built in")


def _limit_is(servers: str, limit: int, level: str) -> None:
    found = setting_of(servers, "topic", TOPIC, "max.message.bytes")
    expect(found.value, str(limit), f"the limit is {limit}, from: {level}")
    check(accepts(servers, limit), "a record of this size is taken")
    check(not accepts(servers, limit + 2 * _PAD), "a larger one is refused")


if __name__ == "__main__":
    alone(story)
