"""The formatters of `--formatter` by the names of their Java classes, those of the past too."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

from headrace.cli.failures import WrongUsage
from headrace.cli.kafka_compat.console.formatter import (
    DefaultFormatter,
    Formatter,
    Show,
    Shows,
    as_it_is,
)
from headrace.cli.kafka_compat.console.readers import CONFLUENT

DEFAULT: Final = "org.apache.kafka.tools.consumer.DefaultMessageFormatter"
AVRO: Final = f"{CONFLUENT}AvroMessageFormatter"
JSON_SCHEMA: Final = f"{CONFLUENT}json.JsonSchemaMessageFormatter"
PROTOBUF: Final = f"{CONFLUENT}protobuf.ProtobufMessageFormatter"
_LOGGING: Final = "org.apache.kafka.tools.consumer.LoggingMessageFormatter"


@contextmanager
def open_formatter(class_name: str, properties: Mapping[str, str]) -> Iterator[Formatter]:
    """The formatter of this class, for as long as the block runs."""
    if class_name in (AVRO, JSON_SCHEMA, PROTOBUF):
        from headrace.cli.kafka_compat.console.schema_values import open_schema_formatter

        with open_schema_formatter(class_name, properties) as formatter:
            yield formatter
        return
    # kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter was a name, too.
    name = class_name.replace("$", ".").rpartition(".")[2]
    if name in _MAKERS:
        yield _MAKERS[name](properties)
        return
    from headrace.cli.kafka_compat.coordinator_records import FORMATTERS, CoordinatorFormatter

    if name not in FORMATTERS:
        known = ", ".join((*_MAKERS, *FORMATTERS))
        raise WrongUsage(f'"{class_name}" is not known here', f"use the class of {known}")
    yield CoordinatorFormatter(FORMATTERS[name])


def plain_shows(properties: Mapping[str, str]) -> Shows:
    """By the deserializers that the properties name."""
    return Shows(
        _deserialized(properties.get("key.deserializer")),
        _deserialized(properties.get("value.deserializer")),
        _deserialized(properties.get("headers.deserializer")),
    )


def _deserialized(class_name: str | None) -> Show:
    if class_name is None:
        return as_it_is
    from headrace.cli.kafka_compat.console.plain import deserializer_named

    deserialize = deserializer_named(class_name)
    return lambda _message, data: deserialize(data).encode()


class _Logging:
    """Prints as the default does, and says the same on stderr as a line of a log."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._default = DefaultFormatter(properties, plain_shows(properties))

    def line(self, message: Any) -> bytes:
        kind, timestamp_ms = message.timestamp()
        when = f"{('', 'CreateTime', 'LogAppendTime')[kind]}:{timestamp_ms}, " if kind else ""
        key, value = (
            "null" if data is None else data.decode(errors="replace")
            for data in (message.key(), message.value())
        )
        log(f"INFO {when}key:{key}, value:{value}", _LOGGING)
        return self._default.line(message)


class _NoOp:
    def line(self, _message: Any) -> bytes:
        return b""


def log(text: str, logger: str) -> None:
    """A line as Java's logging prints it, on stderr."""
    now = datetime.now(UTC).astimezone()
    stamp = f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03}"
    print(f"[{stamp}] {text} ({logger})", file=sys.stderr)


_MAKERS: Final[dict[str, Callable[[Mapping[str, str]], Formatter]]] = {
    "DefaultMessageFormatter": lambda given: DefaultFormatter(given, plain_shows(given)),
    "LoggingMessageFormatter": _Logging,
    "NoOpMessageFormatter": lambda _given: _NoOp(),
}
