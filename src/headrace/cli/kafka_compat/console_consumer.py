"""`kafka-console-consumer` and its siblings with schemas: records become lines.

As Kafka's: every run without --group is a group of its own, `console-consumer-` and a number, that
commits nothing; with --partition there is no group at all. A time-out is no failure.
"""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING, Final

from headrace.cli.failures import Failure
from headrace.cli.kafka import explain, open_consumer
from headrace.cli.kafka_compat.administering import Told
from headrace.cli.kafka_compat.clients import kafka_target, will_pass
from headrace.cli.kafka_compat.console import formatters, reading
from headrace.cli.kafka_compat.console.formatters import open_formatter
from headrace.cli.kafka_compat.console.places import HIDDEN_TOPICS, place_of, read_from
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.superseded import (
    OF_THE_PAST,
    Superseded,
    client_settings,
    refuse_both,
    servers_of,
    tell,
)
from headrace.cli.kafka_compat.tool import Tool, Work, only_usage
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

    from headrace.cli.kafka_compat.console.formatter import Formatter
    from headrace.cli.target import Target

_CLIENT: Final = (
    Superseded("--consumer-property", "--command-property"),
    Superseded("--consumer.config", "--command-config"),
)
_LOGGER: Final = "org.apache.kafka.tools.consumer.ConsoleConsumer"
_BATCH: Final = 500


def _plan(given: Given, formatter_class: str) -> Work:
    place = place_of(given)
    if given.has("--whitelist"):
        print("headrace: --whitelist is deprecated; use --include", file=sys.stderr)
    servers = servers_of(given)
    refuse_both(given, (*_CLIENT, reading.FORMATTER), old_first=True)
    if formatter_class == formatters.DEFAULT:
        # Confluent's formatters are documented with --property.
        tell(given, (*_CLIENT, reading.FORMATTER), reading.DEPRECATED)
    target = kafka_target(servers, consumer_settings(given))

    def work() -> int:
        class_name = given.text("--formatter") or formatter_class
        with open_formatter(class_name, reading.formatter_properties(given)) as formatter:
            own = {"client.id": "console-consumer"}
            if place.include is not None:
                own["topic.blacklist"] = HIDDEN_TOPICS
            consumer = open_consumer(target, own)
            read_from(consumer, target, place)
            return reading.print_records(
                _Source(consumer, target, formatter, given), given, _LOGGER
            )

    return work


def consumer_settings(given: Given) -> dict[str, str]:
    """The settings of the client, once everything that decides about them agrees."""
    settings = dict(client_settings(given, _CLIENT))
    settings |= given.properties(files=("--consumer-config",))
    group = reading.agreed_group(given, settings, "--consumer-property", "--consumer.config")
    if group is not None and given.has("--partition"):
        raise Told("Options group and partition cannot be specified together.")
    if group is not None:
        settings["group.id"] = group
    else:
        # Nobody will ask for this group again: no offsets are kept for it.
        settings["group.id"] = f"console-consumer-{random.randrange(100_000)}"
        settings.setdefault("enable.auto.commit", "false")
    settings.setdefault("enable.auto.commit", "true")
    reset = settings.get("auto.offset.reset")
    if given.has("--from-beginning") and reset not in (None, "earliest"):
        raise Told(
            "Can't simultaneously specify --from-beginning and "
            f"'auto.offset.reset={reset}', please remove one option"
        )
    beginning = "earliest" if given.has("--from-beginning") else "latest"
    settings.setdefault("auto.offset.reset", beginning)
    settings.setdefault("allow.auto.create.topics", "true")
    if isolation := given.text("--isolation-level"):
        settings["isolation.level"] = isolation
    # As Java's consumer: what an aborted transaction left behind is read, unless told otherwise.
    settings.setdefault("isolation.level", "read_uncommitted")
    return settings


class _Source:
    """A consumer, and what becomes of a record that cannot be printed."""

    def __init__(
        self, consumer: Consumer, target: Target, formatter: Formatter, given: Given
    ) -> None:
        self.count = 0
        self.close = consumer.close
        self._consumer = consumer
        self._target = target
        self._formatter = formatter
        self._skips = given.has("--skip-message-on-error")

    def fetch(self, most: int | None, timeout_s: float) -> list[Message]:
        wanted = _BATCH if most is None else min(most, _BATCH)
        return self._consumer.consume(wanted, timeout=timeout_s)

    def line(self, message: Message, *, is_wanted: bool) -> bytes | None:
        assert is_wanted, "no more is fetched than is wanted"
        error = message.error()
        if error is not None:
            if not will_pass(error):
                raise explain(error, self._target, f"partition {message.partition()}")
            return None
        self.count += 1
        try:
            return self._formatter.line(message)
        except HeadraceError as fault:
            if not reading.blames_record(fault):
                raise
            place = f"partition {message.partition()} offset {message.offset()}"
            if not self._skips:
                remedy = "skip such records with --skip-message-on-error"
                raise Failure(f"{place}: {fault}", remedy) from None
            print(f"headrace: {place}: {fault}", file=sys.stderr)
            return b""


def _tool(name: str, formatter_class: str) -> Tool:
    """One of the commands; its name says which formatter is the default."""
    return Tool(
        name,
        flags(
            "--bootstrap-server= --topic= --include= --whitelist= --partition= --offset= "
            "--from-beginning --max-messages= --timeout-ms= --group= --isolation-level= "
            "--skip-message-on-error",
            reading.FORMATTING,
            "--consumer.config= --consumer-config= --enable-systest-events",
            OF_THE_PAST,
        ),
        "--bootstrap-server localhost:9092 --topic orders --from-beginning",
        lambda given: _plan(given, formatter_class),
        refused=only_usage,
    )


run: Final = _tool("kafka-console-consumer", formatters.DEFAULT)
avro: Final = _tool("kafka-avro-console-consumer", formatters.AVRO)
json_schema: Final = _tool("kafka-json-schema-console-consumer", formatters.JSON_SCHEMA)
protobuf: Final = _tool("kafka-protobuf-console-consumer", formatters.PROTOBUF)
