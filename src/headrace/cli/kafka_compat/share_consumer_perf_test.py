"""`kafka-share-consumer-perf-test`: how many records a second the members of a share group take."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from headrace.cli.failures import WrongUsage
from headrace.cli.kafka import explain
from headrace.cli.kafka_compat.administering import Told, complain, need, read_flags
from headrace.cli.kafka_compat.clients import kafka_target
from headrace.cli.kafka_compat.flags import Given, Takes
from headrace.cli.kafka_compat.perf.consuming import (
    CONSUMING,
    Measure,
    begin,
    measure_of,
    weigh,
)
from headrace.cli.kafka_compat.perf.dates import shown_date
from headrace.cli.kafka_compat.share_clients import open_share_consumer

if TYPE_CHECKING:
    from headrace.cli.target import Target

FLAGS: Final = {
    **CONSUMING,
    "--threads": Takes.VALUE,
    "--show-consumer-stats": Takes.NOTHING,
}
_NAME: Final = "kafka-share-consumer-perf-test"
_EXAMPLE: Final = f"{_NAME} --bootstrap-server localhost:9092 --topic jobs --num-records 1000000"
_HEADER: Final = (
    "start.time, end.time, data.consumed.in.MB, MB.sec, nMsg.sec, data.consumed.in.nMsg, "
    "fetch.time.ms"
)
_CLIENT_ID: Final = "perf-share-consumer-client"
_MIB: Final = 1024.0 * 1024.0


def run(words: list[str]) -> int:
    try:
        given = read_flags(_NAME, words, FLAGS, _EXAMPLE)
        if given is None:
            return 0
        need(given, "--bootstrap-server", "--topic")
        if not given.has("--messages"):
            need(given, "--num-records")
        measure = measure_of(given)
        target = kafka_target(given.needed("--bootstrap-server"), _settings(given, measure))
        threads = given.number("--threads")
        begin(measure, _HEADER)
    except (Told, WrongUsage) as error:
        return complain(str(error))
    _Run(given, target, measure, 1 if threads is None else threads).run()
    return 0


def _settings(given: Given, measure: Measure) -> dict[str, str]:
    settings = dict(measure.settings)
    settings["group.id"] = given.text("--group") or "perf-share-consumer"
    settings["fetch.max.bytes"] = str(given.number("--fetch-size") or 1 << 20)
    return settings


@dataclass(slots=True)
class _Share:
    """What one member has taken, and what was told of it last."""

    records: int = 0
    size: int = 0
    told_records: int = 0
    told_size: int = 0


class _Run:
    """Members in threads of their own: librdkafka lets no two threads use one."""

    def __init__(self, given: Given, target: Target, measure: Measure, threads: int) -> None:
        self._given = given
        self._target = target
        self._measure = measure
        self._shares = [_Share() for _ in range(threads)]
        self._lock = threading.Lock()
        self._total = 0

    def run(self) -> None:
        topic = self._given.needed("--topic")
        consumers = [
            open_share_consumer(self._target, {"client.id": self._client_id(number)})
            for number in range(len(self._shares))
        ]
        try:
            start_s = time.time()
            for consumer in consumers:
                consumer.subscribe([topic])
            with ThreadPoolExecutor(len(consumers)) as pool:
                list(pool.map(self._consume, consumers, range(len(consumers))))
            end_s = time.time()
            self._print(start_s, end_s)
        finally:
            for consumer in consumers:
                consumer.close()

    def _client_id(self, number: int) -> str:
        base = self._measure.settings.get("client.id", _CLIENT_ID)
        return base if len(self._shares) == 1 else f"{base}-{number + 1}"

    def _consume(self, consumer: Any, number: int) -> None:
        measure, share = self._measure, self._shares[number]
        heard_s = reported_s = time.time()
        while self._total < measure.records:
            messages = consumer.poll(0.1)
            now_s = time.time()
            records, size, faults = weigh(messages)
            if faults:
                raise explain(faults[0], self._target)
            if records:
                heard_s = now_s
                share.records += records
                share.size += size
                with self._lock:
                    self._total += records
                if (now_s - reported_s) * 1000 >= measure.interval_ms:
                    self._report(share, reported_s, now_s, number)
                    reported_s = now_s
            if (now_s - heard_s) * 1000 > measure.timeout_ms:
                break
        consumer.commit_sync()

    def _report(self, share: _Share, start_s: float, end_s: float, number: int) -> None:
        if self._measure.detailed:
            records, size = share.records - share.told_records, share.size - share.told_size
            columns = self._columns(start_s, end_s, share.size, size, records, share.records)
            print(f"{columns} for share consumer {number + 1}", flush=True)
        share.told_records, share.told_size = share.records, share.size

    def _print(self, start_s: float, end_s: float) -> None:
        if self._given.has("--show-consumer-stats"):
            for number, share in enumerate(self._shares):
                columns = self._columns(
                    start_s, end_s, share.size, share.size, share.records, share.records
                )
                print(
                    f"Share consumer {number + 1} having client id {self._client_id(number)} "
                    f"consumption metrics- {columns}"
                )
        if self._total < self._measure.records:
            print(self._measure.gave_up)
        records = sum(share.records for share in self._shares)
        size = sum(share.size for share in self._shares)
        print(self._columns(start_s, end_s, size, size, records, records))

    def _columns(
        self, start_s: float, end_s: float, all_size: int, size: int, records: int, total: int
    ) -> str:
        """The times, then what was taken in all, then rates of what was taken between them."""
        elapsed_ms = max((end_s - start_s) * 1000, 1.0)
        pattern = self._measure.pattern
        return (
            f"{shown_date(start_s, pattern)}, {shown_date(end_s, pattern)}, "
            f"{all_size / _MIB:.4f}, {1000 * size / _MIB / elapsed_ms:.4f}, "
            f"{1000 * records / elapsed_ms:.4f}, {total}, {int(elapsed_ms)}"
        )
