"""Consumer groups, their consumers, assignments and lags."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from confluent_kafka import Consumer, TopicPartition

from headrace.testing import Broker
from tests.rest.v3.running_proxy import BROKER, RunningProxy


class Reading(NamedTuple):
    """A member of a group that has read two of five records."""

    group: str
    topic: str
    member: str

    @property
    def consumer(self) -> str:
        """The member in a path: its id is base64 in the newer protocol."""
        return quote(self.member, safe="")


@pytest.fixture(scope="module", params=["classic", "consumer"])
def reading(
    proxy: RunningProxy,
    cluster: str,
    rest_broker: Broker,
    request: pytest.FixtureRequest,
) -> Iterator[Reading]:
    """A group with a slash in its name, of either protocol."""
    topic, group = f"g-{uuid.uuid4().hex[:8]}", f"{request.param}/{uuid.uuid4().hex[:8]}"
    body = {"topic_name": topic, "partitions_count": 2}
    assert proxy.ask("POST", f"{cluster}/topics", body).status == 201
    record = {"partition_id": 1, "value": {"type": "STRING", "data": "x"}}
    for _ in range(5):
        proxy.ask("POST", f"{cluster}/topics/{topic}/records", record)
    consumer = Consumer(
        {
            "bootstrap.servers": rest_broker.bootstrap_servers,
            "group.id": group,
            "client.id": "reader",
            "group.protocol": request.param,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    try:
        consumer.subscribe([topic])
        assert len(consumer.consume(5, 20)) == 5
        consumer.commit(offsets=[TopicPartition(topic, 1, 2)], asynchronous=False)
        member = consumer.memberid()
        assert member is not None
        yield Reading(group, topic, member)
    finally:
        consumer.close()


@pytest.fixture
def path(cluster: str, reading: Reading) -> str:
    return f"{cluster}/consumer-groups/{quote(reading.group, safe='')}"


def test_consumer_group(proxy: RunningProxy, cluster: str, path: str, reading: Reading) -> None:
    """A group says its state, protocol, coordinator and where its consumers are."""
    url, cluster_id = proxy.url + path, cluster.rpartition("/")[2]
    found = proxy.get(path)
    is_classic = reading.group.startswith("classic")
    expected = {
        "kind": "KafkaConsumerGroup",
        "metadata": {
            "self": url,
            "resource_name": f"crn:///kafka={cluster_id}/consumer-group={reading.group}",
        },
        "cluster_id": cluster_id,
        "consumer_group_id": reading.group,
        "is_simple": False,
        "partition_assignor": "range" if is_classic else "uniform",
        "state": "STABLE",
        "type": "CLASSIC" if is_classic else "CONSUMER",
        "is_mixed_consumer_group": False,
        "coordinator": {"related": f"{proxy.url}{cluster}/brokers/{BROKER}"},
        "consumers": {"related": f"{url}/consumers"},
        "lag_summary": {"related": f"{url}/lag-summary"},
    }
    assert found == expected
    listed = proxy.get(f"{cluster}/consumer-groups")
    assert listed["kind"] == "KafkaConsumerGroupList"
    assert expected in listed["data"]


def test_consumers(proxy: RunningProxy, cluster: str, path: str, reading: Reading) -> None:
    """Members are consumers with a client id and a link to their assignments."""
    url = f"{proxy.url}{path}/consumers/{reading.consumer}"
    cluster_id = cluster.rpartition("/")[2]
    expected = {
        "kind": "KafkaConsumer",
        "metadata": {
            "self": url,
            "resource_name": f"crn:///kafka={cluster_id}/consumer-group={reading.group}"
            f"/consumer={reading.member}",
        },
        "cluster_id": cluster_id,
        "consumer_group_id": reading.group,
        "consumer_id": reading.member,
        "instance_id": None,
        "client_id": "reader",
        "assignments": {"related": f"{url}/assignments"},
    }
    listed = proxy.get(f"{path}/consumers")
    assert (listed["kind"], listed["data"]) == ("KafkaConsumerList", [expected])
    assert proxy.get(f"{path}/consumers/{reading.consumer}") == expected
    assert proxy.ask("GET", f"{path}/consumers/nobody").status == 404


def test_assignments(proxy: RunningProxy, cluster: str, path: str, reading: Reading) -> None:
    """A consumer's partitions, each with a link to the partition and to its lag."""
    listed = proxy.get(f"{path}/consumers/{reading.consumer}/assignments")
    assert listed["kind"] == "KafkaConsumerAssignmentList"
    assert [each["partition_id"] for each in listed["data"]] == [0, 1]
    one_path = f"{path}/consumers/{reading.consumer}/assignments/{reading.topic}/partitions/1"
    one = proxy.get(one_path)
    assert one == listed["data"][1]
    assert one["metadata"]["self"] == proxy.url + one_path
    where = f"{reading.topic}/partitions/1"
    assert one["partition"] == {"related": f"{proxy.url}{cluster}/topics/{where}"}
    assert one["lag"] == {"related": f"{proxy.url}{path}/lags/{where}"}
    missing = f"{path}/consumers/{reading.consumer}/assignments/{reading.topic}/partitions/9"
    assert proxy.ask("GET", missing).status == 404


