"""The metrics of a Python client by the names of the Java client's.

librdkafka, below confluent-kafka, tells its statistics as JSON in terms of its own. Here they
become what books, dashboards and runbooks speak of: `record-send-rate` of `producer-topic-metrics`,
`records-lag-max` of `consumer-fetch-manager-metrics`.

    from headrace.librdkafka.metrics import ClientMetrics

    metrics = ClientMetrics()
    producer = Producer({**settings, "statistics.interval.ms": 1000, "stats_cb": metrics.on_stats})
    producer.produce("orders", b"…", on_delivery=metrics.on_delivery)
    …
    metrics.value("record-send-rate", topic="orders")

Rates are those between the last two statistics. Where librdkafka has no such number the nearest one
is taken, and the description says so. The module refuses to know any client: it is given JSON.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

PRODUCER: Final = "producer-metrics"
PRODUCER_NODE: Final = "producer-node-metrics"
PRODUCER_TOPIC: Final = "producer-topic-metrics"
CONSUMER: Final = "consumer-metrics"
CONSUMER_NODE: Final = "consumer-node-metrics"
CONSUMER_FETCH: Final = "consumer-fetch-manager-metrics"
CONSUMER_COORDINATOR: Final = "consumer-coordinator-metrics"

_US_PER_MS: Final = 1000.0
_US_PER_S: Final = 1_000_000.0
_BOOTSTRAP: Final = -1

Stats = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MetricName:
    """What a metric is called, and of whom it speaks."""

    name: str
    group: str
    description: str = field(compare=False)
    tags: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class JavaMetric:
    """A metric and its number."""

    metric_name: MetricName
    value: float


class ClientMetrics:
    """The metrics of one client. Callbacks may come from another thread than questions."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._before: Stats = {}
        self._now: Stats = {}
        self._errors: Counter[str] = Counter()  # refused records, by topic
        self._errors_seen: list[Counter[str]] = [Counter(), Counter()]

    def on_stats(self, text: str) -> None:
        """For `stats_cb`: the statistics as librdkafka tells them."""
        stats = json.loads(text)
        with self._lock:
            self._before, self._now = self._now, stats
            self._errors_seen = [self._errors_seen[1], self._errors.copy()]

    def on_delivery(self, error: Any, message: Any) -> None:
        """For `on_delivery` of each record: librdkafka does not count those that fail."""
        if error is not None:
            with self._lock:
                self._errors[message.topic()] += 1

    def metrics(self) -> dict[MetricName, JavaMetric]:
        """All metrics by their names; none before the first statistics."""
        with self._lock:
            if not self._now:
                return {}
            interval = _Interval(self._before, self._now)
            errors = {
                topic: (count - self._errors_seen[0][topic]) / interval.seconds
                for topic, count in self._errors_seen[1].items()
            }
        found = _producer(interval, errors) if interval.is_producer else _consumer(interval)
        return {metric.metric_name: metric for metric in found}

    def value(self, name: str, group: str = "", **tags: object) -> float:
        """The number of the one metric that has this name and these tags; `_` stands for `-`."""
        wanted = {key.replace("_", "-"): str(value) for key, value in tags.items()}
        matching = [
            metric
            for metric in self.metrics().values()
            if metric.metric_name.name == name
            and group in ("", metric.metric_name.group)
            and wanted.items() <= dict(metric.metric_name.tags).items()
        ]
        if not matching:
            raise KeyError(f"there is no metric {name} with {wanted or 'any tags'}")
        # The one that speaks of the most, where a topic or a node has the same by itself.
        return min(matching, key=lambda metric: len(metric.metric_name.tags)).value


class _Interval:
    """Two statistics one after the other."""

    def __init__(self, before: Stats, now: Stats) -> None:
        self.before = before
        self.now = now
        self.is_producer = now["type"] == "producer"
        self.client = ("client-id", str(now["client_id"]))
        elapsed_us = now["ts"] - before["ts"] if before else now.get("age", 0)
        self.seconds: float = max(elapsed_us, 1) / _US_PER_S

    def rate(self, *path: str) -> float:
        """How fast a number grows, found by its path of keys."""
        return self.grown(*path) / self.seconds

    def grown(self, *path: str) -> float:
        return float(_at(self.now, path) - _at(self.before, path))

    def brokers(self) -> Iterator[tuple[str, str, Stats]]:
        """Key, node id and statistics of each broker; bootstrap addresses count down from -1."""
        bootstrap = _BOOTSTRAP
        for key, broker in self.now.get("brokers", {}).items():
            node = broker["nodeid"]
            if broker.get("source") not in ("configured", "learned"):
                continue  # not a broker: a queue inside, or the group's coordinator by that name
            if node == _BOOTSTRAP:
                node, bootstrap = bootstrap, bootstrap - 1
            yield key, f"node-{node}", broker

    def windows(self, *path: str) -> list[Stats]:
        """The same window of every broker or topic, where it has samples."""
        kind, name = path
        found = (each.get(name, {}) for each in self.now.get(kind, {}).values())
        return [window for window in found if window.get("cnt")]


