"""The Protobuf lab: a message by its class, and without it.

    python -m examples.labs.protobuf_messages

Bytes of Protobuf do not say what they mean. A program that has the generated class reads fields of
the message; one that has not asks the registry, which has the schema, and reads them by name.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from examples.cluster.lab import PATIENCE_S, say
from examples.labs.reading import read_topic
from examples.labs.staging import Platform, check, expect, on_platform
from examples.topics import create_topic
from headrace.client.registry import RegistryClient, RegistrySettings, Serdes

TOPIC: Final = "protobuf-topic"
PROTO: Final = """\
syntax = "proto3";
package com.codingharbour.protobuf;

message SimpleMessage {
  string content = 1;
  string date_time = 2;
}
"""
WHEN: Final = "2026-01-01T12:00:00Z"
_WHERE: Final = SerializationContext(TOPIC, MessageField.VALUE)
_SETTINGS: Final = {"use.deprecated.format": False}


@contextmanager
def generated(proto: str, module: str = "simple_message") -> Iterator[Any]:
    """The module that protoc writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{module}.proto"
        path.write_text(proto)
        words = ["-m", "grpc_tools.protoc", f"-I{folder}", f"--python_out={folder}", path.name]
        print(f"$ protoc --python_out=. {path.name}", flush=True)
        subprocess.run([sys.executable, *words], check=True, cwd=folder)
        sys.path.insert(0, folder)
        try:
            yield importlib.import_module(f"{module}_pb2")
        finally:
            sys.path.remove(folder)
            sys.modules.pop(f"{module}_pb2", None)


def story(platform: Platform) -> None:
    create_topic(platform.bootstrap_servers, TOPIC)
    say("A message of a generated class, without a key")
    with (
        SchemaRegistryClient({"url": platform.registry_url}) as registry,
        generated(PROTO) as classes,
    ):
        kind = classes.SimpleMessage
        message = kind(content="Hello world", date_time=WHEN)
        data = ProtobufSerializer(kind, registry, _SETTINGS)(message, _WHERE)
        producer = Producer({"bootstrap.servers": platform.bootstrap_servers})
        producer.produce(TOPIC, data)
        producer.flush(PATIENCE_S)
        producer.close()
        (record,) = read_topic(platform.bootstrap_servers, TOPIC)
        expect(record.key, None, "the record has no key")
        check(record.value is not None and record.value[0] == 0, "it begins with the magic byte")

        say("A consumer that has the class")
        found = ProtobufDeserializer(kind, _SETTINGS, registry)(record.value, _WHERE)
        check(isinstance(found, kind), "it gets an object of the class")
        expect((found.content, found.date_time), ("Hello world", WHEN), "with its fields")

    say("A consumer that has not: the registry knows what the bytes mean")
    client = RegistryClient(RegistrySettings.at(platform.registry_url))
    decoded = Serdes(client).decode(record.value or b"")
    client.close()
    print(decoded.value)
    value: Any = decoded.value
    expect(value["content"], "Hello world", "it finds the fields by their names")
    expect(
        decoded.schema.name, "com.codingharbour.protobuf.SimpleMessage", "and the message's name"
    )


if __name__ == "__main__":
    on_platform(story)
