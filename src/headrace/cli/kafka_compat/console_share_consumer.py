"""`kafka-console-share-consumer`: records of a share group become lines, and are acknowledged.

Each record is accepted once it is printed, or released or rejected where that is asked for. What
was fetched and not printed is released when the consumer leaves.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from headrace.cli.failures import Failure
from headrace.cli.kafka import explain
from headrace.cli.kafka_compat.administering import Told, need
from headrace.cli.kafka_compat.clients import kafka_target
from headrace.cli.kafka_compat.console import formatters, reading
from headrace.cli.kafka_compat.console.formatters import open_formatter
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.share_clients import open_share_consumer
from headrace.cli.kafka_compat.superseded import Superseded, client_settings, refuse_both, tell
from headrace.cli.kafka_compat.tool import Tool, Work, only_usage
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace.cli.kafka_compat.console.formatter import Formatter
    from headrace.cli.target import Target

_CLIENT: Final = (
    Superseded("--consumer-property", "--command-property"),
    Superseded("--consumer-config", "--command-config"),
)
_LOGGER: Final = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"


def _plan(given: Given) -> Work:
    if not given.has("--topic"):
        raise Told("--topic is a required argument")
    need(given, "--bootstrap-server")
    if given.has("--reject") and given.has("--release"):
        raise Told("At most one of --reject and --release may be specified.")
    refuse_both(given, (*_CLIENT, reading.FORMATTER), old_first=True)
    tell(given, (*_CLIENT, reading.FORMATTER), reading.DEPRECATED)
    target = kafka_target(given.needed("--bootstrap-server"), _settings(given))

    def work() -> int:
        class_name = given.text("--formatter") or formatters.DEFAULT
        with open_formatter(class_name, reading.formatter_properties(given)) as formatter:
            return reading.print_records(_Source(target, formatter, given), given, _LOGGER)

    return work


def _settings(given: Given) -> dict[str, str]:
    settings = dict(client_settings(given, _CLIENT))
    group = reading.agreed_group(given, settings, "--command-property", "--command-config")
    settings["group.id"] = "console-share-consumer" if group is None else group
    settings["share.acknowledgement.mode"] = "explicit"
    settings.setdefault("client.id", "console-share-consumer")
    return settings


class _Source:
    """A member of the group, which acknowledges every record of a batch, printed or not."""

    def __init__(self, target: Target, formatter: Formatter, given: Given) -> None:
        from confluent_kafka import AcknowledgeType

        self.count = 0
        self._consumer = open_share_consumer(target, {})
        self.close = self._consumer.close
        self._consumer.subscribe([given.needed("--topic")])
        self._target = target
        self._formatter = formatter
        self._rejects_faulty = given.has("--reject-message-on-error")
        self._release, self._reject = AcknowledgeType.RELEASE, AcknowledgeType.REJECT
        self._answer = AcknowledgeType.ACCEPT
        if given.has("--reject") or given.has("--release"):
            self._answer = self._reject if given.has("--reject") else self._release

    def fetch(self, _most: int | None, timeout_s: float) -> list[Any]:
        messages: list[Any] = self._consumer.poll(timeout_s)
        return messages

    def line(self, message: Any, *, is_wanted: bool) -> bytes:
        if message.error() is not None:
            raise explain(message.error(), self._target, "the share group")
        if not is_wanted:
            # More came than was asked for: the rest is somebody else's.
            self._consumer.acknowledge(message, self._release)
            return b""
        self.count += 1
        try:
            line = self._formatter.line(message)
        except HeadraceError as fault:
            if not reading.blames_record(fault) or not self._rejects_faulty:
                remedy = "reject such records with --reject-message-on-error"
                raise Failure(f"offset {message.offset()}: {fault}", remedy) from None
            print(f"headrace: offset {message.offset()}: {fault}", file=sys.stderr)
            self._consumer.acknowledge(message, self._reject)
            return b""
        self._consumer.acknowledge(message, self._answer)
        return line


run: Final = Tool(
    "kafka-console-share-consumer",
    flags(
        "--bootstrap-server= --topic= --group= --max-messages= --timeout-ms= --reject --release "
        "--reject-message-on-error",
        reading.FORMATTING,
        "--consumer-config= --enable-systest-events",
    ),
    "--bootstrap-server localhost:9092 --topic jobs --group workers",
    _plan,
    refused=only_usage,
)
