"""Keys and values become bytes: built-in serializers, and those of an application."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import SerializingProducer
from confluent_kafka.serialization import SerializationContext, StringSerializer

from tests.clients.drivers.driver import TIMEOUT_SECONDS
from tests.clients.drivers.program import ForeignClient
from tests.clients.producer.gateway import Api, Gateway
from tests.clients.producer.java_producer import PLUGINS, SERIALIZATION, JavaProducer
from tests.clients.producer.written import end_of, records
from tests.clients.raw import Connection

NewJava = Callable[..., JavaProducer]
ENCODED = base64.b64encode(b"\0\xff").decode()
# A serializer, what it is given, and the bytes that it makes of it.
BUILT_IN: dict[str, tuple[Any, bytes]] = {
    "String": ("größe", "größe".encode()),
    "Long": ({"long": 1495042369509}, (1495042369509).to_bytes(8, "big")),
    "Integer": ({"int": -2}, b"\xff\xff\xff\xfe"),
    "ByteArray": ({"byte_array": ENCODED}, b"\0\xff"),
    "Bytes": ({"bytes": ENCODED}, b"\0\xff"),
}


@pytest.mark.spec("slides:C15", "slides:C17", "admin:PR-03", "book1:P-02", "book1:P-03")
@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_serializers(
    new_java: NewJava, connection: Connection, topic: str, name: str
) -> None:
    """Key and value have a serializer each: text in UTF-8, numbers with their high byte first."""
    given, expected = BUILT_IN[name]
    by_key = new_java(key_serializer=f"{SERIALIZATION}{name}Serializer")
    by_key.send_and_get({"topic": topic, "key": given, "value": "text"})
    by_value = new_java(value_serializer=f"{SERIALIZATION}{name}Serializer")
    by_value.send_and_get({"topic": topic, "key": "text", "value": given})
    stored = [(each.key, each.value) for each in records(connection, topic)]
    assert stored == [(expected, b"text"), (b"text", expected)]


@pytest.mark.spec("slides:C17", "book1:P-02")
def test_deserializers_undo_them(
    new_java: NewJava, java_producers: ForeignClient, topic: str
) -> None:
    """Long, String and ByteArray give back what was written."""
    producer = new_java(key_serializer=f"{SERIALIZATION}LongSerializer")
    producer.send_and_get({"topic": topic, "key": {"long": -7}, "value": "größe"})

    def read(key: str, value: str) -> list[list[Any]]:
        settings = {
            "key.deserializer": f"{SERIALIZATION}{key}Deserializer",
            "value.deserializer": f"{SERIALIZATION}{value}Deserializer",
        }
        found: list[list[Any]] = java_producers.call(
            "read", topic=topic, count=1, settings=settings
        )
        return found

    assert read("Long", "String") == [[-7, "größe"]]
    in_bytes = base64.b64encode("größe".encode()).decode()
    assert read("Long", "ByteArray") == [[-7, in_bytes]]


@pytest.mark.spec("slides:C16", "book1:P-04")
def test_a_serializer_of_an_application(
    new_java: NewJava, java_producers: ForeignClient, connection: Connection, topic: str
) -> None:
    """It is configured as that of key or value, asked with the topic, and closed at the end."""
    order = {"number": 17, "item": "book"}
    producer = new_java(value_serializer=f"{PLUGINS}OrderSerializer", test_log=topic)
    producer.send_and_get({"topic": topic, "value": {"map": order}})
    producer.close()
    calls = java_producers.call("calls", log=topic)
    assert calls == ["configure value", f"serialize {topic}", "close"]
    assert json.loads(records(connection, topic)[0].value or b"") == order
    new_java(key_serializer=f"{PLUGINS}OrderSerializer", test_log=f"{topic}-key")
    assert java_producers.call("calls", log=f"{topic}-key") == ["configure key"]


@pytest.mark.spec("slides:C44", "book1:P-07", "book1:P-31", "book1:P-32")
def test_what_cannot_be_serialized_is_never_sent(
    new_java: NewJava, gateway: Gateway, connection: Connection, topic: str
) -> None:
    """send itself raises, with the application's own class of fault, and nothing is tried again."""
    producer = new_java(bootstrap=gateway.bootstrap, value_serializer=f"{PLUGINS}OrderSerializer")
    (invalid,) = producer.send({"topic": topic, "value": {"map": {"item": "book"}}})
    assert invalid["thrown"] == "OrderWithoutNumber"
    numbers = new_java(
        bootstrap=gateway.bootstrap, value_serializer=f"{SERIALIZATION}LongSerializer"
    )
    (mistyped,) = numbers.send({"topic": topic, "value": "no number"})
    assert mistyped["thrown"] == "SerializationException"
    for each in (producer, numbers):
        each.flush()
    assert end_of(connection, topic) == 0
    assert gateway.of(Api.PRODUCE) == []


@pytest.mark.spec("admin:PR-03", "book1:P-04")
def test_avro_is_a_serializer_like_any_other(
    bootstrap: str, connection: Connection, topic: str
) -> None:
    """librdkafka's producer takes functions, so any format can be plugged in: Avro's binary one."""

    def to_avro(price: tuple[str, int], _: SerializationContext) -> bytes:
        symbol, cents = price
        return avro_long(len(symbol)) + symbol.encode() + avro_long(cents)

    settings = {"key.serializer": StringSerializer("utf_8"), "value.serializer": to_avro}
    producer = SerializingProducer({"bootstrap.servers": bootstrap, "log_level": 0, **settings})
    producer.produce(topic, key="IBM", value=("IBM", 6_812))
    assert producer.flush(TIMEOUT_SECONDS) == 0
    (stored,) = records(connection, topic)
    assert (stored.key, stored.value) == (b"IBM", b"\x06IBM\xb8\x6a")


def avro_long(number: int) -> bytes:
    """Zigzag, seven bits a byte, the low ones first."""
    left = number << 1 ^ number >> 63
    encoded = bytearray()
    while left > 0x7F:
        encoded.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*encoded, left])
