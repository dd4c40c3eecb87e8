"""Hello World, twice: with a client library, and over HTTP for whoever has none.

python -m examples.labs.hello_world
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Final

from confluent_kafka import Consumer, KafkaException, Producer

from examples.cluster.lab import PATIENCE_S, say
from examples.labs.rest_consumer import BINARY, RestConsumer
from examples.labs.staging import Platform, check, expect, http, on_platform
from examples.topics import create_topic

TOPIC: Final = "hello_world_topic"
RECORDS: Final = 5


def produce_greetings(servers: str) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for number in range(RECORDS):
        producer.produce(TOPIC, f"Hello World {number}!", str(number))
    left = producer.flush(PATIENCE_S)
    producer.close()
    check(left == 0, f"{RECORDS} greetings were sent")


def consume_greetings(servers: str, count: int) -> list[tuple[str, str]]:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "hello-world-group",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([TOPIC])
    found: list[tuple[str, str]] = []
    while len(found) < count:
        message = consumer.poll(PATIENCE_S)
        if message is None:
            break
        if (error := message.error()) is not None:
            raise KafkaException(error)
        key, value = (message.key() or b"").decode(), (message.value() or b"").decode()
        print(f"key {key}, value {value}")
        found.append((key, value))
    consumer.close()
    return found


def story(platform: Platform) -> None:
    create_topic(platform.bootstrap_servers, TOPIC)
    wanted = [(str(number), f"Hello World {number}!") for number in range(RECORDS)]
    say("With a client library")
    produce_greetings(platform.bootstrap_servers)
    found = consume_greetings(platform.bootstrap_servers, RECORDS)
    expect(found, wanted, "and read, in order")

    say("Over HTTP: keys and values are bytes, so they travel as base64")
    records = [
        {"key": b64encode(key.encode()).decode(), "value": b64encode(value.encode()).decode()}
        for key, value in wanted
    ]
    path = f"/topics/{TOPIC}"
    status, _ = http("POST", platform.rest, path, {"records": records}, content_type=BINARY)
    expect(status, 200, "the proxy has taken them")
    with RestConsumer(platform.rest, "hello-rest-group", TOPIC) as reader:
        read = reader.read(2 * RECORDS)
        texts = [b64decode(record["value"]).decode() for record in read]
        expect(texts, [value for _, value in wanted] * 2, "both kinds of greetings are read")
    expect(reader.deleted_with, 204, "the consumer is deleted: 204, nothing to say")


if __name__ == "__main__":
    on_platform(story)
