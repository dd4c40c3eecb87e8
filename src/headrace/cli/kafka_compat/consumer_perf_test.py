"""`kafka-consumer-perf-test`: how many records a second one consumer takes from a cluster."""

from __future__ import annotations

import random
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from headrace.cli.kafka import explain, open_consumer
from headrace.cli.kafka_compat.administering import Told, need
from headrace.cli.kafka_compat.clients import kafka_target, will_pass
from headrace.cli.kafka_compat.console.places import HIDDEN_TOPICS
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.perf import consuming, metrics
from headrace.cli.kafka_compat.perf.dates import shown_date
from headrace.cli.kafka_compat.superseded import OF_THE_PAST, servers_of
from headrace.cli.kafka_compat.tool import Tool, Work, left_to_main, only_usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confluent_kafka import Consumer, KafkaError, Message

    from headrace.cli.target import Target

_COLUMNS: Final = (
    "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, "
    "fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)
_HEADER: Final = f"start.time, end.time, {_COLUMNS}"
_DETAILED_HEADER: Final = f"time, threadId, {_COLUMNS}"
_BATCH: Final = 10_000


def _plan(given: Given) -> Work:
    consuming.need_records(given)
    if given.has("--topic") == given.has("--include"):
        raise Told('Exactly one of the following arguments is required: "[topic], [include]"')
    need(given, *(() if given.has("--broker-list") else ("--bootstrap-server",)))
    measure = consuming.measure_of(given)
    target = kafka_target(servers_of(given), _settings(given, measure))
    consuming.begin(measure, _DETAILED_HEADER if measure.detailed else _HEADER)
    return _Run(given, target, measure).run


def _settings(given: Given, measure: consuming.Measure) -> dict[str, str]:
    settings = dict(measure.settings)
    settings["group.id"] = given.text("--group") or f"perf-consumer-{random.randrange(100_000)}"
    settings["auto.offset.reset"] = "latest" if given.has("--from-latest") else "earliest"
    settings["max.partition.fetch.bytes"] = str(given.number("--fetch-size") or 1 << 20)
    settings.setdefault("client.id", "perf-consumer-client")
    settings.setdefault("enable.auto.commit", "true")
    settings.setdefault("allow.auto.create.topics", "true")
    return settings


class _Run:
    """One run: counts, and what was counted when the last line was printed."""

    def __init__(self, given: Given, target: Target, measure: consuming.Measure) -> None:
        self._given = given
        self._target = target
        self._consumer: Consumer
        self._measure = measure
        self._statistics = metrics.Statistics()
        self._records = self._size = 0
        self._told = (0, 0)
        self._join_start_s = 0.0
        self._join_ms = self._join_window_ms = 0
        self._assigned: set[tuple[str, int]] = set()

    def run(self) -> None:
        consumer = self._consumer = self._open()
        start_s = self._join_start_s = time.time()
        try:
            self._subscribe(consumer)
            consuming.consume(self, self._measure)
            if self.left() > 0:
                print(self._measure.gave_up)
            end_s = time.time()
            if self._measure.prints_metrics:
                _await_statistics(consumer, self._statistics)
        finally:
            consumer.close()
        if not self._measure.detailed:
            self._print_total(start_s, end_s)
        if self._measure.prints_metrics:
            client_id = self._target.properties["client.id"]
            print("\n".join(self._statistics.consumer_lines(client_id)))

    def _open(self) -> Consumer:
        own: dict[str, Any] = {"enable.partition.eof": False, "check.crcs": False}
        if self._given.has("--include"):
            own["topic.blacklist"] = HIDDEN_TOPICS
        if self._measure.prints_metrics:
            own |= {**metrics.SETTINGS, "stats_cb": self._statistics.on_statistics}
        return open_consumer(self._target, own)

    def _subscribe(self, consumer: Consumer) -> None:
        topic = self._given.text("--topic")
        wanted = topic if topic is not None else f"^({self._given.text('--include')})$"
        consumer.subscribe([wanted], on_assign=self._on_assign, on_revoke=self._on_revoke)

    def left(self) -> int:
        return self._measure.records - self._records

    def fetch(self, most: int) -> list[Message]:
        return self._consumer.consume(min(most, _BATCH), timeout=0.1)

    def note(self, records: int, size: int, faults: Sequence[KafkaError]) -> None:
        for fault in faults:
            if not will_pass(fault):
                raise explain(fault, self._target)
        self._records += records
        self._size += size

    def report(self, start_s: float, end_s: float) -> None:
        if self._measure.detailed:
            elapsed_ms = (end_s - start_s) * 1000
            records, size = self._records - self._told[0], self._size - self._told[1]
            fetch_ms = int(elapsed_ms) - self._join_window_ms
            print(
                f"{shown_date(end_s, self._measure.pattern)}, 0, {self._size / consuming.MIB:.4f}, "
                f"{_rate(size / consuming.MIB, elapsed_ms):.4f}, {self._records}, "
                f"{_rate(records, elapsed_ms):.4f}, {self._join_window_ms}, {fetch_ms}, "
                f"{_rate(size / consuming.MIB, fetch_ms):.4f}, {_rate(records, fetch_ms):.4f}",
                flush=True,
            )
        self._join_window_ms = 0
        self._told = (self._records, self._size)

    def _print_total(self, start_s: float, end_s: float) -> None:
        elapsed_ms = max(int((end_s - start_s) * 1000), 1)
        fetch_ms = elapsed_ms - self._join_ms
        mebibytes = self._size / consuming.MIB
        pattern = self._measure.pattern
        print(
            f"{shown_date(start_s, pattern)}, {shown_date(end_s, pattern)}, {mebibytes:.4f}, "
            f"{_rate(mebibytes, elapsed_ms):.4f}, {self._records}, "
            f"{_rate(self._records, elapsed_ms):.4f}, {self._join_ms}, {fetch_ms}, "
            f"{_rate(mebibytes, fetch_ms):.4f}, {_rate(self._records, fetch_ms):.4f}"
        )

    def _on_assign(self, _consumer: Consumer, partitions: list[Any]) -> None:
        if not self._assigned:
            elapsed_ms = int((time.time() - self._join_start_s) * 1000)
            self._join_ms += elapsed_ms
            self._join_window_ms += elapsed_ms
        self._assigned |= {(place.topic, place.partition) for place in partitions}

    def _on_revoke(self, _consumer: Consumer, partitions: list[Any]) -> None:
        self._assigned -= {(place.topic, place.partition) for place in partitions}
        if not self._assigned:
            self._join_start_s = time.time()


def _rate(amount: float, elapsed_ms: float) -> float:
    return 1000.0 * amount / elapsed_ms if elapsed_ms > 0 else 0.0


def _await_statistics(consumer: Consumer, statistics: metrics.Statistics) -> None:
    seen = statistics.arrivals
    deadline = time.monotonic() + 4 * metrics.INTERVAL_MS / 1000
    consumer.pause(consumer.assignment())
    while statistics.arrivals < seen + 2 and time.monotonic() < deadline:
        consumer.poll(0.05)
    sys.stdout.flush()


run: Final = Tool(
    "kafka-consumer-perf-test",
    flags(consuming.CONSUMING, "--include= --from-latest", OF_THE_PAST),
    "--bootstrap-server localhost:9092 --topic orders --num-records 1000000",
    _plan,
    refused=only_usage,
    failed=left_to_main,
)
