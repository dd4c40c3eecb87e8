"""The metrics of librdkafka by the names of the Java client's."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from headrace.librdkafka.metrics import (
    CONSUMER_FETCH,
    PRODUCER,
    PRODUCER_NODE,
    PRODUCER_TOPIC,
    ClientMetrics,
    MetricName,
)
from headrace.testing import Broker

INTERVAL_MS = 100


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker({"group.initial.rebalance.delay.ms": 0, "num.partitions": 2}) as running:
        yield running


def poll_until(client: Any, is_so: Any, timeout_s: float = 20) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_so():
        client.poll(0.05)
        assert time.monotonic() < deadline, "it never is so"


def settings(broker: Broker, metrics: ClientMetrics, **more: object) -> dict[str, object]:
    return {
        "bootstrap.servers": broker.bootstrap_servers,
        "client.id": "counted",
        "statistics.interval.ms": INTERVAL_MS,
        "stats_cb": metrics.on_stats,
        "log_level": 0,
        **more,
    }


@pytest.mark.spec(
    "slides:M01",
    "slides:M02",
    "slides:M03",
    "slides:M04",
    "slides:M05",
    "book2:R-05",
    "book2:R-06",
    "book2:R-07",
    "book2:R-09",
    "book2:R-10",
)
def test_a_producer_by_the_javas_names(broker: Broker) -> None:
    """Names, groups, tags and numbers, of the whole client, of each node, of each topic."""
    metrics = ClientMetrics()
    producer = Producer(settings(broker, metrics, **{"compression.type": "zstd", "linger.ms": 20}))
    for number in range(500):
        producer.produce("measured", b"value " * 30, partition=number % 2)
    producer.flush(10)
    poll_until(producer, lambda: _total(metrics) == 500)

    client = ("client-id", "counted")
    found = metrics.metrics()
    names = {(name.group, name.name) for name in found}
    assert names >= {
        (PRODUCER, name)
        for name in (
            "record-queue-time-max",
            "records-per-request-avg",
            "record-size-avg",
            "request-size-max",
            "response-rate",
            "request-rate",
            "io-wait-time-ns-avg",
            "buffer-total-bytes",
            "compression-rate-avg",
        )
    }
    assert names >= {
        (PRODUCER_NODE, name)
        for name in (
            "request-rate",
            "request-size-max",
            "request-size-avg",
            "request-latency-max",
            "request-latency-avg",
            "incoming-byte-rate",
            "outgoing-byte-rate",
        )
    }
    assert names >= {
        (PRODUCER_TOPIC, name)
        for name in (
            "record-retry-rate",
            "record-send-rate",
            "compression-rate",
            "byte-rate",
            "record-error-rate",
        )
    }
    name = MetricName("record-send-total", PRODUCER_TOPIC, "", (client, ("topic", "measured")))
    assert found[name].value == 500
    assert found[name].metric_name.description == "Records sent."
    assert metrics.value("record-send-total") == 500
    assert metrics.value("buffer-total-bytes") == 1 << 30
    assert metrics.value("record-error-rate", topic="measured") == 0
    del producer


def _total(metrics: ClientMetrics) -> float:
    return metrics.value("record-send-total") if metrics.metrics() else 0


def test_rates_are_those_between_two_statistics() -> None:
    """What was sent since the last time, by the time since the last time; sizes and waits."""
    metrics = ClientMetrics()
    metrics.on_stats(json.dumps(statistics(ts=1_000_000, messages=100, batches=0)))
    metrics.on_stats(json.dumps(statistics(ts=3_000_000, messages=700, batches=6)))
    assert metrics.value("record-send-rate") == 300
    assert metrics.value("record-send-rate", topic="t") == 300
    assert metrics.value("byte-rate", topic="t") == 300 * 50
    assert metrics.value("record-size-avg") == 50
    assert metrics.value("records-per-request-avg") == 100
    assert metrics.value("compression-rate-avg") == 0.25
    assert metrics.value("compression-rate", topic="t") == 0.25
    assert metrics.value("record-queue-time-max") == 7.5
    assert metrics.value("request-rate", node_id="node-1") == 3
    assert metrics.value("response-rate") == 3
    assert metrics.value("request-latency-max", node_id="node-1") == 4
    assert metrics.value("outgoing-byte-rate", node_id="node-1") == 3 * 2000
    assert metrics.value("request-size-avg", node_id="node-1") == 2000
    with pytest.raises(KeyError, match="no metric"):
        metrics.value("unheard-of")


@pytest.mark.spec("slides:M07")
def test_bootstrap_addresses_have_negative_ids() -> None:
    """Before a client knows who is who, its brokers are node--1, node--2, node--3."""
    metrics = ClientMetrics()
    told = statistics(ts=1, messages=0, batches=0)
    known = told["brokers"].pop("h:1/1")
    for number in (1, 2, 3):
        told["brokers"][f"h:{number}/bootstrap"] = {**known, "nodeid": -1, "source": "configured"}
    told["brokers"]["GroupCoordinator"] = {**known, "nodeid": -1, "source": "logical"}
    metrics.on_stats(json.dumps(told))
    nodes = {dict(name.tags).get("node-id") for name in metrics.metrics()} - {None}
    assert nodes == {"node--1", "node--2", "node--3"}


@pytest.mark.spec("book2:R-08")
def test_records_that_fail_are_counted(broker: Broker) -> None:
    """The failed send rate rises when the broker refuses records."""
    metrics = ClientMetrics()
    producer = Producer(settings(broker, metrics, **{"message.timeout.ms": 200}))
    for _ in range(3):
        producer.produce("measured", b"x", partition=99, on_delivery=metrics.on_delivery)

    def has_failed() -> bool:
        known = metrics.metrics()
        return bool(known) and metrics.value("record-error-rate") > 0

    poll_until(producer, has_failed)
    del producer


@pytest.mark.spec("book2:R-02")
def test_a_producer_that_is_too_fast_runs_out_of_buffer(broker: Broker) -> None:
    """Records that cannot be sent yet take memory, and the metric says how much is left."""
    metrics = ClientMetrics()
    more = {"linger.ms": 60_000, "queue.buffering.max.kbytes": 1024}
    producer = Producer(settings(broker, metrics, **more))
    for _ in range(10):
        producer.produce("measured", bytes(50_000), partition=0)
    poll_until(producer, lambda: bool(metrics.metrics()))
    assert metrics.value("buffer-total-bytes") == 1 << 20
    assert metrics.value("buffer-available-bytes") <= (1 << 20) - 10 * 50_000
    producer.purge()
    del producer


@pytest.mark.spec("book2:R-16", "book2:R-17", "book2:R-18", "book2:R-19", "book2:R-20")
def test_a_consumer_by_the_javas_names(broker: Broker) -> None:
    """Lag, bytes, records, fetches and their times; the lag is the broker's."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    for _ in range(40):
        producer.produce("consumed", b"x" * 100, partition=0)
    producer.flush(10)
    metrics = ClientMetrics()
    consumer = Consumer(
        settings(broker, metrics, **{"group.id": "counted", "auto.offset.reset": "earliest"})
    )
    consumer.subscribe(["consumed"])
    seen: list[object] = []

    def is_read() -> bool:
        seen.extend(filter(None, [consumer.poll(0.05)]))
        known = metrics.metrics()
        return len(seen) >= 10 and bool(known) and metrics.value("records-consumed-total") >= 40

    poll_until(consumer, is_read)
    consumer.commit(asynchronous=False)
    last = {name.name: metric.value for name, metric in metrics.metrics().items()}
    fetch = {name.name for name in metrics.metrics() if name.group == CONSUMER_FETCH}
    assert fetch >= {
        "records-lag-max",
        "bytes-consumed-rate",
        "records-consumed-rate",
        "fetch-rate",
        "fetch-latency-max",
    }
    assert last["bytes-consumed-total"] >= 40 * 100
    assert last["fetch-total"] >= 1
    assert last["assigned-partitions"] == 2
    consumer.close()


