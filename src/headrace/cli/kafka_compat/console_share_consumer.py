"""`kafka-console-share-consumer`: records of a share group become lines, and are acknowledged.

Each record is accepted once it is printed, or released or rejected where that is asked for. What
was fetched and not printed is released when the consumer leaves.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.kafka import explain
from headrace.cli.kafka_compat.administering import (
    Told,
    as_whole_number,
    complain,
    need,
    read_flags,
)
from headrace.cli.kafka_compat.clients import kafka_target
from headrace.cli.kafka_compat.console import formatters
from headrace.cli.kafka_compat.console.formatters import log, open_formatter
from headrace.cli.kafka_compat.console_consumer import (
    TIMED_OUT,
    agreed_group,
    blames_record,
    formatter_properties,
)
from headrace.cli.kafka_compat.flags import Given, Takes
from headrace.cli.kafka_compat.share_clients import open_share_consumer
from headrace.cli.kafka_compat.signals import Stopped, stoppable
from headrace.cli.kafka_compat.superseded import (
    Superseded,
    client_settings,
    refuse_both,
    servers_of,
    tell,
)
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace.cli.kafka_compat.console.formatter import Formatter
    from headrace.cli.target import Target

_CLIENT: Final = (
    Superseded("--consumer-property", "--command-property"),
    Superseded("--consumer-config", "--command-config"),
)
_FORMATTER: Final = Superseded("--property", "--formatter-property")
_DEPRECATED: Final = (
    "Option {old} is deprecated and will be removed in a future version. Use {new} instead."
)
FLAGS: Final = {
    "--bootstrap-server": Takes.VALUE,
    "--topic": Takes.VALUE,
    "--group": Takes.VALUE,
    "--max-messages": Takes.VALUE,
    "--timeout-ms": Takes.VALUE,
    "--reject": Takes.NOTHING,
    "--release": Takes.NOTHING,
    "--reject-message-on-error": Takes.NOTHING,
    "--formatter": Takes.VALUE,
    "--formatter-property": Takes.PAIRS,
    "--property": Takes.PAIRS,
    "--formatter-config": Takes.VALUE,
    "--key-deserializer": Takes.VALUE,
    "--value-deserializer": Takes.VALUE,
    "--command-property": Takes.PAIRS,
    "--consumer-property": Takes.PAIRS,
    "--command-config": Takes.VALUE,
    "--consumer-config": Takes.VALUE,
    "--enable-systest-events": Takes.NOTHING,
}
_NAME: Final = "kafka-console-share-consumer"
_TOOL: Final = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
_EXAMPLE: Final = f"{_NAME} --bootstrap-server localhost:9092 --topic jobs --group workers"
_POLL_S: Final = 0.2


def run(words: list[str]) -> int:
    try:
        given = read_flags(_NAME, words, FLAGS, _EXAMPLE)
        if given is None:
            return 0
        if not given.has("--topic"):
            raise Told("--topic is a required argument")
        need(given, "--bootstrap-server")
        if given.has("--reject") and given.has("--release"):
            raise Told("At most one of --reject and --release may be specified.")
        refuse_both(given, (*_CLIENT, _FORMATTER), old_first=True)
        tell(given, (*_CLIENT, _FORMATTER), _DEPRECATED)
        target = kafka_target(servers_of(given), _settings(given))
        class_name = given.text("--formatter") or formatters.DEFAULT
        with open_formatter(class_name, formatter_properties(given)) as formatter:
            return _print_all(given, target, formatter)
    except (Told, WrongUsage) as error:
        return complain(str(error))


def _settings(given: Given) -> dict[str, str]:
    settings = dict(client_settings(given, _CLIENT))
    group = agreed_group(given, settings, "--command-property", "--command-config")
    settings["group.id"] = "console-share-consumer" if group is None else group
    settings["share.acknowledgement.mode"] = "explicit"
    settings.setdefault("client.id", "console-share-consumer")
    return settings


def _print_all(given: Given, target: Target, formatter: Formatter) -> int:
    consumer = open_share_consumer(target, {})
    reading = _Reading(consumer, target, formatter, given)
    code = 0
    try:
        consumer.subscribe([given.needed("--topic")])
        with stoppable():
            reading.run()
    except Stopped as stopped:
        code = stopped.exit_code
    finally:
        consumer.close()
        print(f"Processed a total of {reading.count} messages", file=sys.stderr)
        if given.has("--enable-systest-events"):
            print("shutdown_complete", flush=True)
    return code


class _Reading:
    """One run: takes batches and acknowledges every record of them, printed or not."""

    def __init__(self, consumer: Any, target: Target, formatter: Formatter, given: Given) -> None:
        from confluent_kafka import AcknowledgeType

        self._consumer = consumer
        self._target = target
        self._formatter = formatter
        most = as_whole_number(given, "--max-messages")
        self._most = -1 if most is None else most
        self._timeout_ms = as_whole_number(given, "--timeout-ms")
        self._rejects_faulty = given.has("--reject-message-on-error")
        self._release, self._reject = AcknowledgeType.RELEASE, AcknowledgeType.REJECT
        self._answer = AcknowledgeType.ACCEPT
        if given.has("--reject") or given.has("--release"):
            self._answer = self._reject if given.has("--reject") else self._release
        self.count = 0

    @property
    def _done(self) -> bool:
        return self._most != -1 and self.count >= self._most

    def run(self) -> None:
        out = sys.stdout.buffer
        heard = time.monotonic()
        while not self._done:
            messages = self._consumer.poll(_POLL_S)
            for message in messages:
                if message.error() is not None:
                    raise explain(message.error(), self._target, "the share group")
                heard = time.monotonic()
                if self._done:
                    # More came than was asked for: the rest is somebody else's.
                    self._consumer.acknowledge(message, self._release)
                else:
                    self.count += 1
                    out.write(self._printed(message))
            out.flush()
            silence_ms = (time.monotonic() - heard) * 1000
            if self._timeout_ms is not None and 0 <= self._timeout_ms < silence_ms:
                log("ERROR Error processing message, terminating consumer process: ", _TOOL)
                print(TIMED_OUT, file=sys.stderr)
                return

    def _printed(self, message: Any) -> bytes:
        try:
            line = self._formatter.line(message)
        except HeadraceError as fault:
            if not blames_record(fault) or not self._rejects_faulty:
                remedy = "reject such records with --reject-message-on-error"
                raise Failure(f"offset {message.offset()}: {fault}", remedy) from None
            print(f"headrace: offset {message.offset()}: {fault}", file=sys.stderr)
            self._consumer.acknowledge(message, self._reject)
            return b""
        self._consumer.acknowledge(message, self._answer)
        return line
