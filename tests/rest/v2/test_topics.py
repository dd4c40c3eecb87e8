"""GET /topics, /topics/{t}, partitions, offsets and /brokers of version 2."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.rest.service import V2, Service, embedded, error_of

NO_TOPIC = (404, 40401, "Topic not found.")
NO_PARTITION = (404, 40402, "Partition not found.")


@pytest.mark.spec("book2:F-03")
def test_topics_are_listed_by_name(proxy: Service, new_topic: Callable[..., str]) -> None:
    """GET /topics is an array of names, in order, those of the registry and of groups included."""
    names = {new_topic(), new_topic()}
    reply = proxy.get("/topics")
    assert reply.status == 200
    assert reply.headers["content-type"] == V2
    assert names <= set(reply.json)
    assert reply.json == sorted(reply.json)
    assert "_schemas" in reply.json


@pytest.mark.spec("book2:F-03")
def test_a_topic_has_settings_and_partitions(proxy: Service, new_topic: Callable[..., str]) -> None:
    """GET /topics/{t}: name, configs, and partitions with leader and replicas."""
    name = new_topic(partitions=2, config={"retention.ms": "12345"})
    body = proxy.get(f"/topics/{name}").json
    assert list(body) == ["name", "configs", "partitions"]
    assert body["name"] == name
    assert body["configs"]["retention.ms"] == "12345"
    (broker,) = proxy.get("/brokers").json["brokers"]
    replica = {"broker": broker, "leader": True, "in_sync": True}
    assert body["partitions"] == [
        {"partition": number, "leader": broker, "replicas": [replica]} for number in range(2)
    ]


def test_partitions_are_listed_and_shown(proxy: Service, new_topic: Callable[..., str]) -> None:
    """GET …/partitions and …/partitions/{p} agree with the topic."""
    name = new_topic(partitions=3)
    all_of_them = proxy.get(f"/topics/{name}/partitions").json
    assert all_of_them == proxy.get(f"/topics/{name}").json["partitions"]
    assert proxy.get(f"/topics/{name}/partitions/2").json == all_of_them[2]


def test_offsets_have_both_ends(proxy: Service, topic: str) -> None:
    """GET …/partitions/{p}/offsets: where the log begins and where it will go on."""
    records = [{"value": "QQ=="}, {"value": "Qg=="}]
    proxy.post(f"/topics/{topic}", {"records": records}, content_type=embedded("binary"))
    reply = proxy.get(f"/topics/{topic}/partitions/0/offsets")
    assert reply.json == {"beginning_offset": 0, "end_offset": 2}


@pytest.mark.parametrize(
    "path", ["", "/partitions", "/partitions/0", "/partitions/0/offsets"], ids=str
)
def test_40401_for_a_topic_that_is_not_there(proxy: Service, path: str) -> None:
    """Whatever is asked about a topic that does not exist, and asking does not create it."""
    assert error_of(proxy.get(f"/topics/no-such-topic{path}")) == NO_TOPIC
    assert "no-such-topic" not in proxy.get("/topics").json


@pytest.mark.parametrize("name", ["a" * 300, "sp%20ace", "%00", "%C3%A9", ".."], ids=str)
def test_40401_for_a_name_that_no_topic_can_have(proxy: Service, name: str) -> None:
    """Names that Kafka does not take are not found either."""
    assert error_of(proxy.get(f"/topics/{name}")) == NO_TOPIC


@pytest.mark.parametrize("partition", ["1", "-1", "x", "99999999999", "%D9%A3"])
@pytest.mark.parametrize("path", ["", "/offsets"])
def test_40402_for_a_partition_that_is_not_there(
    proxy: Service, topic: str, partition: str, path: str
) -> None:
    """A number too high, and what is no number at all."""
    assert error_of(proxy.get(f"/topics/{topic}/partitions/{partition}{path}")) == NO_PARTITION


@pytest.mark.parametrize("slashes", ["/", "//"])
def test_a_slash_at_the_end_changes_nothing(proxy: Service, topic: str, slashes: str) -> None:
    """In any version and with any method, as in the JVM's proxy."""
    for path in ("/topics", f"/topics/{topic}", f"/topics/{topic}/partitions", "/brokers"):
        assert proxy.get(path + slashes).json == proxy.get(path).json
    clusters = proxy.get(f"/v3/clusters{slashes}").json
    cluster_id = clusters["data"][0]["cluster_id"]
    assert proxy.get(f"/v3/clusters/{cluster_id}/topics{slashes}").status == 200
    body = {"records": [{"value": 1}]}
    sent = proxy.post(f"/topics/{topic}{slashes}", body, content_type=embedded("json"))
    assert sent.status == 200
    created = proxy.post(f"/consumers/{topic}{slashes}", {"name": "one"})
    assert created.status == 200
    base = f"/consumers/{topic}/instances/one"
    assert created.json["base_uri"] == proxy.url + base
    assert proxy.get(f"{base}/subscription{slashes}?x=1").json == {"topics": []}
    assert proxy.delete(base + slashes).status == 204
    assert error_of(proxy.get(f"/topics/nowhere{slashes}")) == NO_TOPIC
    assert proxy.get(f"/nowhere{slashes}").status == 404


def test_406_for_an_answer_that_nobody_makes(proxy: Service) -> None:
    """Accept that excludes every type of the proxy."""
    for accept in ("text/html", "application/vnd.kafka.v2+json;q=0", "application/xml, image/*"):
        assert error_of(proxy.get("/topics", accept=accept)) == (
            406,
            406,
            "HTTP 406 Not Acceptable",
        )


@pytest.mark.parametrize(
    ("accept", "answered"),
    [
        ("*/*", V2),
        ("*/anything", V2),
        (None, V2),
        ("application/json", "application/json"),
        ("application/json;q=0.5, application/vnd.kafka.v2+json", V2),
        ("application/vnd.kafka.v1+json", "application/vnd.kafka.v1+json"),
        ("text/html, application/*;q=0.1", V2),
    ],
)
def test_the_answer_has_the_type_that_was_asked_for(
    proxy: Service, accept: str | None, answered: str
) -> None:
    """Accept chooses among the types of the proxy, by weight."""
    reply = proxy.get("/brokers", accept=accept)
    assert reply.status == 200
    assert reply.headers["content-type"] == answered


def test_404_and_405_where_there_is_no_route(proxy: Service) -> None:
    """Unknown paths and methods have the body that all errors have."""
    assert error_of(proxy.get("/nowhere")) == (404, 404, "HTTP 404 Not Found")
    reply = proxy.request("PATCH", "/topics")
    assert error_of(reply) == (405, 405, "HTTP 405 Method Not Allowed")


def test_the_root_says_that_the_proxy_is_there(proxy: Service) -> None:
    """GET / is an empty object."""
    assert (proxy.get("/").status, proxy.get("/").json) == (200, {})
