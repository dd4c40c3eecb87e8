"""What the two tools that measure consumers have in common: flags, their meaning, and the loop."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from operator import methodcaller
from typing import Any, Final, NamedTuple, Protocol

from headrace.cli.kafka_compat.administering import Told, need
from headrace.cli.kafka_compat.flags import Given
from headrace.cli.kafka_compat.perf.dates import DEFAULT_PATTERN
from headrace.cli.kafka_compat.superseded import Superseded, refuse_both, tell

CONSUMING: Final = (
    "--bootstrap-server= --topic= --group= --num-records= --messages= --fetch-size= "
    "--socket-buffer-size= --command-property=K=V --command-config= --consumer.config= "
    "--print-metrics --show-detailed-stats --timeout= --reporting-interval= --date-format= "
    "--hide-header"
)
_OLD: Final = (
    Superseded("--messages", "--num-records"),
    Superseded("--consumer.config", "--command-config"),
)
_DEPRECATED: Final = "Warning: {old} is deprecated. Use {new} instead."
_TIMEOUT_MS: Final = 10_000
_INTERVAL_MS: Final = 5_000
_SOCKET_BUFFER_BYTES: Final = 2 << 20
MIB: Final = 1024.0 * 1024.0

_error: Final = methodcaller("error")
_key: Final = methodcaller("key")


def weigh(messages: Sequence[Any]) -> tuple[int, int, list[Any]]:
    """How many records, the bytes of their keys and values, and what else came.

    Everything per record is done by functions of C: this is the loop that is measured.
    """
    faults = list(filter(None, map(_error, messages)))
    if faults:
        messages = [message for message in messages if message.error() is None]
    size = sum(map(len, messages)) + sum(map(len, filter(None, map(_key, messages))))
    return len(messages), size, faults


class Measured(Protocol):
    """A consumer that is measured."""

    def left(self) -> int:
        """How many records are still wanted, of it or of all that share the work."""
        ...

    def fetch(self, most: int) -> Sequence[Any]: ...

    def note(self, records: int, size: int, faults: Sequence[Any]) -> None: ...

    def report(self, start_s: float, end_s: float) -> None:
        """Tell what came between these times."""
        ...


def consume(consumer: Measured, measure: Measure) -> None:
    """Take records until there are enough, or none has come for too long."""
    heard_s = reported_s = time.time()
    while (left := consumer.left()) > 0:
        records, size, faults = weigh(consumer.fetch(left))
        now_s = time.time()
        consumer.note(records, size, faults)
        if records:
            heard_s = now_s
            if (now_s - reported_s) * 1000 >= measure.interval_ms:
                consumer.report(reported_s, now_s)
                reported_s = now_s
        if (now_s - heard_s) * 1000 > measure.timeout_ms:
            break


class Measure(NamedTuple):
    """One run, as the command line asks for it."""

    records: int
    timeout_ms: int
    interval_ms: int
    pattern: str
    detailed: bool
    hides_header: bool
    prints_metrics: bool
    settings: Mapping[str, str]

    @property
    def gave_up(self) -> str:
        return (
            "WARNING: Exiting before consuming the expected number of records: timeout "
            f"({self.timeout_ms} ms) exceeded. You can use the --timeout option to increase the "
            "timeout."
        )


def begin(measure: Measure, header: str) -> None:
    """Print the header; only behind it does Kafka's tool look at the interval."""
    if not measure.hides_header:
        print(header, flush=True)
    if measure.interval_ms <= 0:
        raise Told("Reporting interval must be greater than 0.")


def need_records(given: Given) -> None:
    if not given.has("--messages"):
        need(given, "--num-records")


def measure_of(given: Given) -> Measure:
    """What the flags say; what is superseded is told."""
    refuse_both(given, _OLD, old_first=True)
    tell(given, _OLD, _DEPRECATED)
    records = given.number("--num-records")
    if records is None:
        records = given.number("--messages") or 0
    interval_ms = given.number("--reporting-interval")
    timeout_ms = given.number("--timeout")
    settings = given.properties(
        "--command-property", files=("--consumer.config", "--command-config")
    )
    buffer_bytes = given.number("--socket-buffer-size") or _SOCKET_BUFFER_BYTES
    settings["receive.buffer.bytes"] = str(buffer_bytes)
    return Measure(
        records=records,
        timeout_ms=_TIMEOUT_MS if timeout_ms is None else timeout_ms,
        interval_ms=_INTERVAL_MS if interval_ms is None else interval_ms,
        pattern=given.text("--date-format") or DEFAULT_PATTERN,
        detailed=given.has("--show-detailed-stats"),
        hides_header=given.has("--hide-header"),
        prints_metrics=given.has("--print-metrics"),
        settings=settings,
    )