def test_lags(proxy: RunningProxy, path: str, reading: Reading) -> None:
    """Lag is the distance of the committed offset from the end; the summary has the worst."""
    lag = proxy.get(f"{path}/lags/{reading.topic}/partitions/1")
    told: dict[str, Any] = {
        "kind": "KafkaConsumerLag",
        "consumer_group_id": reading.group,
        "topic_name": reading.topic,
        "partition_id": 1,
        "consumer_id": reading.member,
        "instance_id": None,
        "client_id": "reader",
        "current_offset": 2,
        "log_end_offset": 5,
        "lag": 3,
    }
    assert {name: lag[name] for name in told} == told
    listed = proxy.get(f"{path}/lags")
    assert (listed["kind"], listed["data"]) == ("KafkaConsumerLagList", [lag])
    summary = proxy.get(f"{path}/lag-summary")
    expected = {
        "kind": "KafkaConsumerGroupLagSummary",
        "max_lag_consumer_id": reading.member,
        "max_lag_client_id": "reader",
        "max_lag_topic_name": reading.topic,
        "max_lag_partition_id": 1,
        "max_lag": 3,
        "total_lag": 3,
        "max_lag_consumer": {"related": f"{proxy.url}{path}/consumers/{reading.consumer}"},
    }
    assert {name: summary[name] for name in expected} == expected
    assert proxy.ask("GET", f"{path}/lags/{reading.topic}/partitions/0").status == 404


@pytest.mark.parametrize(
    "below",
    [
        "",
        "/consumers",
        "/consumers/c",
        "/consumers/c/assignments",
        "/consumers/c/assignments/t/partitions/0",
        "/lags",
        "/lags/t/partitions/0",
        "/lag-summary",
    ],
)
def test_unknown_group(proxy: RunningProxy, cluster: str, below: str) -> None:
    """A group that does not exist is not found, nor is anything below it."""
    answer = proxy.ask("GET", f"{cluster}/consumer-groups/nobody{below}")
    expected = {"error_code": 404, "message": "Consumer group nobody cannot be found."}
    assert (answer.status, answer.body) == (404, expected)


def test_group_without_members(
    proxy: RunningProxy,
    cluster: str,
    new_topic: Callable[..., str],
    rest_broker: Broker,
) -> None:
    """Offsets of a group that nobody is in have a lag without a consumer."""
    topic, group = new_topic(), f"empty-{uuid.uuid4().hex[:8]}"
    record = {"value": {"type": "STRING", "data": "x"}}
    proxy.ask("POST", f"{cluster}/topics/{topic}/records", record)
    settings = {"bootstrap.servers": rest_broker.bootstrap_servers, "group.id": group}
    consumer = Consumer(settings)
    consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    consumer.close()
    path = f"{cluster}/consumer-groups/{group}"
    found = proxy.get(path)
    assert (found["state"], found["is_simple"]) == ("EMPTY", True)
    assert proxy.get(f"{path}/consumers")["data"] == []
    lag = proxy.get(f"{path}/lags")["data"][0]
    assert (lag["lag"], lag["consumer_id"], lag["client_id"]) == (1, "", "")
