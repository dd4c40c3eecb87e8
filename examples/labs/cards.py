"""The card program: Avro keys and values, through a client and over HTTP.

    python -m examples.labs.cards

The schemas are registered once; a record carries only their ids. What one program has written the
other one reads, because both ask the same registry.
"""

from __future__ import annotations

import json
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from examples.cluster.lab import PATIENCE_S, LabFailed, say
from examples.labs.rest_consumer import AVRO, RestConsumer
from examples.labs.staging import Platform, check, expect, http, on_platform
from examples.topics import create_topic

TOPIC: Final = "my_avro_topic"
KEY_SCHEMA: Final = json.dumps(
    {
        "type": "record",
        "name": "CardSuit",
        "namespace": "examples.cards",
        "fields": [{"name": "suit", "type": "string"}],
    }
)
VALUE_SCHEMA: Final = json.dumps(
    {
        "type": "record",
        "name": "SimpleCard",
        "namespace": "examples.cards",
        "fields": [{"name": "suit", "type": "string"}, {"name": "card", "type": "string"}],
    }
)
SUITS: Final = ("spades", "hearts")
RANKS: Final = ("ace", "king", "queen")
CARDS: Final = [{"suit": suit, "card": rank} for suit in SUITS for rank in RANKS]
_KEY: Final = SerializationContext(TOPIC, MessageField.KEY)
_VALUE: Final = SerializationContext(TOPIC, MessageField.VALUE)


def deal(servers: str, registry: SchemaRegistryClient) -> None:
    """Write the cards; the serializers register their schemas on first use."""
    key_to_bytes = AvroSerializer(registry, KEY_SCHEMA)
    value_to_bytes = AvroSerializer(registry, VALUE_SCHEMA)
    producer = Producer({"bootstrap.servers": servers})
    for card in CARDS:
        key = key_to_bytes({"suit": card["suit"]}, _KEY)
        producer.produce(TOPIC, value_to_bytes(card, _VALUE), key)
    left = producer.flush(PATIENCE_S)
    producer.close()
    check(left == 0, f"{len(CARDS)} cards were written")


def collect(servers: str, registry: SchemaRegistryClient, count: int) -> list[tuple[Any, Any]]:
    """Read cards; the schemas are found by the ids in the records."""
    key_from_bytes = AvroDeserializer(registry)
    value_from_bytes = AvroDeserializer(registry)
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "cards", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([TOPIC])
    found: list[tuple[Any, Any]] = []
    while len(found) < count:
        message = consumer.poll(PATIENCE_S)
        if message is None:
            raise LabFailed(f"only {len(found)} of {count} cards came")
        if (error := message.error()) is not None:
            raise KafkaException(error)
        key = key_from_bytes(message.key(), _KEY)
        found.append((key, value_from_bytes(message.value(), _VALUE)))
    consumer.close()
    return found


def story(platform: Platform) -> None:
    with SchemaRegistryClient({"url": platform.registry_url}) as registry:
        _story(platform, registry)


def _story(platform: Platform, registry: SchemaRegistryClient) -> None:
    servers = platform.bootstrap_servers
    create_topic(servers, TOPIC)
    wanted = [({"suit": card["suit"]}, card) for card in CARDS]
    say("With a client library")
    deal(servers, registry)
    expect(collect(servers, registry, len(CARDS)), wanted, "and read, keys and values")
    subjects = {subject for subject in registry.get_subjects() if subject.startswith(TOPIC)}
    expect(subjects, {f"{TOPIC}-key", f"{TOPIC}-value"}, "both schemas are registered")

    say("Over HTTP: the schemas come with the first request, their ids with the answer")
    records = [{"key": key, "value": value} for key, value in wanted]
    body = {"key_schema": KEY_SCHEMA, "value_schema": VALUE_SCHEMA, "records": records}
    status, answer = http("POST", platform.rest, f"/topics/{TOPIC}", body, content_type=AVRO)
    expect(status, 200, "the proxy has taken them")
    ids = {name: answer[name] for name in ("key_schema_id", "value_schema_id")}
    latest = registry.get_latest_version(f"{TOPIC}-value")
    expect(ids["value_schema_id"], latest.schema_id, "the ids are those that the client has used")
    say("From then on the ids are enough")
    body = {**ids, "records": records}
    status, _ = http("POST", platform.rest, f"/topics/{TOPIC}", body, content_type=AVRO)
    expect(status, 200, "the proxy has taken them")
    with RestConsumer(platform.rest, "cards-rest", TOPIC, "avro") as reader:
        read = [(record["key"], record["value"]) for record in reader.read(3 * len(CARDS))]
    expect(read, wanted * 3, "the proxy reads all three hands")


if __name__ == "__main__":
    on_platform(story)
