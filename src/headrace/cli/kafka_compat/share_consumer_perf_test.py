"""`kafka-share-consumer-perf-test`: how many records a second the members of a share group take."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from headrace.cli.kafka import explain
from headrace.cli.kafka_compat.administering import need
from headrace.cli.kafka_compat.clients import kafka_target
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.perf import consuming
from headrace.cli.kafka_compat.perf.dates import shown_date
from headrace.cli.kafka_compat.share_clients import open_share_consumer
from headrace.cli.kafka_compat.tool import Tool, Work, left_to_main, only_usage

if TYPE_CHECKING:
    from headrace.cli.target import Target

_HEADER: Final = (
    "start.time, end.time, data.consumed.in.MB, MB.sec, nMsg.sec, data.consumed.in.nMsg, "
    "fetch.time.ms"
)
_CLIENT_ID: Final = "perf-share-consumer-client"


def _plan(given: Given) -> Work:
    need(given, "--bootstrap-server", "--topic")
    consuming.need_records(given)
    measure = consuming.measure_of(given)
    target = kafka_target(given.needed("--bootstrap-server"), _settings(given, measure))
    threads = given.number("--threads")
    consuming.begin(measure, _HEADER)
    return _Run(given, target, measure, 1 if threads is None else threads).run


def _settings(given: Given, measure: consuming.Measure) -> dict[str, str]:
    settings = dict(measure.settings)
    settings["group.id"] = given.text("--group") or "perf-share-consumer"
    settings["fetch.max.bytes"] = str(given.number("--fetch-size") or 1 << 20)
    return settings


class _Member:
    """One member of the group: what it has taken, and what was told of it last."""

    def __init__(self, run: _Run, number: int) -> None:
        self.records = self.size = 0
        self._run = run
        self._number = number
        self._told = (0, 0)
        base = run.measure.settings.get("client.id", _CLIENT_ID)
        self.client_id = base if run.threads == 1 else f"{base}-{number}"
        self.consumer = open_share_consumer(run.target, {"client.id": self.client_id})

    def consume(self) -> None:
        consuming.consume(self, self._run.measure)
        self.consumer.commit_sync()

    def left(self) -> int:
        return self._run.measure.records - self._run.total

    def fetch(self, _most: int) -> Sequence[Any]:
        messages: Sequence[Any] = self.consumer.poll(0.1)
        return messages

    def note(self, records: int, size: int, faults: Sequence[Any]) -> None:
        if faults:
            raise explain(faults[0], self._run.target)
        self.records += records
        self.size += size
        with self._run.lock:
            self._run.total += records

    def report(self, start_s: float, end_s: float) -> None:
        if self._run.measure.detailed:
            records, size = self.records - self._told[0], self.size - self._told[1]
            columns = self._run.columns(start_s, end_s, self.size, size, records, self.records)
            print(f"{columns} for share consumer {self._number}", flush=True)
        self._told = (self.records, self.size)


class _Run:
    """Members in threads of their own: librdkafka lets no two threads use one."""

    def __init__(
        self, given: Given, target: Target, measure: consuming.Measure, threads: int
    ) -> None:
        self._given = given
        self.target = target
        self.measure = measure
        self.threads = threads
        self.lock = threading.Lock()
        self.total = 0

    def run(self) -> None:
        members = [_Member(self, number + 1) for number in range(self.threads)]
        try:
            start_s = time.time()
            for member in members:
                member.consumer.subscribe([self._given.needed("--topic")])
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(_Member.consume, members))
            self._print(members, start_s, time.time())
        finally:
            for member in members:
                member.consumer.close()

    def _print(self, members: Sequence[_Member], start_s: float, end_s: float) -> None:
        if self._given.has("--show-consumer-stats"):
            for number, each in enumerate(members, start=1):
                columns = self.columns(
                    start_s, end_s, each.size, each.size, each.records, each.records
                )
                print(
                    f"Share consumer {number} having client id {each.client_id} "
                    f"consumption metrics- {columns}"
                )
        if self.total < self.measure.records:
            print(self.measure.gave_up)
        records = sum(each.records for each in members)
        size = sum(each.size for each in members)
        print(self.columns(start_s, end_s, size, size, records, records))

    def columns(
        self, start_s: float, end_s: float, all_size: int, size: int, records: int, total: int
    ) -> str:
        """The times, then what was taken in all, then rates of what was taken between them."""
        elapsed_ms = max((end_s - start_s) * 1000, 1.0)
        pattern = self.measure.pattern
        return (
            f"{shown_date(start_s, pattern)}, {shown_date(end_s, pattern)}, "
            f"{all_size / consuming.MIB:.4f}, {1000 * size / consuming.MIB / elapsed_ms:.4f}, "
            f"{1000 * records / elapsed_ms:.4f}, {total}, {int(elapsed_ms)}"
        )


run: Final = Tool(
    "kafka-share-consumer-perf-test",
    flags(consuming.CONSUMING, "--threads= --show-consumer-stats"),
    "--bootstrap-server localhost:9092 --topic jobs --num-records 1000000",
    _plan,
    refused=only_usage,
    failed=left_to_main,
)
