"""`kafka-avro-console-producer` and its two siblings: lines of JSON become records with schemas."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Final, NamedTuple

from headrace.cli.failures import Failure
from headrace.cli.kafka import explain, open_producer
from headrace.cli.kafka_compat.clients import is_true, kafka_target, open_registry, unescaped
from headrace.cli.kafka_compat.flags import Given, Takes, parse, usage
from headrace.cli.kafka_compat.plain import serializer_named
from headrace.cli.kafka_compat.writing import Write, find_writer
from headrace.schemas.model import InvalidValue, SchemaType

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

FLAGS: Final = {
    "--bootstrap-server": Takes.VALUE,
    "--broker-list": Takes.VALUE,
    "--topic": Takes.VALUE,
    "--property": Takes.PAIRS,
    "--reader-property": Takes.PAIRS,
    "--reader-config": Takes.VALUE,
    "--line-reader": Takes.VALUE,
    "--producer-property": Takes.PAIRS,
    "--command-property": Takes.PAIRS,
    "--producer.config": Takes.VALUE,
    "--producer-config": Takes.VALUE,
    "--command-config": Takes.VALUE,
    "--compression-codec": Takes.MAYBE,
    "--request-required-acks": Takes.VALUE,
    "--request-timeout-ms": Takes.VALUE,
    "--message-send-max-retries": Takes.VALUE,
    "--retry-backoff-ms": Takes.VALUE,
    "--max-block-ms": Takes.VALUE,
    "--timeout": Takes.VALUE,
    "--batch-size": Takes.VALUE,
    "--sync": Takes.NOTHING,
    "--help": Takes.NOTHING,
}
_SETTINGS: Final = {
    "--request-required-acks": "acks",
    "--request-timeout-ms": "request.timeout.ms",
    "--message-send-max-retries": "retries",
    "--retry-backoff-ms": "retry.backoff.ms",
    "--max-block-ms": "message.timeout.ms",
    "--timeout": "linger.ms",
    "--batch-size": "batch.size",
}
MAX_LINE_BYTES: Final = 32 << 20
_FLUSH_S: Final = 60.0


def avro(words: list[str]) -> int:
    return produce("avro", SchemaType.AVRO, words)


def json_schema(words: list[str]) -> int:
    return produce("json-schema", SchemaType.JSON, words)


def protobuf(words: list[str]) -> int:
    return produce("protobuf", SchemaType.PROTOBUF, words)


def produce(name: str, schema_type: SchemaType, words: list[str]) -> int:
    """Run one of the commands."""
    command = f"kafka-{name}-console-producer"
    if not words or "--help" in words:
        example = f"{command} --bootstrap-server 127.0.0.1:9092 --topic orders "
        print(usage(command, FLAGS, example + "--property value.schema.file=order.avsc"))
        return 0 if words else 2
    given = parse(words, FLAGS)
    properties = given.properties("--property", "--reader-property", files=("--reader-config",))
    topic = given.needed("--topic")
    target = kafka_target(given.needed("--bootstrap-server", "--broker-list"), _settings(given))
    reader = LineReader(schema_type, topic, properties)
    sending = _Sending(open_producer(target, {"linger.ms": 5}), topic, sync=given.has("--sync"))
    try:
        for line in reader.read():
            sending.send(line)
    finally:
        sending.flush()
    for error in sending.errors.values():
        print(f"headrace: {explain(error, target, f'topic {topic!r}')}", file=sys.stderr)
    return 1 if sending.errors else 0


def _settings(given: Given) -> dict[str, str]:
    settings = given.properties(
        "--producer-property",
        "--command-property",
        files=("--producer.config", "--producer-config", "--command-config"),
    )
    for flag, name in _SETTINGS.items():
        if (value := given.text(flag)) is not None:
            settings[name] = value
    if given.has("--compression-codec"):
        settings["compression.type"] = given.text("--compression-codec") or "gzip"
    return settings


class Line(NamedTuple):
    """One record."""

    key: bytes | None
    value: bytes | None


class LineReader:
    """Lines of standard input, by the properties of Confluent's reader."""

    def __init__(self, schema_type: SchemaType, topic: str, properties: Mapping[str, str]) -> None:
        self._separator = unescaped(properties.get("key.separator", "\t"))
        self._marker = properties.get("null.marker")
        self._goes_on = is_true(properties, "ignore.error")
        self._key: Write | None = None
        with closing(open_registry(properties)) as registry:
            self._value = find_writer(registry, schema_type, topic, properties, is_key=False)
            if is_true(properties, "parse.key"):
                key_class = properties.get("key.serializer")
                if key_class and not key_class.startswith("io.confluent."):
                    self._key = serializer_named(key_class)
                else:
                    self._key = find_writer(registry, schema_type, topic, properties, is_key=True)

    def read(self) -> Iterator[Line]:
        """Every line; a bad one ends the command, or is told and left out with ignore.error."""
        number = 0
        while raw := sys.stdin.buffer.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(raw) > MAX_LINE_BYTES:
                raise Failure(f"line {number} has more than {MAX_LINE_BYTES} bytes")
            text = raw.rstrip(b"\r\n")
            if not text.strip():
                continue
            try:
                yield self._parse(text.decode())
            except (InvalidValue, UnicodeDecodeError) as fault:
                reason = "it is not UTF-8" if isinstance(fault, UnicodeDecodeError) else fault
                if not self._goes_on:
                    raise Failure(f"line {number}: {reason}", _IGNORE) from None
                print(f"headrace: line {number}: {reason}", file=sys.stderr)

    def _parse(self, text: str) -> Line:
        key = None
        if self._key is not None:
            head, found, text = text.partition(self._separator)
            if not found:
                raise InvalidValue(f"no key separator {self._separator!r} is in it")
            key = self._write(self._key, head)
        return Line(key, self._write(self._value, text))

    def _write(self, write: Write, text: str) -> bytes | None:
        return None if text == self._marker else write(text)


_IGNORE: Final = "what came before it is written; --property ignore.error=true goes on"


class _Sending:
    """Records on their way; keeps the first error of each kind."""

    def __init__(self, producer: Producer, topic: str, *, sync: bool) -> None:
        self._producer = producer
        self._topic = topic
        self._sync = sync
        self.errors: dict[int, KafkaError] = {}

    def send(self, line: Line) -> None:
        from confluent_kafka import KafkaException

        while True:
            try:
                self._producer.produce(
                    self._topic, line.value, line.key, on_delivery=self._on_delivery
                )
            except BufferError:
                # The queue is full: wait until some of it has been delivered.
                self._producer.poll(0.1)
            except KafkaException as error:
                self.errors.setdefault(error.args[0].code(), error.args[0])
                return
            else:
                break
        self._producer.poll(0)
        if self._sync:
            self.flush()

    def flush(self) -> None:
        if self._producer.flush(_FLUSH_S):
            raise Failure(f"some records were not acknowledged within {_FLUSH_S:.0f} s")

    def _on_delivery(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self.errors.setdefault(error.code(), error)
