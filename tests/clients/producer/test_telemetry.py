"""The Java producer reports its metrics to the broker (KIP-714)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.testing import Broker
from tests.broker.metrics.scraping import Scraped
from tests.clients.producer.java_producer import JavaProducer
from tests.clients.raw import Connection
from tests.clients.telemetry import subscription
from tests.clients.test_push_telemetry import await_metric


@pytest.mark.spec("book2:R-05", "book2:R-06", "slides:M02")
def test_the_java_client_pushes(
    metered_broker: Broker, new_java: Callable[..., JavaProducer]
) -> None:
    """Response rate, request rate, sizes and errors of a producer, by Kafka's names."""
    address = metered_broker.bootstrap_servers
    with (
        Connection(address) as connection,
        subscription(connection, "java", metrics="org.apache.kafka.producer", interval_ms=200),
    ):
        producer = new_java(bootstrap=address, enable_metrics_push="true", client_id="from-java")
        for number in range(20):
            producer.send_and_get({"topic": "telemetry-java", "value": str(number)})

        def is_there(now: Scraped) -> bool:
            return now.total("org_apache_kafka_producer_record_send_total") >= 20

        now = await_metric(metered_broker, is_there)
    for name in (
        "response_rate",
        "request_rate",
        "record_error_rate",
        "record_size_avg",
        "buffer_total_bytes",
        "io_wait_time_ns_avg",
    ):
        assert now.total(f"org_apache_kafka_producer_{name}", client_id="from-java") >= 0
        assert now.has(f"org_apache_kafka_producer_{name}"), name
