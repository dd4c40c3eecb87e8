"""`kafka-console-producer` and its siblings with schemas: lines become records."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.kafka import explain, open_producer
from headrace.cli.kafka_compat.administering import Told, complain, need, read_flags
from headrace.cli.kafka_compat.clients import kafka_target
from headrace.cli.kafka_compat.console import readers
from headrace.cli.kafka_compat.console.readers import open_reader
from headrace.cli.kafka_compat.flags import Given, Takes
from headrace.cli.kafka_compat.signals import Stopped, stoppable
from headrace.cli.kafka_compat.superseded import (
    OF_THE_PAST,
    Superseded,
    client_settings,
    refuse_both,
    servers_of,
    tell,
)

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

    from headrace.cli.kafka_compat.console.lines import Line

_CLIENT: Final = (
    Superseded("--producer.config", "--command-config"),
    Superseded("--producer-property", "--command-property"),
)
_READER: Final = Superseded("--property", "--reader-property")
_DEPRECATED: Final = (
    "Warning: {old} is deprecated and will be removed in a future version. Use {new} instead."
)
_PARTITION_MEMORY: Final = (
    "Warning: --max-partition-memory-bytes is deprecated and will be removed in "
    "Apache Kafka 5.0. Use --batch-size instead."
)
_SETTINGS: Final = {
    "--request-required-acks": "acks",
    "--request-timeout-ms": "request.timeout.ms",
    "--message-send-max-retries": "retries",
    "--retry-backoff-ms": "retry.backoff.ms",
    "--max-block-ms": "message.timeout.ms",
    "--timeout": "linger.ms",
    "--metadata-expiry-ms": "metadata.max.age.ms",
    "--max-memory-bytes": "buffer.memory",
    "--socket-buffer-size": "send.buffer.bytes",
    "--batch-size": "batch.size",
    "--max-partition-memory-bytes": "batch.size",
}
FLAGS: Final = {
    "--bootstrap-server": Takes.VALUE,
    "--topic": Takes.VALUE,
    "--sync": Takes.NOTHING,
    "--compression-codec": Takes.MAYBE,
    "--line-reader": Takes.VALUE,
    "--reader-property": Takes.PAIRS,
    "--property": Takes.PAIRS,
    "--reader-config": Takes.VALUE,
    "--command-property": Takes.PAIRS,
    "--producer-property": Takes.PAIRS,
    "--command-config": Takes.VALUE,
    "--producer.config": Takes.VALUE,
    "--producer-config": Takes.VALUE,
    **dict.fromkeys(_SETTINGS, Takes.VALUE),
    **OF_THE_PAST,
}
_FLUSH_S: Final = 60.0


def run(words: list[str]) -> int:
    return produce("kafka-console-producer", readers.LINES, words)


def avro(words: list[str]) -> int:
    return produce("kafka-avro-console-producer", readers.AVRO, words)


def json_schema(words: list[str]) -> int:
    return produce("kafka-json-schema-console-producer", readers.JSON_SCHEMA, words)


def protobuf(words: list[str]) -> int:
    return produce("kafka-protobuf-console-producer", readers.PROTOBUF, words)


def produce(name: str, reader_class: str, words: list[str]) -> int:
    """Run one of the commands; its name says which reader is the default."""
    example = f"{name} --bootstrap-server localhost:9092 --topic orders < orders.txt"
    try:
        given = read_flags(name, words, FLAGS, example)
        if given is None:
            return 0
        return _send_lines(given, given.text("--line-reader") or reader_class)
    except (Told, WrongUsage) as error:
        return complain(str(error))


def _send_lines(given: Given, reader_class: str) -> int:
    need(given, "--topic")
    refuse_both(given, (*_CLIENT, _READER), old_first=False)
    if reader_class == readers.LINES:
        # Confluent's readers are documented with --property, and so are not told to give it up.
        tell(given, (*reversed(_CLIENT), _READER), _DEPRECATED)
    if given.has("--max-partition-memory-bytes"):
        print(_PARTITION_MEMORY)
    sys.stdout.flush()
    topic = given.needed("--topic")
    target = kafka_target(servers_of(given), _settings(given))
    properties = given.properties("--property", "--reader-property", files=("--reader-config",))
    reader = open_reader(reader_class, topic, properties)
    producer = open_producer(target, {"linger.ms": 5, "client.id": "console-producer"})
    sending = _Sending(producer, topic, sync=given.has("--sync"))
    try:
        with stoppable():
            for line in reader.read(sys.stdin.buffer):
                sending.send(line)
    except Stopped as stopped:
        return stopped.exit_code
    finally:
        sending.flush()
    for error in sending.errors.values():
        print(f"headrace: {explain(error, target, f'topic {topic!r}')}", file=sys.stderr)
    return 1 if sending.errors else 0


def _settings(given: Given) -> dict[str, str]:
    settings = dict(client_settings(given, _CLIENT))
    settings |= given.properties(files=("--producer-config",))
    for flag, name in _SETTINGS.items():
        if (value := given.text(flag)) is not None:
            settings[name] = value
    if given.has("--compression-codec"):
        settings["compression.type"] = given.text("--compression-codec") or "gzip"
    return settings


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
                    self._topic,
                    line.value,
                    line.key,
                    headers=line.headers or None,
                    on_delivery=self._on_delivery,
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
