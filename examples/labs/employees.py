"""An employee in Avro, and what becomes of a reader with another schema.

    python -m examples.labs.employees

Ninety-nine records of Bob Jones are written and read. Then the schema gets a second version with
his age, and old and new programs understand each other: the reader's schema decides what is seen.
"""

from __future__ import annotations

import json
from typing import Any, Final

from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from examples.cluster.lab import PATIENCE_S, say
from examples.labs.producer_example import long_key
from examples.labs.reading import Member, poll_until
from examples.labs.staging import Platform, expect, on_platform
from examples.topics import create_topic

TOPIC: Final = "new-employees"
EVOLVING: Final = "evolving-employees"
RECORDS: Final = 99
BOB: Final = {
    "firstName": "Bob",
    "nickName": None,
    "lastName": "Jones",
    "age": 35,
    "phoneNumber": "1-301-555-1234",
}


def employee_schema(*, age: bool = True) -> str:
    """Version 1 knows no age; version 2 has one, with a default for those who do not say it."""
    fields: list[dict[str, Any]] = [
        {"name": "firstName", "type": "string"},
        {"name": "nickName", "type": ["null", "string"], "default": None},
        {"name": "lastName", "type": "string"},
        {"name": "phoneNumber", "type": "string"},
    ]
    if age:
        fields.append({"name": "age", "type": "int", "default": -1})
    return json.dumps(
        {
            "type": "record",
            "name": "Employee",
            "namespace": "com.cloudurable.phonebook",
            "fields": fields,
        }
    )


def story(platform: Platform) -> None:
    with SchemaRegistryClient({"url": platform.registry_url}) as registry:
        _story(platform, registry)


def _story(platform: Platform, registry: SchemaRegistryClient) -> None:
    servers = platform.bootstrap_servers
    create_topic(servers, TOPIC)
    say(f"{RECORDS} records of Bob, keys 1 to {RECORDS}")
    where = SerializationContext(TOPIC, MessageField.VALUE)
    to_bytes = AvroSerializer(registry, employee_schema())
    producer = Producer({"bootstrap.servers": servers})
    for number in range(1, RECORDS + 1):
        producer.produce(TOPIC, to_bytes(BOB, where), long_key(number))
    producer.flush(PATIENCE_S)
    producer.close()
    reader = Member(servers, "employee-readers", TOPIC, "reader")
    poll_until([reader], lambda: len(reader.records) >= RECORDS, "all records")
    reader.leave()
    from_bytes = AvroDeserializer(registry)
    found = [from_bytes(record.value, where) for record in reader.records]
    expect(found, [BOB] * RECORDS, "each of them is Bob Jones, 35, 1-301-555-1234")
    keys = [int.from_bytes(record.key or b"", "big") for record in reader.records]
    expect(keys, list(range(1, RECORDS + 1)), "with his key")
    _evolve(registry)


def _evolve(registry: SchemaRegistryClient) -> None:
    say("Version 2 adds the age, with the default -1")
    where = SerializationContext(EVOLVING, MessageField.VALUE)
    without_age = {name: value for name, value in BOB.items() if name != "age"}
    old_writer = AvroSerializer(registry, employee_schema(age=False))
    old_writer(without_age, where)  # registers version 1
    new_writer = AvroSerializer(registry, employee_schema())
    old_reader = AvroDeserializer(registry, employee_schema(age=False))
    new_reader = AvroDeserializer(registry, employee_schema())
    written = new_writer({**BOB, "age": 42}, where)
    expect(new_reader(written, where)["age"], 42, "a new program writes 42, and a new one reads it")
    seen = old_reader(written, where)
    expect(seen, without_age, "an old program reads it without the age")
    back = old_writer(seen, where)
    expect(new_reader(back, where)["age"], -1, "and writes it back: now a new one reads -1")


if __name__ == "__main__":
    on_platform(story)
