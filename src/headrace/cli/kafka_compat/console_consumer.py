"""`kafka-console-consumer` and its siblings with schemas: records become lines.

As Kafka's: every run without --group is a group of its own, `console-consumer-` and a number, that
commits nothing; with --partition there is no group at all. A time-out is no failure.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, BinaryIO, Final

from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.kafka import explain, open_consumer
from headrace.cli.kafka_compat.administering import Told, as_whole_number, complain, read_flags
from headrace.cli.kafka_compat.clients import kafka_target, will_pass
from headrace.cli.kafka_compat.console import formatters
from headrace.cli.kafka_compat.console.formatters import log, open_formatter
from headrace.cli.kafka_compat.console.places import HIDDEN_TOPICS, place_of, read_from
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
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

    from headrace.cli.kafka_compat.console.formatter import Formatter
    from headrace.cli.target import Target

_CLIENT: Final = (
    Superseded("--consumer-property", "--command-property"),
    Superseded("--consumer.config", "--command-config"),
)
_FORMATTER: Final = Superseded("--property", "--formatter-property")
_DEPRECATED: Final = (
    "Option {old} is deprecated and will be removed in a future version. Use {new} instead."
)
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
    "--formatter": Takes.VALUE,
    "--formatter-property": Takes.PAIRS,
    "--property": Takes.PAIRS,
    "--formatter-config": Takes.VALUE,
    "--key-deserializer": Takes.VALUE,
    "--value-deserializer": Takes.VALUE,
    "--command-property": Takes.PAIRS,
    "--consumer-property": Takes.PAIRS,
    "--command-config": Takes.VALUE,
    "--consumer.config": Takes.VALUE,
    "--consumer-config": Takes.VALUE,
    "--enable-systest-events": Takes.NOTHING,
    **OF_THE_PAST,
}
TOOL: Final = "org.apache.kafka.tools.consumer.ConsoleConsumer"
TIMED_OUT: Final = "org.apache.kafka.common.errors.TimeoutException"
_BATCH: Final = 500
_POLL_S: Final = 0.2


def run(words: list[str]) -> int:
    return consume("kafka-console-consumer", formatters.DEFAULT, words)


def avro(words: list[str]) -> int:
    return consume("kafka-avro-console-consumer", formatters.AVRO, words)


def json_schema(words: list[str]) -> int:
    return consume("kafka-json-schema-console-consumer", formatters.JSON_SCHEMA, words)


def protobuf(words: list[str]) -> int:
    return consume("kafka-protobuf-console-consumer", formatters.PROTOBUF, words)


def consume(name: str, formatter_class: str, words: list[str]) -> int:
    """Run one of the commands; its name says which formatter is the default."""
    example = f"{name} --bootstrap-server localhost:9092 --topic orders --from-beginning"
    try:
        given = read_flags(name, words, FLAGS, example)
        if given is None:
            return 0
        place = place_of(given)
        if given.has("--whitelist"):
            print("headrace: --whitelist is deprecated; use --include", file=sys.stderr)
        servers = servers_of(given)
        refuse_both(given, _CLIENT, old_first=True)
        refuse_both(given, (_FORMATTER,), old_first=True)
        if formatter_class == formatters.DEFAULT:
            # Confluent's formatters are documented with --property.
            tell(given, (*_CLIENT, _FORMATTER), _DEPRECATED)
        target = kafka_target(servers, consumer_settings(given))
        class_name = given.text("--formatter") or formatter_class
        with open_formatter(class_name, formatter_properties(given)) as formatter:
            own = {"client.id": "console-consumer"}
            if place.include is not None:
                own["topic.blacklist"] = HIDDEN_TOPICS
            consumer = open_consumer(target, own)
            read_from(consumer, target, place)
            return _print_all(Reading(consumer, target, formatter, given), given)
    except (Told, WrongUsage) as error:
        return complain(str(error))


def _print_all(reading: Reading, given: Given) -> int:
    code = 0
    try:
        with closing(reading.consumer), stoppable():
            reading.run()
    except Stopped as stopped:
        code = stopped.exit_code
    except BrokenPipeError:
        print("Unable to write to standard out, closing consumer.", file=sys.stderr)
        raise
    finally:
        print(f"Processed a total of {reading.count} messages", file=sys.stderr)
        if given.has("--enable-systest-events"):
            print("shutdown_complete", flush=True)
    return code


def formatter_properties(given: Given) -> dict[str, str]:
    """What the formatter is told, by file, by flags of its own and by properties."""
    properties = given.properties(files=("--formatter-config",))
    for flag in ("--key-deserializer", "--value-deserializer"):
        if class_name := given.text(flag):
            properties[flag.removeprefix("--").replace("-", ".")] = class_name
    return properties | given.properties("--property", "--formatter-property")


def agreed_group(
    given: Given, settings: Mapping[str, str], property_flag: str, file_flag: str
) -> str | None:
    """The group that is named, by its flag or by the settings; if by both, then the same."""
    groups = dict.fromkeys(
        group for group in (given.text("--group"), settings.get("group.id")) if group is not None
    )
    if len(groups) > 1:
        named = ", ".join(f"'{group}'" for group in groups)
        raise Told(
            "The group ids provided in different places (directly using '--group', via "
            f"'{property_flag}', or via '{file_flag}') do not match. "
            f"Detected group ids: {named}"
        )
    return next(iter(groups), None)


def consumer_settings(given: Given) -> dict[str, str]:
    """The settings of the client, once everything that decides about them agrees."""
    settings = dict(client_settings(given, _CLIENT))
    settings |= given.properties(files=("--consumer-config",))
    group = agreed_group(given, settings, "--consumer-property", "--consumer.config")
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


class Reading:
    """One run: takes messages until a limit, a silence that lasts too long, or a signal."""

    def __init__(
        self, consumer: Consumer, target: Target, formatter: Formatter, given: Given
    ) -> None:
        self.consumer = consumer
        self._target = target
        self._formatter = formatter
        most = as_whole_number(given, "--max-messages")
        self._most = -1 if most is None else most
        timeout_ms = as_whole_number(given, "--timeout-ms")
        self._timeout_ms = None if timeout_ms is None or timeout_ms < 0 else timeout_ms
        self._skips = given.has("--skip-message-on-error")
        self.count = 0

    def run(self) -> None:
        out = sys.stdout.buffer
        heard = time.monotonic()
        while self._most == -1 or self.count < self._most:
            left = _BATCH if self._most == -1 else self._most - self.count
            messages = self.consumer.consume(min(left, _BATCH), timeout=self._patience_s())
            for message in messages:
                if self._take(message, out):
                    heard = time.monotonic()
            out.flush()
            silence_ms = (time.monotonic() - heard) * 1000
            if self._timeout_ms is not None and self._timeout_ms < silence_ms:
                log("ERROR Error processing message, terminating consumer process: ", TOOL)
                print(TIMED_OUT, file=sys.stderr)
                return

    def _patience_s(self) -> float:
        return _POLL_S if self._timeout_ms is None else min(_POLL_S, self._timeout_ms / 1000)

    def _take(self, message: Message, out: BinaryIO) -> bool:
        """Print one message; whether it was one."""
        error = message.error()
        if error is not None:
            if not will_pass(error):
                raise explain(error, self._target, f"partition {message.partition()}")
            return False
        self.count += 1
        try:
            out.write(self._formatter.line(message))
        except HeadraceError as fault:
            if not blames_record(fault):
                raise
            place = f"partition {message.partition()} offset {message.offset()}"
            if not self._skips:
                remedy = "skip such records with --skip-message-on-error"
                raise Failure(f"{place}: {fault}", remedy) from None
            print(f"headrace: {place}: {fault}", file=sys.stderr)
        return True


def blames_record(fault: HeadraceError) -> bool:
    """Whether a record cannot be shown, rather than the registry be reached."""
    from headrace.cli.kafka_compat.console.schema_values import UnknownSchema
    from headrace.errors import CorruptData
    from headrace.schemas.model import InvalidValue

    return isinstance(fault, InvalidValue | UnknownSchema | CorruptData)
