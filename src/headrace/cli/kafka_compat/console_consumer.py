"""`kafka-avro-console-consumer` and its two siblings: records with schemas, one JSON per line.

Without --group the partitions are assigned and nothing is committed. Values are printed as the
Java tool prints them: Avro in its JSON encoding (a union's value is tagged with its branch),
Protobuf in the JSON mapping with default values, JSON as it is.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.kafka import TIMEOUT_S, explain, open_consumer, read_metadata
from headrace.cli.kafka_compat.clients import is_true, kafka_target, open_registry, unescaped
from headrace.cli.kafka_compat.flags import Given, Takes, parse, usage
from headrace.cli.kafka_compat.plain import Deserializer, deserializer_named
from headrace.errors import HeadraceError
from headrace.schemas.framing import KEY_SCHEMA_ID_HEADER, VALUE_SCHEMA_ID_HEADER
from headrace.schemas.model import InvalidValue, SchemaType

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

    from headrace.cli.target import Target
    from headrace.client.registry import Decoded, Serdes

FLAGS: Final = {
    "--bootstrap-server": Takes.VALUE,
    "--topic": Takes.VALUE,
    "--include": Takes.VALUE,
    "--whitelist": Takes.VALUE,
    "--partition": Takes.VALUE,
    "--offset": Takes.VALUE,
    "--from-beginning": Takes.NOTHING,
    "--max-messages": Takes.VALUE,
    "--timeout-ms": Takes.VALUE,
    "--group": Takes.VALUE,
    "--isolation-level": Takes.VALUE,
    "--skip-message-on-error": Takes.NOTHING,
    "--property": Takes.PAIRS,
    "--formatter-property": Takes.PAIRS,
    "--formatter-config": Takes.VALUE,
    "--formatter": Takes.VALUE,
    "--key-deserializer": Takes.VALUE,
    "--value-deserializer": Takes.VALUE,
    "--consumer-property": Takes.PAIRS,
    "--command-property": Takes.PAIRS,
    "--consumer.config": Takes.VALUE,
    "--consumer-config": Takes.VALUE,
    "--command-config": Takes.VALUE,
    "--help": Takes.NOTHING,
}
_BATCH: Final = 500
_POLL_S: Final = 0.2
_PARTITION_EOF: Final = -191
_TIMESTAMP_TYPES: Final = ("NO_TIMESTAMP", "CreateTime", "LogAppendTime")
_OFFSETS: Final = {"earliest": -2, "latest": -1}


class UnknownSchema(HeadraceError):
    """A record names a schema that the registry does not have: the record's fault, not ours."""


def avro(words: list[str]) -> int:
    return consume("avro", SchemaType.AVRO, words)


def json_schema(words: list[str]) -> int:
    return consume("json-schema", SchemaType.JSON, words)


def protobuf(words: list[str]) -> int:
    return consume("protobuf", SchemaType.PROTOBUF, words)


def consume(name: str, schema_type: SchemaType, words: list[str]) -> int:
    """Run one of the commands."""
    command = f"kafka-{name}-console-consumer"
    if not words or "--help" in words:
        example = f"{command} --bootstrap-server 127.0.0.1:9092 --topic orders --from-beginning"
        print(usage(command, FLAGS, example))
        return 0 if words else 2
    given = parse(words, FLAGS)
    properties = given.properties(
        "--property", "--formatter-property", files=("--formatter-config",)
    )
    settings = given.properties(
        "--consumer-property",
        "--command-property",
        files=("--consumer.config", "--consumer-config", "--command-config"),
    )
    from headrace.client.registry import Serdes

    servers = given.needed("--bootstrap-server")
    target = kafka_target(servers, settings)
    if key_class := given.text("--key-deserializer"):
        properties.setdefault("key.deserializer", key_class)
    with closing(open_registry(properties)) as registry:
        formatter = Formatter(Serdes(registry), schema_type, properties)
        consumer = _open(given, target)
        reading = _Reading(consumer, target, formatter, given)
        try:
            reading.run()
        except (KeyboardInterrupt, BrokenPipeError):
            pass  # Ctrl-C is the usual end, and `| head` has seen enough.
        finally:
            consumer.close()
            print(f"Processed a total of {reading.count} messages", file=sys.stderr)
    return 0


def _open(given: Given, target: Target) -> Consumer:
    """A consumer that reads what the flags say, by assignment where no group is named."""
    topic, pattern = given.text("--topic"), given.text("--include", "--whitelist")
    if (topic is None) == (pattern is None):
        raise WrongUsage("one of --topic and --include is needed", "give exactly one of them")
    group = given.text("--group") or target.properties.get("group.id")
    beginning = given.has("--from-beginning")
    settings: dict[str, Any] = {
        "group.id": group or f"console-consumer-{uuid.uuid4().hex[:8]}",
        "enable.auto.commit": group is not None,
        "auto.offset.reset": "earliest" if beginning else "latest",
        "isolation.level": given.text("--isolation-level") or "read_uncommitted",
    }
    consumer = open_consumer(target, settings)
    partition = given.number("--partition")
    if given.has("--offset") and partition is None:
        raise WrongUsage("--offset needs --partition", "give both, or --from-beginning")
    if topic is not None and (partition is not None or group is None):
        wanted = given.text("--offset") or ("earliest" if beginning else "latest")
        if _assign(consumer, target, topic, partition, wanted):
            return consumer
    consumer.subscribe([topic if topic is not None else f"^{pattern}"])
    return consumer