def statistics(*, ts: int, messages: int, batches: int) -> dict[str, Any]:
    """What librdkafka tells, as far as it is read: records of 50 bytes, batches of 100 records."""
    requests = messages // 100
    return {
        "type": "producer",
        "client_id": "c",
        "ts": ts,
        "age": ts,
        "msg_size": 0,
        "msg_size_max": 1 << 30,
        "tx": requests,
        "tx_bytes": requests * 2000,
        "rx": requests,
        "rx_bytes": requests * 100,
        "txmsgs": messages,
        "txmsg_bytes": messages * 50,
        "brokers": {
            "h:1/1": {
                "nodeid": 1,
                "source": "learned",
                "state": "UP",
                "tx": requests,
                "txbytes": requests * 2000,
                "rx": requests,
                "rxbytes": requests * 100,
                "txretries": 0,
                "int_latency": {"max": 7_500, "sum": 10_000, "cnt": 4},
                "rtt": {"max": 4_000, "sum": 6_000, "cnt": 3},
                "outbuf_latency": {"max": 0, "sum": 0, "cnt": 0},
                "req": {},
            }
        },
        "topics": {
            "t": {
                "batchsize": {"sum": batches * 1250, "cnt": batches, "max": 1250},
                "batchcnt": {"sum": batches * 100, "cnt": batches, "max": 100},
                "partitions": {"0": {"txmsgs": messages, "txbytes": messages * 50}},
            }
        },
    }
