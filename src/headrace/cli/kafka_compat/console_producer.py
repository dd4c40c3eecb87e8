"""`kafka-console-producer` and its siblings with schemas: lines become records."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from headrace.cli.failures import Failure
from headrace.cli.kafka import explain, open_producer
from headrace.cli.kafka_compat.administering import need
from headrace.cli.kafka_compat.clients import kafka_target
from headrace.cli.kafka_compat.console import readers
from headrace.cli.kafka_compat.console.readers import open_reader
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.signals import Stopped, stoppable
from headrace.cli.kafka_compat.superseded import (
    OF_THE_PAST,
    Superseded,
    client_settings,
    refuse_both,
    servers_of,
    tell,
)
from headrace.cli.kafka_compat.tool import Tool, Work, only_usage
from headrace.cli.sending import Sending

if TYPE_CHECKING:
    from confluent_kafka import Producer

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
_FLUSH_S: Final = 60.0


def _plan(given: Given, default_reader: str) -> Work:
    reader_class = given.text("--line-reader") or default_reader
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

    def work() -> int:
        reader = open_reader(reader_class, topic, properties)
        producer = open_producer(target, {"linger.ms": 5, "client.id": "console-producer"})
        sending = Sending(producer, target, topic)
        try:
            with stoppable():
                for line in reader.read(sys.stdin.buffer):
                    sending.send(line)
                    producer.poll(0)
                    if given.has("--sync"):
                        _flush(producer)
        except Stopped as stopped:
            return stopped.exit_code
        finally:
            _flush(producer)
        for error in sending.errors.values():
            print(f"headrace: {explain(error, target, f'topic {topic!r}')}", file=sys.stderr)
        return 1 if sending.errors else 0

    return work


def _settings(given: Given) -> dict[str, str]:
    settings = dict(client_settings(given, _CLIENT))
    settings |= given.properties(files=("--producer-config",))
    for flag, name in _SETTINGS.items():
        if (value := given.text(flag)) is not None:
            settings[name] = value
    if given.has("--compression-codec"):
        settings["compression.type"] = given.text("--compression-codec") or "gzip"
    return settings


def _flush(producer: Producer) -> None:
    if producer.flush(_FLUSH_S):
        raise Failure(f"some records were not acknowledged within {_FLUSH_S:.0f} s")


def _tool(name: str, reader_class: str) -> Tool:
    """One of the commands; its name says which reader is the default."""
    return Tool(
        name,
        flags(
            "--bootstrap-server= --topic= --sync --compression-codec=? --line-reader= "
            "--reader-property=K=V --property=K=V --reader-config= --command-property=K=V "
            "--producer-property=K=V --command-config= --producer.config= --producer-config=",
            *(f"{flag}=" for flag in _SETTINGS),
            OF_THE_PAST,
        ),
        "--bootstrap-server localhost:9092 --topic orders < orders.txt",
        lambda given: _plan(given, reader_class),
        refused=only_usage,
    )


run: Final = _tool("kafka-console-producer", readers.LINES)
avro: Final = _tool("kafka-avro-console-producer", readers.AVRO)
json_schema: Final = _tool("kafka-json-schema-console-producer", readers.JSON_SCHEMA)
protobuf: Final = _tool("kafka-protobuf-console-producer", readers.PROTOBUF)
