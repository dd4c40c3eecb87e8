"""What the two tools that measure consumers have in common: flags and their meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import methodcaller
from typing import Any, Final, NamedTuple

from headrace.cli.kafka_compat.administering import Told
from headrace.cli.kafka_compat.flags import Given, Takes
from headrace.cli.kafka_compat.perf.dates import DEFAULT_PATTERN
from headrace.cli.kafka_compat.superseded import Superseded, refuse_both, tell

CONSUMING: Final = {
    "--bootstrap-server": Takes.VALUE,
    "--topic": Takes.VALUE,
    "--group": Takes.VALUE,
    "--num-records": Takes.VALUE,
    "--messages": Takes.VALUE,
    "--fetch-size": Takes.VALUE,
    "--socket-buffer-size": Takes.VALUE,
    "--command-property": Takes.PAIRS,
    "--command-config": Takes.VALUE,
    "--consumer.config": Takes.VALUE,
    "--print-metrics": Takes.NOTHING,
    "--show-detailed-stats": Takes.NOTHING,
    "--timeout": Takes.VALUE,
    "--reporting-interval": Takes.VALUE,
    "--date-format": Takes.VALUE,
    "--hide-header": Takes.NOTHING,
}
_OLD: Final = (
    Superseded("--messages", "--num-records"),
    Superseded("--consumer.config", "--command-config"),
)
_DEPRECATED: Final = "Warning: {old} is deprecated. Use {new} instead."
_TIMEOUT_MS: Final = 10_000
_INTERVAL_MS: Final = 5_000
_SOCKET_BUFFER_BYTES: Final = 2 << 20


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