def _assign(
    consumer: Consumer, target: Target, topic: str, partition: int | None, wanted: str
) -> bool:
    """False if the topic is not there yet, so that a subscription has to wait for it."""
    from confluent_kafka import TopicPartition

    metadata = read_metadata(consumer, target)
    known = metadata.topics.get(topic)
    if known is None:
        return False
    partitions = sorted(known.partitions) if partition is None else [partition]
    if partition is not None and partition not in known.partitions:
        raise Failure(
            f'topic "{topic}" has no partition {partition}',
            f"it has 0 to {len(known.partitions) - 1}",
        )
    if wanted not in _OFFSETS and not wanted.isdecimal():
        raise WrongUsage(f'--offset "{wanted}" is no offset', "use earliest, latest or a number")
    offset = _OFFSETS.get(wanted) if wanted in _OFFSETS else int(wanted)
    assigned = []
    for number in partitions:
        place = TopicPartition(topic, number, offset if offset is not None else -1)
        if wanted == "latest":
            # Asked now: "from now on" means from the start of the command, not of the fetching.
            place.offset = consumer.get_watermark_offsets(place, timeout=TIMEOUT_S)[1]
        assigned.append(place)
    consumer.assign(assigned)
    return True


class _Reading:
    """One run: takes messages until a limit, a silence that lasts too long, or Ctrl-C."""

    def __init__(
        self, consumer: Consumer, target: Target, formatter: Formatter, given: Given
    ) -> None:
        self._consumer = consumer
        self._target = target
        self._formatter = formatter
        self._most = given.number("--max-messages")
        self._timeout_ms = given.number("--timeout-ms")
        self._skips = given.has("--skip-message-on-error")
        self.count = 0

    def run(self) -> None:
        out = sys.stdout.buffer
        heard = time.monotonic()
        while self._most is None or self._most < 0 or self.count < self._most:
            left = _BATCH if self._most is None or self._most < 0 else self._most - self.count
            messages = self._consumer.consume(min(left, _BATCH), timeout=_POLL_S)
            if any(message.error() is None for message in messages):
                heard = time.monotonic()
            for message in messages:
                self._take(message, out)
            out.flush()
            silence_ms = (time.monotonic() - heard) * 1000
            if self._timeout_ms is not None and 0 <= self._timeout_ms < silence_ms:
                return

    def _take(self, message: Message, out: BinaryIO) -> None:
        error = message.error()
        if error is not None:
            if error.code() != _PARTITION_EOF and not error.retriable():
                raise explain(error, self._target, f"partition {message.partition()}")
            return
        self.count += 1
        try:
            out.write(self._formatter.line(message))
        except (InvalidValue, UnknownSchema) as fault:
            place = f"partition {message.partition()} offset {message.offset()}"
            if not self._skips:
                remedy = "skip such records with --skip-message-on-error"
                raise Failure(f"{place}: {fault}", remedy) from None
            print(f"headrace: {place}: {fault}", file=sys.stderr)


class Formatter:
    """A record as a line, by the properties of Confluent's formatter."""

    def __init__(
        self, serdes: Serdes, schema_type: SchemaType, properties: Mapping[str, str]
    ) -> None:
        self._serdes = serdes
        self._type = schema_type
        self._shows: Callable[[str], bool] = lambda name: is_true(properties, f"print.{name}")
        self._separator = unescaped(properties.get("key.separator", "\t"))
        self._id_separator = unescaped(properties.get("schema.id.separator", "\t"))
        self._end = unescaped(properties.get("line.separator", "\n"))
        self._null = properties.get("null.literal", "null")
        key_class = properties.get("key.deserializer")
        self._key: Deserializer | None = deserializer_named(key_class) if key_class else None

    def line(self, message: Any) -> bytes:
        """The parts that are asked for, in the order that the Java tool has."""
        parts = []
        if self._shows("timestamp"):
            kind, timestamp = message.timestamp()
            parts.append(f"{_TIMESTAMP_TYPES[kind]}:{timestamp}" if kind else _TIMESTAMP_TYPES[0])
        if self._shows("partition"):
            parts.append(f"Partition:{message.partition()}")
        if self._shows("offset"):
            parts.append(f"Offset:{message.offset()}")
        if self._shows("headers"):
            parts.append(_headers(message.headers() or ()))
        if self._shows("key"):
            plain = self._key
            if plain is not None:
                parts.append(self._null if message.key() is None else plain(message.key()))
            else:
                parts.append(self._shown(message, message.key(), KEY_SCHEMA_ID_HEADER))
        parts.append(self._shown(message, message.value(), VALUE_SCHEMA_ID_HEADER))
        return (self._separator.join(parts) + self._end).encode()

    def _shown(self, message: Any, data: bytes | None, header_name: str) -> str:
        if data is None:
            return self._null
        header = next(
            (value for name, value in reversed(message.headers() or ()) if name == header_name),
            None,
        )
        decoded = self._decoded(data, header)
        text = json.dumps(decoded.value, separators=(",", ":"), ensure_ascii=False)
        if self._shows("schema.ids"):
            shown = decoded.schema_id if decoded.schema_id is not None else decoded.guid
            text += f"{self._id_separator}{shown}"
        return text

    def _decoded(self, data: bytes, header: bytes | None) -> Decoded:
        from headrace.client.registry import RegistryRefused

        try:
            return self._serdes.decode(data, header=header, expected=self._type)
        except RegistryRefused as refused:
            if refused.http_status == 404:
                raise UnknownSchema(str(refused)) from None
            raise


def _headers(headers: Any) -> str:
    if not headers:
        return "NO_HEADERS"
    return ",".join(
        f"{name}:{'null' if value is None else value.decode(errors='replace')}"
        for name, value in headers
    )