def _at(stats: Stats, path: tuple[str, ...]) -> float:
    value: Any = stats
    for key in path:
        value = value.get(key, 0) if isinstance(value, Mapping) else 0
    return value if isinstance(value, (int, float)) else 0


def _mean(windows: list[Stats]) -> float:
    count = sum(window["cnt"] for window in windows)
    return sum(window["sum"] for window in windows) / count if count else 0.0


def _largest(windows: list[Stats]) -> float:
    return float(max((window["max"] for window in windows), default=0))


def _named(
    group: str, tags: tuple[tuple[str, str], ...], values: Mapping[str, tuple[float, str]]
) -> Iterator[JavaMetric]:
    for name, (value, description) in values.items():
        yield JavaMetric(MetricName(name, group, description, tags), float(value))


def _connection(interval: _Interval) -> dict[str, tuple[float, str]]:
    """What producers and consumers tell of all their connections together."""
    times = interval.windows("brokers", "rtt")
    waits = interval.windows("brokers", "outbuf_latency")
    requests = interval.grown("tx")
    return {
        "request-rate": (interval.rate("tx"), "Requests per second."),
        "response-rate": (interval.rate("rx"), "Answers of brokers per second."),
        "outgoing-byte-rate": (interval.rate("tx_bytes"), "Bytes sent per second."),
        "incoming-byte-rate": (interval.rate("rx_bytes"), "Bytes received per second."),
        "network-io-rate": (
            interval.rate("tx") + interval.rate("rx"),
            "Requests and answers per second.",
        ),
        "request-size-avg": (
            interval.grown("tx_bytes") / requests if requests else 0.0,
            "Mean size of requests in bytes.",
        ),
        "request-latency-avg": (_mean(times) / _US_PER_MS, "Mean round trip in milliseconds."),
        "request-latency-max": (
            _largest(times) / _US_PER_MS,
            "Longest round trip in milliseconds.",
        ),
        "io-wait-time-ns-avg": (
            _mean(waits) * 1000,
            "Mean time that a request waits to be sent, in nanoseconds.",
        ),
        "connection-count": (
            sum(each.get("state") == "UP" for each in interval.now["brokers"].values()),
            "Open connections.",
        ),
    }


def _nodes(interval: _Interval, group: str) -> Iterator[JavaMetric]:
    for key, node, broker in interval.brokers():
        rtt = [broker["rtt"]] if broker.get("rtt", {}).get("cnt") else []
        requests = interval.grown("brokers", key, "tx")
        size = interval.grown("brokers", key, "txbytes") / requests if requests else 0.0
        values = {
            "request-rate": (interval.rate("brokers", key, "tx"), "Requests per second."),
            "response-rate": (interval.rate("brokers", key, "rx"), "Answers per second."),
            "request-size-avg": (size, "Mean size of requests in bytes."),
            "request-size-max": (size, "The same: librdkafka does not report the largest."),
            "request-latency-avg": (_mean(rtt) / _US_PER_MS, "Mean round trip in milliseconds."),
            "request-latency-max": (_largest(rtt) / _US_PER_MS, "Longest round trip."),
            "outgoing-byte-rate": (interval.rate("brokers", key, "txbytes"), "Bytes sent."),
            "incoming-byte-rate": (interval.rate("brokers", key, "rxbytes"), "Bytes received."),
        }
        yield from _named(group, (interval.client, ("node-id", node)), values)


# -- producers -------------------------------------------------------------------------------------


def _producer(interval: _Interval, errors: Mapping[str, float]) -> Iterator[JavaMetric]:
    queue = interval.windows("brokers", "int_latency")
    sizes, counts = interval.windows("topics", "batchsize"), interval.windows("topics", "batchcnt")
    sent = interval.grown("txmsgs")
    retries = sum(interval.rate("brokers", key, "txretries") for key, _, _ in interval.brokers())
    limit, used = interval.now["msg_size_max"], interval.now["msg_size"]
    values = {
        **_connection(interval),
        "request-size-max": (_largest(sizes), "Size of the largest batch in bytes."),
        "record-queue-time-avg": (_mean(queue) / _US_PER_MS, "Mean wait of records for sending."),
        "record-queue-time-max": (_largest(queue) / _US_PER_MS, "Longest wait for sending."),
        "records-per-request-avg": (_mean(counts), "Mean number of records in a batch."),
        "record-size-avg": (
            interval.grown("txmsg_bytes") / sent if sent else 0.0,
            "Mean size of records in bytes.",
        ),
        "batch-size-avg": (_mean(sizes), "Mean size of batches in bytes."),
        "batch-size-max": (_largest(sizes), "Size of the largest batch in bytes."),
        "compression-rate-avg": (_compression(interval, None), "Batches, compressed / plain."),
        "record-send-rate": (interval.rate("txmsgs"), "Records sent per second."),
        "record-send-total": (interval.now["txmsgs"], "Records sent."),
        "record-retry-rate": (retries, "Requests that were sent again, per second."),
        "record-error-rate": (sum(errors.values()), "Records that failed, per second."),
        "buffer-total-bytes": (limit, "Memory for records that wait."),
        "buffer-available-bytes": (limit - used, "Memory that is not in use."),
    }
    yield from _named(PRODUCER, (interval.client,), values)
    yield from _nodes(interval, PRODUCER_NODE)
    for topic, stats in interval.now.get("topics", {}).items():
        yield from _producer_topic(interval, topic, stats, errors.get(topic, 0.0), retries)


