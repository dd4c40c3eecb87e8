"""The application as a whole: what it serves, and how it ends."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable

import pytest

from headrace.client.cluster import Cluster
from headrace.wire.messages.describe_groups import DescribeGroupsRequest
from tests.rest.service import Service, embedded, error_of
from tests.rest.v2.test_consumers import create, read, send

INSTANCE = "/consumers/{group_name}/instances/{instance}"
TABLE = [
    ("get", "/topics"),
    ("get", "/topics/{topic_name}"),
    ("post", "/topics/{topic_name}"),
    ("get", "/topics/{topic_name}/partitions"),
    ("get", "/topics/{topic_name}/partitions/{partition_id}"),
    ("post", "/topics/{topic_name}/partitions/{partition_id}"),
    ("get", "/topics/{topic_name}/partitions/{partition_id}/offsets"),
    ("post", "/consumers/{group_name}"),
    ("delete", INSTANCE),
    ("post", f"{INSTANCE}/subscription"),
    ("get", f"{INSTANCE}/subscription"),
    ("delete", f"{INSTANCE}/subscription"),
    ("post", f"{INSTANCE}/assignments"),
    ("get", f"{INSTANCE}/assignments"),
    ("get", f"{INSTANCE}/records"),
    ("post", f"{INSTANCE}/offsets"),
    ("get", f"{INSTANCE}/offsets"),
    ("post", f"{INSTANCE}/positions"),
    ("post", f"{INSTANCE}/positions/beginning"),
    ("post", f"{INSTANCE}/positions/end"),
    ("get", "/brokers"),
    ("get", f"{INSTANCE}/topics/{{topic_name}}"),
]


@pytest.mark.spec("slides:J04", "book2:F-04", "book2:B-14")
def test_every_endpoint_of_versions_1_and_2_is_described(proxy: Service) -> None:
    """The table of Confluent's API, in the document that the proxy serves."""
    paths = proxy.get("/openapi.json").json["paths"]
    assert [each for each in TABLE if each[0] not in paths.get(each[1], {})] == []
    records = paths[f"{INSTANCE}/records"]["get"]
    assert embedded("avro") in records["responses"]["200"]["content"]


def test_health_and_metrics(proxy: Service, start_proxy: Callable[..., Service]) -> None:
    """`/healthz` says that it is there, also without a broker; `/metrics` counts by template."""
    assert proxy.get("/healthz").json == {"status": "ok"}
    proxy.get("/topics/no-such-topic-anywhere")
    reply = proxy.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    line = 'kafka_rest_requests_total{route="/topics/{topic_name}",method="GET",status="404"} '
    assert line in reply.text
    assert "\nkafka_rest_consumer_instances " in reply.text
    with start_proxy({"bootstrap.servers": "127.0.0.1:9"}) as alone:
        assert alone.get("/healthz/").json == {"status": "ok"}


def test_50003_while_no_broker_answers(start_proxy: Callable[..., Service]) -> None:
    """503 for what needs a broker; the proxy itself is there."""
    properties = {"bootstrap.servers": "127.0.0.1:9", "producer.delivery.timeout.ms": 1000}
    with start_proxy(properties) as proxy:
        body = {"records": [{"value": 1}]}
        reply = proxy.post("/topics/t", body, content_type=embedded("json"))
        assert [each["error_code"] for each in reply.json["offsets"]] == [50003]
        assert proxy.get("/").status == 200
        assert error_of(proxy.get("/brokers"))[:2] == (503, 50003)


def test_the_end_of_a_proxy_ends_its_consumers(
    start_proxy: Callable[..., Service], rest_cluster: Cluster, topic: str, fresh_name: str
) -> None:
    """SIGTERM leaves the groups, so that others need not wait for sessions to end."""
    with start_proxy() as proxy:
        send(proxy, topic, 1)
        base = create(proxy, fresh_name)
        proxy.post(f"{base}/subscription", {"topics": [topic]})
        read(proxy, base, 1)
        began = time.monotonic()
    assert time.monotonic() - began < 10
    connection = rest_cluster.coordinator(fresh_name)
    (group,) = connection.call(DescribeGroupsRequest(groups=[fresh_name])).groups
    assert (group.group_state, group.members) == ("Empty", [])


def test_an_open_stream_does_not_hold_up_the_end(start_proxy: Callable[..., Service]) -> None:
    """SIGTERM ends a stream of events at once and without a word; its reader sees the end."""
    with start_proxy() as proxy:
        (cluster,) = proxy.get("/v3/clusters").json["data"]
        path = f"/v3/clusters/{cluster['cluster_id']}/topics/{{}}/records:events"
        topic = {"topic_name": "stream-at-the-end"}
        made = f"/v3/clusters/{cluster['cluster_id']}/topics"
        assert proxy.post(made, topic, content_type="application/json").status == 201
        connection = http.client.HTTPConnection(*proxy.address, timeout=30)
        connection.request("GET", path.format("stream-at-the-end"))
        response = connection.getresponse()
        assert response.status == 200
        began = time.monotonic()
    assert time.monotonic() - began < 4.5, "the server waited for the stream"
    while response.read1(1 << 16):
        pass
    connection.close()
