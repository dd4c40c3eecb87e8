"""PushTelemetry: what clients report is shown at /metrics, within limits (KIP-714)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from headrace.errors import Error
from headrace.records.compression import Codec, compress
from headrace.testing import Broker
from headrace.types import ZERO_UUID, uuid_to_text
from headrace.wire.messages.api_versions import ApiVersionsRequest
from tests.broker.metrics.scraping import Scraped, scrape
from tests.clients.raw import Connection
from tests.clients.telemetry import (
    DELTA,
    ask_subscription,
    counter,
    gauge,
    push,
    report,
    subscription,
)

PATIENCE_S = 20


@pytest.fixture
def metered(metered_broker: Broker) -> Iterator[Connection]:
    with Connection(metered_broker.bootstrap_servers, client_id="pushing") as opened:
        hello = ApiVersionsRequest(client_software_name="tester", client_software_version="1.2")
        opened.ask(hello, 3)
        with subscription(opened, "everything", metrics="*", interval_ms=60_000):
            yield opened


def await_metric(broker: Broker, is_there: Callable[[Scraped], bool]) -> Scraped:
    """Scrape until the metrics have what is awaited."""
    pause = threading.Event()
    for _ in range(PATIENCE_S * 10):
        now = scrape(broker.metrics_url)
        if is_there(now):
            return now
        pause.wait(0.1)
    raise AssertionError("the metric does not come")


@pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name.lower())
def test_a_report_is_shown_with_the_labels_of_its_client(
    metered_broker: Broker, metered: Connection, codec: Codec
) -> None:
    """Gauges and counters, integers and others, their labels and the client's, in every codec."""
    told = ask_subscription(metered)
    sent = report(
        gauge("org.apache.kafka.consumer.fetch.latency.avg", 2.5),
        gauge("org.apache.kafka.queue.depth", 7, **{"node.id": "3", "topic": 'q"uoted'}),
        counter("org.apache.kafka.records", 41.0),
    )
    packed = compress(codec, sent)
    assert push(metered, told, packed, compression_type=codec) == Error.NONE
    now = scrape(metered_broker.metrics_url)
    who = {
        "client_id": "pushing",
        "client_instance_id": uuid_to_text(told.client_instance_id),
        "client_software_name": "tester",
        "client_software_version": "1.2",
        "client_source_address": "127.0.0.1",
    }
    assert now.value("org_apache_kafka_consumer_fetch_latency_avg", **who) == 2.5
    assert now.value("org_apache_kafka_queue_depth", **who, node_id="3", topic='q"uoted') == 7
    assert now.value("org_apache_kafka_records", **who) == 41
    assert now.types["org_apache_kafka_records"] == "counter"
    assert now.types["org_apache_kafka_queue_depth"] == "gauge"


def test_deltas_are_added_up(metered_broker: Broker, metered: Connection) -> None:
    """A client that tells what came since its last report makes a counter that only grows."""
    told = ask_subscription(metered)
    assert push(metered, told, report(counter("sum.of.deltas", 5, DELTA))) == Error.NONE
    last = report(counter("sum.of.deltas", 6, DELTA))
    assert push(metered, told, last, terminating=True) == Error.NONE
    assert scrape(metered_broker.metrics_url).total("sum_of_deltas") == 11


def test_a_last_report_may_come_early_and_once(metered: Connection) -> None:
    """A client that ends need not wait; after its last report it has nothing to say."""
    told = ask_subscription(metered)
    assert push(metered, told, b"") == Error.NONE
    assert push(metered, told, b"") == Error.THROTTLING_QUOTA_EXCEEDED
    assert push(metered, told, b"", terminating=True) == Error.NONE
    assert push(metered, told, b"", terminating=True) == Error.INVALID_REQUEST


def test_bad_reports_are_refused(metered: Connection) -> None:
    """No id, nonsense, an unknown codec, too much: each has its error, and harms nobody."""
    told = ask_subscription(metered)
    assert push(metered, told, b"", client_instance_id=ZERO_UUID) == Error.INVALID_REQUEST
    told = ask_subscription(metered)
    assert push(metered, told, b"\xff\xff\xff") == Error.INVALID_RECORD
    told = ask_subscription(metered)
    assert push(metered, told, b"x", compression_type=9) == Error.UNSUPPORTED_COMPRESSION_TYPE
    told = ask_subscription(metered)
    assert push(metered, told, os.urandom((1 << 20) + 1)) == Error.TELEMETRY_TOO_LARGE
    told = ask_subscription(metered)
    assert push(metered, told, os.urandom(100), compression_type=Codec.ZSTD) == Error.INVALID_RECORD


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD, Codec.LZ4], ids=str)
def test_a_bomb_does_not_go_off(metered: Connection, codec: Codec) -> None:
    """A few kilobytes that unpack to sixty megabytes are refused."""
    told = ask_subscription(metered)
    bomb = compress(codec, bytes(60 << 20))
    assert len(bomb) < 1 << 20
    assert push(metered, told, bomb, compression_type=codec) == Error.INVALID_RECORD


def test_librdkafka_pushes(metered_broker: Broker, metered: Connection) -> None:
    """A plain Python producer reports its connections and latencies without being asked twice."""
    producer = Producer(
        {
            "bootstrap.servers": metered_broker.bootstrap_servers,
            "client.id": "from-python",
            "log_level": 0,
        }
    )
    name = "org_apache_kafka_producer_connection_creation_total"
    with subscription(metered, "often", metrics="*", interval_ms=100):
        producer.produce("telemetry", b"value")
        producer.flush(10)
        now = await_metric(
            metered_broker, lambda now: now.total(name, client_id="from-python") >= 1
        )
    assert now.total(name, client_software_name="confluent-kafka-python") >= 1
