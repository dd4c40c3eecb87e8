"""Clusters and brokers."""

from __future__ import annotations

from headrace.testing import Broker
from tests.rest.v3.running_proxy import BROKER, RunningProxy


def test_get_clusters(proxy: RunningProxy, cluster: str) -> None:
    """The list has one cluster with every related link, and its own address and name."""
    url = proxy.url + cluster
    cluster_id = cluster.rpartition("/")[2]
    expected = {
        "kind": "KafkaCluster",
        "metadata": {"self": url, "resource_name": f"crn:///kafka={cluster_id}"},
        "cluster_id": cluster_id,
        "controller": {"related": f"{url}/brokers/{BROKER}"},
        "acls": {"related": f"{url}/acls"},
        "brokers": {"related": f"{url}/brokers"},
        "broker_configs": {"related": f"{url}/broker-configs"},
        "consumer_groups": {"related": f"{url}/consumer-groups"},
        "topics": {"related": f"{url}/topics"},
        "partition_reassignments": {"related": f"{url}/topics/-/partitions/-/reassignment"},
    }
    assert proxy.get("/v3/clusters") == {
        "kind": "KafkaClusterList",
        "metadata": {"self": f"{proxy.url}/v3/clusters", "next": None},
        "data": [expected],
    }
    assert proxy.get(cluster) == expected


def test_unknown_cluster(proxy: RunningProxy) -> None:
    """Any other id is 404, on the cluster and below it."""
    expected = {"error_code": 404, "message": "Cluster nowhere cannot be found."}
    for path in ("", "/topics", "/brokers", "/consumer-groups/g/lags", "/acls"):
        answer = proxy.ask("GET", f"/v3/clusters/nowhere{path}")
        assert (answer.status, answer.body) == (404, expected)


def test_get_brokers(proxy: RunningProxy, cluster: str, rest_broker: Broker) -> None:
    """A broker has its address and links to its settings and replicas."""
    url = f"{proxy.url}{cluster}/brokers/{BROKER}"
    cluster_id = cluster.rpartition("/")[2]
    expected = {
        "kind": "KafkaBroker",
        "metadata": {"self": url, "resource_name": f"crn:///kafka={cluster_id}/broker={BROKER}"},
        "cluster_id": cluster_id,
        "broker_id": BROKER,
        "host": "127.0.0.1",
        "port": rest_broker.port,
        "rack": None,
        "configs": {"related": f"{url}/configs"},
        "partition_replicas": {"related": f"{url}/partition-replicas"},
    }
    assert proxy.get(f"{cluster}/brokers") == {
        "kind": "KafkaBrokerList",
        "metadata": {"self": f"{proxy.url}{cluster}/brokers", "next": None},
        "data": [expected],
    }
    assert proxy.get(f"{cluster}/brokers/{BROKER}") == expected
    assert proxy.ask("GET", f"{cluster}/brokers/99").status == 404


def test_related_links_lead_somewhere(proxy: RunningProxy, cluster: str) -> None:
    """Every related link of the cluster, its brokers and topics can be followed."""
    for resource in (cluster, f"{cluster}/brokers/{BROKER}"):
        for name, value in proxy.get(resource).items():
            if isinstance(value, dict) and "related" in value and name != "acls":
                proxy.get(value["related"].removeprefix(proxy.url))


def test_strange_paths(proxy: RunningProxy, cluster: str) -> None:
    """What is no route is 404 and a wrong method 405, both with the error body."""
    answer = proxy.ask("GET", f"{cluster}/brokers/one")
    assert (answer.status, answer.body["error_code"]) == (404, 404)
    answer = proxy.ask("PUT", f"{cluster}/brokers")
    assert (answer.status, answer.body["error_code"]) == (405, 405)
