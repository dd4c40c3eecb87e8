"""Settings of topics and brokers."""

from __future__ import annotations

import pytest

from tests.rest.v3.running_proxy import BROKER, RunningProxy


def test_topic_config(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """A setting is shown with every level it has a value at; set, it is the topic's own."""
    path = f"{cluster}/topics/{topic}/configs/compression.type"
    cluster_id = cluster.rpartition("/")[2]
    crn = f"crn:///kafka={cluster_id}/topic={topic}/config=compression.type"
    default = {"name": "compression.type", "value": "producer", "source": "DEFAULT_CONFIG"}
    expected = {
        "kind": "KafkaTopicConfig",
        "metadata": {"self": proxy.url + path, "resource_name": crn},
        "cluster_id": cluster_id,
        "topic_name": topic,
        "name": "compression.type",
        "value": "producer",
        "is_default": True,
        "is_read_only": False,
        "is_sensitive": False,
        "source": "DEFAULT_CONFIG",
        "synonyms": [default],
    }
    assert proxy.get(path) == expected
    assert proxy.ask("PUT", path, {"value": "gzip"})[:2] == (204, None)
    own = {"name": "compression.type", "value": "gzip", "source": "DYNAMIC_TOPIC_CONFIG"}
    assert proxy.get(path) == expected | {
        "value": "gzip",
        "is_default": False,
        "source": "DYNAMIC_TOPIC_CONFIG",
        "synonyms": [own, default],
    }
    assert proxy.ask("DELETE", path)[:2] == (204, None)
    assert proxy.get(path) == expected


def test_list_topic_configs(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """All settings of one topic, and of all topics."""
    path = f"{cluster}/topics/{topic}/configs"
    listed = proxy.get(path)
    assert listed["kind"] == "KafkaTopicConfigList"
    assert listed["metadata"] == {"self": proxy.url + path, "next": None}
    names = [config["name"] for config in listed["data"]]
    assert names == sorted(names)
    assert {"cleanup.policy", "retention.ms", "segment.bytes"} <= set(names)
    everything = proxy.get(f"{cluster}/topics/-/configs")["data"]
    assert [each for each in everything if each["topic_name"] == topic] == listed["data"]


@pytest.mark.parametrize(
    ("method", "name", "body", "status", "code"),
    [
        ("GET", "no.such.config", None, 404, 404),
        ("PUT", "no.such.config", {"value": "1"}, 404, 404),
        ("DELETE", "no.such.config", None, 404, 404),
        ("PUT", "retention.ms", {"value": "soon"}, 400, 40002),
        ("PUT", "retention.ms", {"value": 7}, 400, 400),
        ("PUT", "retention.ms", b"", 400, 400),
    ],
)
def test_refused_changes(
    proxy: RunningProxy,
    cluster: str,
    topic: str,
    method: str,
    name: str,
    body: object,
    status: int,
    code: int,
) -> None:
    """Unknown settings are not found, bad values are refused."""
    answer = proxy.ask(method, f"{cluster}/topics/{topic}/configs/{name}", body)
    assert (answer.status, answer.body["error_code"]) == (status, code)


def test_configs_of_nothing(proxy: RunningProxy, cluster: str) -> None:
    """Settings of a topic or broker that does not exist are not found."""
    answer = proxy.ask("GET", f"{cluster}/topics/none/configs")
    assert (answer.status, answer.body["error_code"]) == (404, 40403)
    answer = proxy.ask("GET", f"{cluster}/brokers/77/configs")
    assert (answer.status, answer.body["error_code"]) == (404, 404)


def test_alter_topic_configs(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """Several changes at once: all of them or none; validate_only changes nothing."""
    path = f"{cluster}/topics/{topic}/configs"

    def retention() -> str:
        value: str = proxy.get(f"{path}/retention.ms")["value"]
        return value

    before = retention()
    data: list[dict[str, str]] = [
        {"name": "retention.ms", "value": "1234"},
        {"name": "cleanup.policy", "operation": "DELETE"},
    ]
    checked = {"data": data, "validate_only": True}
    assert proxy.ask("POST", f"{path}:alter", checked)[:2] == (204, None)
    assert retention() == before
    assert proxy.ask("POST", f"{path}:alter", {"data": data})[:2] == (204, None)
    assert retention() == "1234"
    data = [{"name": "retention.ms", "value": "9"}, {"name": "segment.bytes", "value": "x"}]
    for extra in ({}, {"validate_only": True}):
        answer = proxy.ask("POST", f"{path}:alter", {"data": data, **extra})
        assert (answer.status, answer.body["error_code"]) == (400, 40002)
    assert retention() == "1234"


def test_alter_configs_of_several_topics(proxy: RunningProxy, cluster: str, topic: str) -> None:
    """One request changes settings of several topics; each change names its topic."""
    path = f"{cluster}/topics/-/configs:alter"
    change = {"topic_name": topic, "name": "retention.ms", "value": "77"}
    assert proxy.ask("POST", path, {"data": [change]})[:2] == (204, None)
    assert proxy.get(f"{cluster}/topics/{topic}/configs/retention.ms")["value"] == "77"
    answer = proxy.ask("POST", path, {"data": [{"name": "retention.ms", "value": "1"}]})
    assert (answer.status, answer.body["error_code"]) == (400, 400)


def test_broker_configs(proxy: RunningProxy, cluster: str) -> None:
    """Settings of one broker can be shown, set, reset and altered."""
    path = f"{cluster}/brokers/{BROKER}/configs"
    listed = proxy.get(path)
    assert listed["kind"] == "KafkaBrokerConfigList"
    one = proxy.get(f"{path}/log.retention.ms")
    assert (one["kind"], one["broker_id"]) == ("KafkaBrokerConfig", BROKER)
    assert one in listed["data"]
    assert proxy.ask("PUT", f"{path}/log.retention.ms", {"value": "5000"}).status == 204
    changed = proxy.get(f"{path}/log.retention.ms")
    assert (changed["value"], changed["source"]) == ("5000", "DYNAMIC_BROKER_CONFIG")
    dynamic = proxy.get(f"{cluster}/brokers/-/configs")["data"]
    assert changed in dynamic
    assert len(dynamic) < len(listed["data"])
    assert proxy.ask("DELETE", f"{path}/log.retention.ms").status == 204
    assert proxy.get(f"{path}/log.retention.ms") == one
    body = {"data": [{"name": "log.retention.ms", "value": "x"}]}
    assert proxy.ask("POST", f"{path}:alter", body).body["error_code"] == 40002


def test_cluster_configs(proxy: RunningProxy, cluster: str) -> None:
    """Settings of all brokers together: there once they are set, gone once they are reset."""
    path = f"{cluster}/broker-configs"
    cluster_id = cluster.rpartition("/")[2]
    assert proxy.get(path)["data"] == []
    assert proxy.ask("PUT", f"{path}/log.retention.ms", {"value": "6000"}).status == 204
    entry = {"name": "log.retention.ms", "value": "6000", "source": "DYNAMIC_DEFAULT_BROKER_CONFIG"}
    expected = {
        "kind": "KafkaClusterConfig",
        "metadata": {
            "self": f"{proxy.url}{path}/log.retention.ms",
            "resource_name": f"crn:///kafka={cluster_id}/broker-config=log.retention.ms",
        },
        "cluster_id": cluster_id,
        "config_type": "BROKER",
        "name": "log.retention.ms",
        "value": "6000",
        "is_default": False,
        "is_read_only": False,
        "is_sensitive": False,
        "source": "DYNAMIC_DEFAULT_BROKER_CONFIG",
        "synonyms": [entry],
    }
    found = proxy.get(f"{path}/log.retention.ms")
    assert found["synonyms"][0] == entry
    assert found | {"synonyms": [entry]} == expected
    assert proxy.get(path)["data"] == [found]
    body = {"data": [{"name": "log.retention.ms", "operation": "DELETE"}]}
    assert proxy.ask("POST", f"{path}:alter", body)[:2] == (204, None)
    assert proxy.get(path)["data"] == []
    assert proxy.ask("DELETE", f"{path}/log.retention.ms").status == 204
    assert proxy.ask("GET", f"{path}/log.retention.ms").status == 404
