"""What a client measured of itself, under the names of Java's metrics, as `--print-metrics` has it.

librdkafka tells its statistics every second, with sums and counts of that second alone; they are
added up here, so that an average is one over the whole run. Metrics of Java's that librdkafka does
not measure are not invented.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

INTERVAL_MS: Final = 500
SETTINGS: Final = {"statistics.interval.ms": INTERVAL_MS}
_US_PER_MS: Final = 1000.0


class Statistics:
    """Collects what `stats_cb` brings."""

    def __init__(self) -> None:
        self._start_s = time.monotonic()
        self._last: Mapping[str, Any] = {}
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._highest: defaultdict[str, float] = defaultdict(float)
        self.arrivals = 0

    def on_statistics(self, text: str) -> None:
        self._last = json.loads(text)
        self.arrivals += 1
        for broker in self._last.get("brokers", {}).values():
            for name in ("rtt", "int_latency"):
                self._add(name, broker.get(name, {}))
        for topic in self._last.get("topics", {}).values():
            for name in ("batchsize", "batchcnt"):
                self._add(name, topic.get(name, {}))

    def _add(self, name: str, window: Mapping[str, float]) -> None:
        self._sums[name] += window.get("sum", 0)
        self._counts[name] += int(window.get("cnt", 0))
        self._highest[name] = max(self._highest[name], window.get("max", 0))

    def _average(self, name: str) -> float:
        return self._sums[name] / self._counts[name] if self._counts[name] else float("nan")

    def producer_lines(self, client_id: str) -> list[str]:
        """The metrics of a producer, in the columns of Kafka's tool."""
        last = self._last
        sent, size = last.get("txmsgs", 0), last.get("txmsg_bytes", 0)
        values: dict[str, float] = {
            "batch-size-avg": self._average("batchsize"),
            "batch-size-max": self._highest["batchsize"],
            "compression-rate-avg": self._sums["batchsize"] / size if size else float("nan"),
            "record-queue-time-avg": self._average("int_latency") / _US_PER_MS,
            "record-queue-time-max": self._highest["int_latency"] / _US_PER_MS,
            "record-send-total": float(sent),
            "record-size-avg": size / sent if sent else float("nan"),
            "records-per-request-avg": self._average("batchcnt"),
            **self._network("outgoing"),
        }
        return table({f"producer-metrics:{name}": values[name] for name in values}, client_id)

    def consumer_lines(self, client_id: str) -> list[str]:
        last = self._last
        elapsed_s = self._elapsed_s()
        received, size = last.get("rxmsgs", 0), last.get("rxmsg_bytes", 0)
        fetching = {
            "bytes-consumed-rate": size / elapsed_s,
            "bytes-consumed-total": float(size),
            "fetch-latency-avg": self._average("rtt") / _US_PER_MS,
            "fetch-latency-max": self._highest["rtt"] / _US_PER_MS,
            "fetch-size-avg": self._average("batchsize"),
            "records-consumed-rate": received / elapsed_s,
            "records-consumed-total": float(received),
            "records-per-request-avg": self._average("batchcnt"),
        }
        named = {f"consumer-fetch-manager-metrics:{name}": fetching[name] for name in fetching}
        network = self._network("incoming")
        named |= {f"consumer-metrics:{name}": network[name] for name in network}
        return table(named, client_id)

    def _network(self, main: str) -> dict[str, float]:
        last, elapsed_s = self._last, self._elapsed_s()
        return {
            "incoming-byte-total": float(last.get("rx_bytes", 0)),
            "outgoing-byte-total": float(last.get("tx_bytes", 0)),
            f"{main}-byte-rate": last.get("rx_bytes" if main == "incoming" else "tx_bytes", 0)
            / elapsed_s,
            "request-latency-avg": self._average("rtt") / _US_PER_MS,
            "request-latency-max": self._highest["rtt"] / _US_PER_MS,
            "request-rate": last.get("tx", 0) / elapsed_s,
            "request-total": float(last.get("tx", 0)),
            "response-total": float(last.get("rx", 0)),
        }

    def _elapsed_s(self) -> float:
        return max(time.monotonic() - self._start_s, 0.001)


def table(values: Mapping[str, float], client_id: str) -> list[str]:
    """Names with their tags, padded, and values with three digits."""
    tagged = {f"{name}:{{client-id={client_id}}}": value for name, value in values.items()}
    return list(_rows(tagged, max(map(len, tagged), default=0)))


def _rows(tagged: Mapping[str, float], width: int) -> Iterator[str]:
    yield ""
    yield f"{'Metric Name':<{width}}   Value"
    for name in sorted(tagged):
        value = tagged[name]
        yield f"{name:<{width}} : {'NaN' if value != value else f'{value:.3f}'}"
