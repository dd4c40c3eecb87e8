"""`kafka-producer-perf-test`: how many records a second a cluster takes from one producer.

The loop that sends does as little as Python can: a value, one call, no callback (see
`perf.ledger`). Settings have the defaults of Java's producer, so that a number stands for the same
load; `buffer.memory` bounds what is under way, and with it the latency of a producer at its limit.
One differs: `enable.idempotence` must be asked for, since it slows librdkafka, with the small
batches of that default, to a fraction, and the broker is what is to be measured.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from headrace.cli.failures import Failure
from headrace.cli.kafka import explained, open_producer
from headrace.cli.kafka_compat.administering import Told
from headrace.cli.kafka_compat.arguments import error_of, need_arguments, read_arguments
from headrace.cli.kafka_compat.clients import kafka_target
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.perf import metrics, payloads
from headrace.cli.kafka_compat.perf.ledger import REPORTING_INTERVAL_MS, Ledger
from headrace.cli.kafka_compat.perf.pacing import Pace
from headrace.cli.kafka_compat.tool import Tool, Work, left_to_main
from headrace.cli.small_files import read_properties

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

    from headrace.cli.target import Target

_PAYLOADS: Final = ("--record-size", "--payload-file", "--payload-monotonic")
_DEPRECATED: Final = (
    "Option {} has been deprecated and will be removed in a future version. Use {} instead."
)
# Of Java's producer, where librdkafka has others.
_DEFAULTS: Final = {
    "client.id": "perf-producer-client",
    "batch.size": "16384",
    "buffer.memory": "33554432",
    "linger.ms": "5",
    "queue.buffering.max.messages": "0",
}
_TRANSACTION_MS: Final = 3_000
_FLUSH_S: Final = 120.0
_WAIT_S: Final = 0.05


class Plan(NamedTuple):
    """One run, as the command line asks for it."""

    topic: str
    records: int
    values: Iterator[bytes]
    value_size: int
    per_s: float
    warmup: int
    interval_ms: int
    transaction_ms: int | None


# -- the command line -----------------------------------------------------------------------------


def _work(given: Given) -> Work:
    _check(given)
    settings = _settings(given)
    plan = _plan(given, settings)
    return lambda: _measure(plan, settings, prints_metrics=given.has("--print-metrics"))


def _check(given: Given) -> None:
    need_arguments(given, "--topic", "--num-records", "--throughput")
    chosen = [flag for flag in _PAYLOADS if given.has(flag)]
    if not chosen:
        raise Told(f"one of the arguments {' '.join(_PAYLOADS)} is required")
    if len(chosen) > 1:
        raise Told(f"argument {chosen[1]}: not allowed with argument {chosen[0]}")
    for new, old in (
        ("--command-property", "--producer-props"),
        ("--command-config", "--producer.config"),
    ):
        if given.has(new) and given.has(old):
            raise Told(f"{new} and {old} cannot be specified together.")


def _settings(given: Given) -> dict[str, str]:
    """The settings of the producer; the brokers stand in `bootstrap.servers`."""
    for old, new in (
        ("--producer-props", "--command-property"),
        ("--producer.config", "--command-config"),
    ):
        if given.has(old):
            print(_DEPRECATED.format(old, new), flush=True)
    settings: dict[str, str] = {}
    for flag in ("--command-config", "--producer.config"):
        if path := given.text(flag):
            settings |= read_properties(path)
    for flag in ("--command-property", "--producer-props"):
        for pair in given.all(flag):
            name, equals, value = pair.partition("=")
            if not equals or not value:
                raise Told(f"Invalid property: {pair}")
            settings[name] = value
    if servers := given.text("--bootstrap-server", "--broker-list"):
        settings["bootstrap.servers"] = servers
    if "bootstrap.servers" not in settings:
        raise Told(
            "At least one of --bootstrap-server, --command-property, --producer-props, "
            "--producer.config or --command-config must be specified."
        )
    if transactional_id := given.text("--transactional-id"):
        settings["transactional.id"] = transactional_id
    elif given.has("--transaction-duration-ms"):
        settings.setdefault("transactional.id", f"performance-producer-{uuid.uuid4()}")
    return {**_DEFAULTS, **settings}


def _plan(given: Given, settings: dict[str, str]) -> Plan:
    records = _positive(given, "--num-records")
    warmup = given.number("--warmup-records") or 0
    if warmup >= records:
        raise Told(
            "The value for --warmup-records must be strictly fewer than the number of records in "
            "the test, --num-records."
        )
    try:
        per_s = float(given.needed("--throughput"))
    except ValueError:
        text = given.text("--throughput")
        raise Told(f"argument --throughput: could not convert '{text}' to Double") from None
    values, size = _values(given)
    transaction_ms = None
    if "transactional.id" in settings:
        asked = given.has("--transaction-duration-ms")
        transaction_ms = _positive(given, "--transaction-duration-ms") if asked else _TRANSACTION_MS
    interval_ms = REPORTING_INTERVAL_MS
    if given.has("--reporting-interval"):
        interval_ms = _positive(given, "--reporting-interval")
    topic = given.needed("--topic")
    return Plan(topic, records, values, size, per_s, max(warmup, 0), interval_ms, transaction_ms)


def _values(given: Given) -> tuple[Iterator[bytes], int]:
    """What to send, and about how large it is."""
    if given.has("--record-size"):
        size = _positive(given, "--record-size")
        return payloads.random_letters(size), size
    if path := given.text("--payload-file"):
        delimiter = (given.text("--payload-delimiter") or "\\n").replace("\\n", "\n")
        pieces = payloads.read_payloads(path, delimiter)
        return payloads.drawn_from(pieces), max(map(len, pieces))
    return payloads.numbers(), 8


def _positive(given: Given, flag: str) -> int:
    number = given.number(flag)
    if number is None or number <= 0:
        raise Told(f"{flag} should be greater than zero.")
    return number


# -- the run --------------------------------------------------------------------------------------


def _measure(plan: Plan, settings: dict[str, str], *, prints_metrics: bool) -> None:
    servers = settings.pop("bootstrap.servers")
    target = kafka_target(servers, settings)
    statistics = metrics.Statistics()
    more: dict[str, Any] = {}
    if prints_metrics:
        more = {**metrics.SETTINGS, "stats_cb": statistics.on_statistics}
    sender = _Sender(plan, target, more)
    if plan.warmup:
        print(
            f"Warmup first {plan.warmup} records. "
            "Steady state results will print after the complete test summary.",
            flush=True,
        )
    sender.run()
    now_ms = _now_ms()
    print(sender.ledger.total.shown_total(now_ms))
    if sender.ledger.steady is not None:
        print(sender.ledger.steady.shown_total(now_ms, " steady state"))
    if prints_metrics:
        sender.await_statistics(statistics)
        print("\n".join(statistics.producer_lines(settings["client.id"])))


class _Sender:
    """Sends everything of a plan and keeps the ledger of it."""

    def __init__(self, plan: Plan, target: Target, more: dict[str, Any]) -> None:
        self._plan = plan
        self._target = target
        self._failed = 0
        self._producer: Producer = open_producer(
            target, {**more, "on_delivery": self._on_failure, "delivery.report.only.error": True}
        )
        if plan.transaction_ms is not None:
            with explained(target, "the transaction"):
                self._producer.init_transactions()
        self.ledger = Ledger(_now_ms(), plan.warmup, plan.interval_ms)

    def run(self) -> None:
        plan, producer, ledger = self._plan, self._producer, self.ledger
        pace = Pace(plan.per_s, time.monotonic())
        chunk = pace.chunk(plan.value_size)
        committed_ms = 0.0
        while (left := plan.records - ledger.sent) > 0:
            if plan.transaction_ms is not None and not committed_ms:
                producer.begin_transaction()
                committed_ms = _now_ms()
            now_ms = _now_ms()
            values = list(islice(plan.values, min(chunk, left)))
            self._send(values)
            ledger.note_sent(len(values), sum(map(len, values)), now_ms)
            self._look(producer.poll(0))
            if plan.transaction_ms is not None and now_ms - committed_ms >= plan.transaction_ms:
                self._commit()
                committed_ms = 0.0
            while (ahead_s := pace.ahead_s(ledger.sent, time.monotonic())) > 0:
                self._look(producer.poll(min(ahead_s, _WAIT_S)))
        if committed_ms:
            self._commit()
        self._finish()

    def _send(self, values: list[bytes]) -> None:
        from confluent_kafka import KafkaException

        produce, topic = self._producer.produce, self._plan.topic
        for value in values:
            while True:
                try:
                    produce(topic, value)
                    break
                except BufferError:
                    self._look(self._producer.poll(_WAIT_S))
                except KafkaException as error:
                    # It has not been queued, so nobody will tell of it.
                    raise Failure(f"topic {topic!r}: {error.args[0].str()}") from None

    def _look(self, _served: int) -> None:
        """See how many have left the producer."""
        for line in self.ledger.note_gone(self.ledger.sent - len(self._producer), _now_ms()):
            print(line, flush=True)

    def _commit(self) -> None:
        self._drain()
        with explained(self._target, "the transaction"):
            self._producer.commit_transaction()

    def _drain(self) -> None:
        """Until everything is acknowledged; looked at as it goes, for the times of each."""
        deadline = time.monotonic() + _FLUSH_S
        while len(self._producer):
            self._look(self._producer.flush(_WAIT_S))
            if time.monotonic() > deadline:
                raise Failure(f"{len(self._producer)} records were not acknowledged in time")

    def _finish(self) -> None:
        self._drain()
        self._look(0)
        self.ledger.forget(self._failed)

    def await_statistics(self, statistics: metrics.Statistics) -> None:
        """Two more arrivals: the first may have begun before the last record."""
        seen = statistics.arrivals
        deadline = time.monotonic() + 4 * metrics.INTERVAL_MS / 1000
        while statistics.arrivals < seen + 2 and time.monotonic() < deadline:
            self._producer.poll(_WAIT_S)

    def _on_failure(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self._failed += 1
            print(f"headrace: {error.str()}", file=sys.stderr)


def _now_ms() -> float:
    return time.monotonic() * 1000.0


run: Final = Tool(
    "kafka-producer-perf-test",
    flags(
        "--bootstrap-server= --broker-list= --topic= --num-records= --record-size= --payload-file= "
        "--payload-delimiter= --payload-monotonic --throughput= --command-property=… "
        "--producer-props=… --command-config= --producer.config= --print-metrics "
        "--transactional-id= --transaction-duration-ms= --warmup-records= --reporting-interval="
    ),
    "--bootstrap-server localhost:9092 --topic orders --num-records 1000000 --record-size 100 "
    "--throughput -1",
    _work,
    refused=error_of("kafka-producer-perf-test"),
    failed=left_to_main,
    read=read_arguments,
)
