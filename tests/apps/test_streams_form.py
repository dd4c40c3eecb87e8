"""IP fraud as consumer, filter and producer, against a broker."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable

import pytest

from examples.ip_fraud.on_streams import FilterStream, StreamsApp, fraud_stream, stream_settings
from examples.ip_fraud.properties import PropertyReader
from examples.ip_fraud.traffic import Plan, batches, truth_of
from examples.topics import Draft, provide, write
from headrace.testing import Broker
from tests.apps.reading import committed, read_topic
from tests.apps.test_rules import HARMLESS

PLAN = Plan(seed=21, ticks=50, begin_ms=1_000)
TIMEOUT_S = 30.0


def fill(plan: Plan = PLAN) -> None:
    """The topics of the application, and records with keys."""
    provide("iprecord", partitions=4)
    provide("fraudIp", partitions=1)
    requests = [request for batch in batches(plan) for request in batch.requests]
    write("iprecord", [Draft(r.text, f"key-{n}", partition=n % 4) for n, r in enumerate(requests)])


def settings(servers: str) -> dict[str, str]:
    quick = {"heartbeat.interval.ms": "200", "session.timeout.ms": "6000"}
    return stream_settings(servers) | quick


def await_that(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < until, "it did not come true in time"


def read_all(servers: str, records: int) -> bool:
    return sum(committed(servers, "IP-Fraud-Detection", "iprecord").values()) == records


@pytest.mark.spec(
    "book2:A2-01", "book2:A2-07", "book2:A2-08", "book2:A2-09", "book2:A2-10", "book2:A2-11"
)
def test_two_instances_share_the_work(servers: str, caplog: pytest.LogCaptureFixture) -> None:
    """Each fraud record is in the output once, with its key; the instances split the topic."""
    fill()
    truth = truth_of(PLAN)
    stream = fraud_stream(PropertyReader("streams.properties"))
    with caplog.at_level(logging.WARNING):
        apps = [StreamsApp(stream, settings(servers)) for _ in range(2)]
    assert "does not know zookeeper.connect" in caplog.text
    for app in apps:
        app.start()
    await_that(lambda: read_all(servers, truth.records))
    await_that(lambda: all(app.assigned for app in apps))
    assert [len(app.assigned) for app in apps] == [2, 2]
    for app in apps:
        app.close()
    found = read_topic(servers, "fraudIp")
    assert truth.fraud_records > 10
    assert Counter(record.text for record in found) == truth.fraud
    sent = {record.text: record.key for record in read_topic(servers, "iprecord")}
    assert all(record.key == sent[record.text] for record in found)


@pytest.mark.spec("book2:A1-13")
def test_harmless_records_leave_the_output_empty(servers: str) -> None:
    """None of these addresses is listed, though all of their parts look like it."""
    provide("iprecord", [Draft(record) for record in HARMLESS])
    provide("fraudIp", partitions=1)
    app = StreamsApp(fraud_stream(PropertyReader("streams.properties")), settings(servers))
    app.start()
    await_that(lambda: read_all(servers, len(HARMLESS)))
    app.close()
    assert read_topic(servers, "fraudIp") == []


@pytest.mark.spec("book2:T-18")
def test_what_fails_is_neither_lost_nor_written_twice(servers: str) -> None:
    """An instance dies in the middle of a transaction; the next one does the whole of it again."""
    fill()
    truth = truth_of(PLAN)
    good = fraud_stream(PropertyReader("streams.properties"))
    seen = 0

    def fails_late(key: bytes | None, value: str) -> bool:
        nonlocal seen
        seen += 1
        if seen > 150:
            raise OSError("the machine fails")
        return good.keep(key, value)

    first = StreamsApp(FilterStream(good.topic, fails_late, good.output), settings(servers))
    first.start()
    await_that(lambda: first.fault is not None)
    with pytest.raises(OSError, match="the machine fails"):
        first.close()
    second = StreamsApp(good, settings(servers))
    second.start()
    await_that(lambda: read_all(servers, truth.records))
    second.close()
    assert Counter(record.text for record in read_topic(servers, "fraudIp")) == truth.fraud


@pytest.mark.spec("book2:A2-02", "book2:A2-03")
def test_the_settings_of_the_application(broker: Broker) -> None:
    """The output topic has a capital I: it is not the topology's `fraudip`."""
    reader = PropertyReader("streams.properties")
    found = [reader.get(key) for key in ("topic", "broker.list", "output_topic", "other")]
    assert found == ["iprecord", "localhost:9092", "fraudIp", None]
    assert provide("fraudip")
    assert provide("fraudIp")