def _producer_topic(
    interval: _Interval, topic: str, stats: Stats, errors: float, retries: float
) -> Iterator[JavaMetric]:
    paths = [("topics", topic, "partitions", each) for each in stats["partitions"]]
    values = {
        "record-send-rate": (
            sum(interval.rate(*path, "txmsgs") for path in paths),
            "Records sent per second.",
        ),
        "record-send-total": (
            sum(_at(interval.now, (*path, "txmsgs")) for path in paths),
            "Records sent.",
        ),
        "byte-rate": (
            sum(interval.rate(*path, "txbytes") for path in paths),
            "Bytes of records sent per second.",
        ),
        "compression-rate": (_compression(interval, topic), "Batches, compressed / plain."),
        "record-error-rate": (errors, "Records that failed, per second."),
        "record-retry-rate": (retries, "Retries of the client: they are not reported by topic."),
    }
    yield from _named(PRODUCER_TOPIC, (interval.client, ("topic", topic)), values)


def _compression(interval: _Interval, topic: str | None) -> float:
    """The size of batches by that of their records, over the interval; 1 where nothing was sent."""
    packed = plain = 0.0
    for name, stats in interval.now.get("topics", {}).items():
        if topic in (None, name):
            packed += stats.get("batchsize", {}).get("sum", 0)
            for each in stats["partitions"]:
                plain += interval.grown("topics", name, "partitions", each, "txbytes")
    return packed / plain if packed and plain else 1.0


# -- consumers -------------------------------------------------------------------------------------


def _consumer(interval: _Interval) -> Iterator[JavaMetric]:
    times = interval.windows("brokers", "rtt")
    fetches = [("brokers", key, "req", "Fetch") for key, _, _ in interval.brokers()]
    lags = list(_lags(interval))
    received = interval.grown("rxmsgs")
    fetched = sum(interval.grown(*path) for path in fetches)
    values = {
        "records-lag-max": (
            max((lag for _, _, lag in lags), default=0),
            "The largest lag of a partition, in records.",
        ),
        "records-consumed-rate": (interval.rate("rxmsgs"), "Records received per second."),
        "records-consumed-total": (interval.now["rxmsgs"], "Records received."),
        "bytes-consumed-rate": (interval.rate("rxmsg_bytes"), "Bytes of records per second."),
        "bytes-consumed-total": (interval.now["rxmsg_bytes"], "Bytes of records."),
        "fetch-rate": (sum(interval.rate(*path) for path in fetches), "Fetches per second."),
        "fetch-total": (sum(_at(interval.now, path) for path in fetches), "Fetches."),
        "records-per-request-avg": (
            received / fetched if fetched else 0.0,
            "Mean number of records in an answer.",
        ),
        "fetch-latency-avg": (_mean(times) / _US_PER_MS, "Mean round trip, waits included."),
        "fetch-latency-max": (_largest(times) / _US_PER_MS, "Longest round trip, waits included."),
    }
    yield from _named(CONSUMER, (interval.client,), _connection(interval))
    yield from _named(CONSUMER_FETCH, (interval.client,), values)
    yield from _nodes(interval, CONSUMER_NODE)
    for topic, partition, lag in lags:
        tags = (interval.client, ("topic", topic), ("partition", partition))
        yield from _named(CONSUMER_FETCH, tags, {"records-lag": (lag, "Lag in records.")})
    group = interval.now.get("cgrp")
    if group:
        members = {
            "assigned-partitions": (group["assignment_size"], "Partitions of this member."),
            "rebalance-total": (group["rebalance_cnt"], "Rebalances of the group."),
        }
        yield from _named(CONSUMER_COORDINATOR, (interval.client,), members)


def _lags(interval: _Interval) -> Iterator[tuple[str, str, int]]:
    for topic, stats in interval.now.get("topics", {}).items():
        for partition, about in stats["partitions"].items():
            if about.get("consumer_lag", -1) >= 0:
                yield topic, partition, about["consumer_lag"]
