"""Topics."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.rest.v3.running_proxy import BROKER, RunningProxy, eventually

UNKNOWN = {"error_code": 40403, "message": "This server does not host this topic-partition."}
OPERATIONS = [
    "READ",
    "WRITE",
    "CREATE",
    "DELETE",
    "ALTER",
    "DESCRIBE",
    "DESCRIBE_CONFIGS",
    "ALTER_CONFIGS",
]


def golden(proxy: RunningProxy, cluster: str, name: str, partitions: int) -> dict[str, object]:
    url = f"{proxy.url}{cluster}/topics/{name}"
    cluster_id = cluster.rpartition("/")[2]
    return {
        "kind": "KafkaTopic",
        "metadata": {"self": url, "resource_name": f"crn:///kafka={cluster_id}/topic={name}"},
        "cluster_id": cluster_id,
        "topic_name": name,
        "is_internal": False,
        "replication_factor": 1,
        "partitions_count": partitions,
        "partitions": {"related": f"{url}/partitions"},
        "configs": {"related": f"{url}/configs"},
        "partition_reassignments": {"related": f"{url}/partitions/-/reassignment"},
        "authorized_operations": [],
    }


def test_create_get_list_delete(proxy: RunningProxy, cluster: str) -> None:
    """A topic is created with its settings, shown, listed and deleted."""
    body = {
        "topic_name": "first",
        "partitions_count": 2,
        "replication_factor": 1,
        "configs": [{"name": "retention.ms", "value": "1000"}],
    }
    created = proxy.ask("POST", f"{cluster}/topics", body)
    assert (created.status, created.body) == (201, golden(proxy, cluster, "first", 2))
    assert created.headers["location"] == f"{proxy.url}{cluster}/topics/first"
    assert proxy.get(f"{cluster}/topics/first") == golden(proxy, cluster, "first", 2)
    listed = proxy.get(f"{cluster}/topics")
    assert listed["kind"] == "KafkaTopicList"
    assert listed["metadata"] == {"self": f"{proxy.url}{cluster}/topics", "next": None}
    assert golden(proxy, cluster, "first", 2) in listed["data"]
    config = proxy.get(f"{cluster}/topics/first/configs/retention.ms")
    assert config["value"] == "1000"
    assert proxy.ask("DELETE", f"{cluster}/topics/first")[:2] == (204, None)
    eventually(lambda: proxy.ask("GET", f"{cluster}/topics/first")[:2] == (404, UNKNOWN))
    assert proxy.ask("DELETE", f"{cluster}/topics/first")[:2] == (404, UNKNOWN)


def test_validate_only(proxy: RunningProxy, cluster: str) -> None:
    """A topic that is only checked is answered with 200 and does not exist afterwards."""
    body = {"topic_name": "checked", "partitions_count": 3, "validate_only": True}
    answer = proxy.ask("POST", f"{cluster}/topics", body)
    assert (answer.status, answer.body["partitions_count"]) == (200, 3)
    assert proxy.ask("GET", f"{cluster}/topics/checked").status == 404
    body["configs"] = [{"name": "retention.ms", "value": "soon"}]
    answer = proxy.ask("POST", f"{cluster}/topics", body)
    assert (answer.status, answer.body["error_code"]) == (400, 40002)


def test_replicas_assignments(proxy: RunningProxy, cluster: str) -> None:
    """Replicas may be placed by hand; a broker that does not exist is refused."""
    placed = [{"partition_id": number, "broker_ids": [BROKER]} for number in range(2)]
    body = {"topic_name": "placed", "replicas_assignments": placed}
    answer = proxy.ask("POST", f"{cluster}/topics", body)
    assert (answer.status, answer.body["partitions_count"]) == (201, 2)
    body = {"topic_name": "lost", "replicas_assignments": [{"partition_id": 0, "broker_ids": [5]}]}
    answer = proxy.ask("POST", f"{cluster}/topics", body)
    assert (answer.status, answer.body["error_code"]) == (400, 40002)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"topic_name": "no spaces"}, 400, 40002),
        ({"topic_name": "x", "partitions_count": 0}, 400, 40002),
        ({"topic_name": "x", "partitions_count": 1 << 40}, 400, 40002),
        ({"topic_name": "x", "replication_factor": 7}, 400, 40002),
        ({"topic_name": "x", "partitions_count": "all"}, 400, 400),
        ({"partitions_count": 1}, 400, 400),
        ([], 400, 400),
        (b"{", 400, 400),
        (b"", 400, 400),
        (b"\xff\xfe", 400, 400),
        (b"[" * 100_000, 400, 400),
    ],
)
def test_refused_topics(
    proxy: RunningProxy, cluster: str, body: object, status: int, code: int
) -> None:
    """What cannot be a topic is refused with the code of its fault."""
    answer = proxy.ask("POST", f"{cluster}/topics", body)
    assert (answer.status, answer.body["error_code"]) == (status, code)


def test_topic_already_exists(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """A second topic of the same name is 40002 and the text names it."""
    answer = proxy.ask("POST", f"{cluster}/topics", {"topic_name": topic})
    assert (answer.status, answer.body["error_code"]) == (400, 40002)
    assert topic in answer.body["message"]


def test_media_type(proxy: RunningProxy, cluster: str) -> None:
    """A body that says it is something else is 415."""
    headers = {"content-type": "text/plain"}
    answer = proxy.ask("POST", f"{cluster}/topics", b"{}", headers)
    assert (answer.status, answer.body["error_code"]) == (415, 415)


def test_patch_partitions_count(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """Partitions can be added and not taken away; other topics are unknown."""
    path = f"{cluster}/topics/{topic}"
    answer = proxy.ask("PATCH", path, {"partitions_count": 4})
    assert (answer.status, answer.body) == (200, golden(proxy, cluster, topic, 4))
    answer = proxy.ask("PATCH", path, {"partitions_count": 2})
    assert (answer.status, answer.body["error_code"]) == (400, 40002)
    answer = proxy.ask("PATCH", f"{cluster}/topics/nothing", {"partitions_count": 2})
    assert (answer.status, answer.body) == (404, UNKNOWN)


def test_authorized_operations(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """On request a topic says what the proxy may do with it."""
    path = f"{cluster}/topics/{topic}?include_authorized_operations="
    assert proxy.get(path + "true")["authorized_operations"] == OPERATIONS
    assert proxy.ask("GET", path + "maybe").status == 400


def test_partitions(proxy: RunningProxy, cluster: str, new_topic: Callable[..., str]) -> None:
    """Partitions have a leader and links; an unknown one is 40403."""
    topic = new_topic(partitions=2)
    url = f"{proxy.url}{cluster}/topics/{topic}/partitions"
    cluster_id = cluster.rpartition("/")[2]
    expected = [
        {
            "kind": "KafkaPartition",
            "metadata": {
                "self": f"{url}/{number}",
                "resource_name": f"crn:///kafka={cluster_id}/topic={topic}/partition={number}",
            },
            "cluster_id": cluster_id,
            "topic_name": topic,
            "partition_id": number,
            "leader": {"related": f"{url}/{number}/replicas/{BROKER}"},
            "replicas": {"related": f"{url}/{number}/replicas"},
            "reassignment": {"related": f"{url}/{number}/reassignment"},
        }
        for number in range(2)
    ]
    path = f"{cluster}/topics/{topic}/partitions"
    listed = proxy.get(path)
    assert listed["data"] == expected
    assert (listed["kind"], listed["metadata"]["self"]) == ("KafkaPartitionList", url)
    assert proxy.get(f"{path}/1") == expected[1]
    assert proxy.ask("GET", f"{path}/2")[:2] == (404, UNKNOWN)
    assert proxy.ask("GET", f"{cluster}/topics/none/partitions")[:2] == (404, UNKNOWN)


def test_offsets_of_a_partition(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """Both ends of the log, or the one that was asked for."""
    record = {"value": {"type": "STRING", "data": "x"}}
    proxy.ask("POST", f"{cluster}/topics/{topic}/records", record)
    path = f"{cluster}/topics/{topic}/partitions/0/offset"
    both = proxy.get(path)
    assert (both["earliest_offset"], both["latest_offset"]) == (0, 1)
    assert both["metadata"]["self"] == proxy.url + path
    latest = proxy.get(f"{path}?offset_type=LATEST")
    assert (latest["latest_offset"], "earliest_offset" in latest) == (1, False)
    assert proxy.ask("GET", f"{path}?offset_type=middle").status == 400


def test_replicas(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """The replicas of a partition, one of them, and all on a broker."""
    path = f"{cluster}/topics/{topic}/partitions/0/replicas"
    cluster_id = cluster.rpartition("/")[2]
    crn = f"crn:///kafka={cluster_id}/topic={topic}/partition=0/replica={BROKER}"
    expected = {
        "kind": "KafkaReplica",
        "metadata": {"self": f"{proxy.url}{path}/{BROKER}", "resource_name": crn},
        "cluster_id": cluster_id,
        "topic_name": topic,
        "partition_id": 0,
        "broker_id": BROKER,
        "is_leader": True,
        "is_in_sync": True,
        "broker": {"related": f"{proxy.url}{cluster}/brokers/{BROKER}"},
    }
    listed = proxy.get(path)
    assert (listed["kind"], listed["data"]) == ("KafkaReplicaList", [expected])
    assert proxy.get(f"{path}/{BROKER}") == expected
    assert proxy.ask("GET", f"{path}/7").status == 404
    assert expected in proxy.get(f"{cluster}/brokers/{BROKER}/partition-replicas")["data"]
    assert proxy.ask("GET", f"{cluster}/brokers/7/partition-replicas").status == 404


def test_reassignments(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """While nothing moves the lists are empty and one partition's move is not found."""
    for name in ("-", topic):
        listed = proxy.get(f"{cluster}/topics/{name}/partitions/-/reassignment")
        assert (listed["kind"], listed["data"]) == ("KafkaReassignmentList", [])
    path = f"{cluster}/topics/{topic}/partitions/0/reassignment"
    answer = proxy.ask("GET", path)
    assert (answer.status, answer.body["error_code"]) == (404, 404)
    missing = f"{cluster}/topics/none/partitions/-/reassignment"
    assert proxy.ask("GET", missing)[:2] == (404, UNKNOWN)
