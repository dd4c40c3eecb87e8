"""Consumer instances of version 2: creation, subscriptions, assignments, records, deletion."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.rest.service import V2, Service, embedded, error_of

JSON = embedded("json")
NOT_FOUND = (404, 40403, "Consumer instance not found.")


def create(proxy: Service, group: str, **options: object) -> str:
    """The path of a new instance that reads JSON from the beginning."""
    body = {"name": "one", "format": "json", "auto.offset.reset": "earliest", **options}
    reply = proxy.post(f"/consumers/{group}", body)
    assert reply.status == 200, reply
    return f"/consumers/{group}/instances/{reply.json['instance_id']}"


def send(proxy: Service, topic: str, *values: object, partition: int = 0) -> None:
    records = [{"value": value, "partition": partition} for value in values]
    reply = proxy.post(f"/topics/{topic}", {"records": records}, content_type=JSON)
    assert all(each["error_code"] is None for each in reply.json["offsets"]), reply


def read(proxy: Service, base: str, count: int, query: str = "") -> list[dict[str, Any]]:
    """So many records, in as many reads as it takes."""
    found: list[dict[str, Any]] = []
    deadline = time.monotonic() + 30
    while len(found) < count:
        assert time.monotonic() < deadline, found
        reply = proxy.get(f"{base}/records{query}", accept=JSON)
        assert reply.status == 200, reply
        found += reply.json
    return found


def partitions(topic: str, *numbers: int) -> dict[str, Any]:
    return {"partitions": [{"topic": topic, "partition": number} for number in numbers]}


# -- creation and deletion -------------------------------------------------------------------------


def test_a_new_instance_says_where_it_is(proxy: Service, fresh_name: str) -> None:
    """instance_id is the name that was given, base_uri leads to it."""
    reply = proxy.post(f"/consumers/{fresh_name}", {"name": "my consumer"})
    assert reply.headers["content-type"] == V2
    assert reply.json == {
        "instance_id": "my consumer",
        "base_uri": f"{proxy.url}/consumers/{fresh_name}/instances/my%20consumer",
    }
    path = reply.json["base_uri"].removeprefix(proxy.url)
    assert proxy.get(f"{path}/subscription").json == {"topics": []}
    assert proxy.delete(path).status == 204


def test_a_name_is_made_up_where_none_is_given(proxy: Service, fresh_name: str) -> None:
    """Without a body everything has its default: binary, the end of the log."""
    first, second = (proxy.post(f"/consumers/{fresh_name}").json for _ in range(2))
    assert first["instance_id"].startswith("rest-consumer-")
    assert first["instance_id"] != second["instance_id"]
    for each in (first, second):
        assert proxy.delete(each["base_uri"].removeprefix(proxy.url)).status == 204


def test_40902_for_a_name_that_is_taken(proxy: Service, fresh_name: str) -> None:
    """One instance per name and group; another group may use the name."""
    base = create(proxy, fresh_name)
    assert error_of(proxy.post(f"/consumers/{fresh_name}", {"name": "one"})) == (
        409,
        40902,
        "Consumer with specified consumer ID already exists in the specified consumer group.",
    )
    other = create(proxy, f"{fresh_name}-2")
    for each in (base, other):
        assert proxy.delete(each).status == 204
    proxy.delete(create(proxy, fresh_name))


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", ""),
        ("POST", "/subscription"),
        ("GET", "/subscription"),
        ("DELETE", "/subscription"),
        ("POST", "/assignments"),
        ("GET", "/assignments"),
        ("GET", "/records"),
        ("POST", "/offsets"),
        ("GET", "/offsets"),
        ("POST", "/positions"),
        ("POST", "/positions/beginning"),
        ("POST", "/positions/end"),
    ],
)
def test_40403_for_an_instance_that_is_not_there(
    proxy: Service, fresh_name: str, method: str, path: str
) -> None:
    """Every resource of an instance, before it is created and after it is deleted."""
    base = f"/consumers/{fresh_name}/instances/one"
    assert error_of(proxy.request(method, base + path, {})) == NOT_FOUND
    proxy.delete(create(proxy, fresh_name))
    assert error_of(proxy.request(method, base + path, {})) == NOT_FOUND


@pytest.mark.parametrize(
    "options",
    [
        {"format": "xml"},
        {"auto.offset.reset": "sometimes"},
        {"auto.commit.enable": "perhaps"},
        {"fetch.min.bytes": "many"},
        {"fetch.min.bytes": -2},
        {"consumer.request.timeout.ms": 0},
        {"consumer.request.timeout.ms": "soon"},
        {"name": ""},
        {"name": "a/b"},
        {"name": "x" * 256},
    ],
    ids=str,
)
def test_42204_for_options_that_are_wrong(
    proxy: Service, fresh_name: str, options: dict[str, object]
) -> None:
    """The option is named; no instance is left behind."""
    status, code, message = error_of(proxy.post(f"/consumers/{fresh_name}", options))
    assert (status, code) == (422, 42204)
    assert message.startswith("Invalid consumer configuration: ")


@pytest.mark.parametrize("group", ["%20", "%20g", "g%09", "%00", "%00g", "x" * 256])
def test_42204_for_groups_that_no_client_can_join(proxy: Service, group: str) -> None:
    """librdkafka would end the whole process over a name that is empty to it."""
    status, code, _ = error_of(proxy.post(f"/consumers/{group}", {}))
    assert (status, code) == (422, 42204)
    assert proxy.get("/").status == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 400), (b"[]", 400), (b'{"nmae":"x"}', 422), (b'{"name":5}', 400)],
)
def test_wrong_bodies_of_a_creation(
    proxy: Service, fresh_name: str, body: bytes, status: int
) -> None:
    """400 for what is no JSON or of another type, 422 for fields that are not known."""
    assert error_of(proxy.post(f"/consumers/{fresh_name}", body))[:2] == (status, status)


def test_415_for_foreign_types_at_every_resource(proxy: Service, fresh_name: str) -> None:
    """A body that says it is something else is not looked into."""
    base = create(proxy, fresh_name)
    for path in (
        f"/consumers/{fresh_name}",
        f"{base}/subscription",
        f"{base}/assignments",
        f"{base}/offsets",
        f"{base}/positions",
        f"{base}/positions/beginning",
    ):
        reply = proxy.post(path, {}, content_type="application/json")
        assert error_of(reply) == (415, 415, "HTTP 415 Unsupported Media Type")
    proxy.delete(base)


def test_deletion_leaves_the_group_at_once(
    proxy: Service, new_topic: Callable[..., str], fresh_name: str
) -> None:
    """The next instance of the group has all partitions without waiting for a session to end."""
    name = new_topic(partitions=2)
    send(proxy, name, 1)
    send(proxy, name, 2, partition=1)
    first = create(proxy, fresh_name, name="first")
    proxy.post(f"{first}/subscription", {"topics": [name]})
    read(proxy, first, 2)
    assert proxy.delete(first).status == 204
    second = create(proxy, fresh_name, name="second")
    proxy.post(f"{second}/subscription", {"topics": [name]})
    send(proxy, name, 3)
    assert [record["value"] for record in read(proxy, second, 1)] == [3]
    assert proxy.get(f"{second}/assignments").json == partitions(name, 0, 1)
    proxy.delete(second)


# -- subscriptions and assignments -----------------------------------------------------------------


@pytest.mark.spec("slides:J02", "book2:F-02")
def test_a_subscription_reads_records(proxy: Service, topic: str, fresh_name: str) -> None:
    """Exactly Confluent's fields, in its order; each record once."""
    send(proxy, topic, {"a": [1, None]}, "two")
    base = create(proxy, fresh_name)
    assert proxy.post(f"{base}/subscription", {"topics": [topic]}).status == 204
    assert proxy.get(f"{base}/subscription").json == {"topics": [topic]}
    records = read(proxy, base, 2)
    assert [list(record) for record in records] == [
        ["topic", "key", "value", "partition", "offset"]
    ] * 2
    assert records == [
        {"topic": topic, "key": None, "value": {"a": [1, None]}, "partition": 0, "offset": 0},
        {"topic": topic, "key": None, "value": "two", "partition": 0, "offset": 1},
    ]
    reply = proxy.get(f"{base}/records?timeout=50", accept=JSON)
    assert (reply.status, reply.json) == (200, [])
    assert reply.headers["content-type"] == JSON
    proxy.delete(base)


def test_a_pattern_subscribes_to_names_that_match_whole(
    proxy: Service, new_topic: Callable[..., str], fresh_name: str
) -> None:
    """As in Java the whole name must match."""
    name, other = new_topic(), new_topic()
    send(proxy, name, 1)
    send(proxy, other, 2)
    base = create(proxy, fresh_name)
    pattern = {"topic_pattern": name[:-1] + "[0-9a-f]"}
    assert proxy.post(f"{base}/subscription", pattern).status == 204
    assert [record["topic"] for record in read(proxy, base, 1)] == [name]
    assert proxy.get(f"{base}/subscription").json == {"topics": [name]}
    proxy.delete(base)


def test_40903_where_ways_of_reading_are_mixed(proxy: Service, topic: str, fresh_name: str) -> None:
    """Topics, pattern and partitions exclude each other until DELETE …/subscription."""
    ways = {
        "subscription": {"topics": [topic]},
        "assignments": partitions(topic, 0),
    }
    base = create(proxy, fresh_name)
    for path, other in (("subscription", "assignments"), ("assignments", "subscription")):
        assert proxy.post(f"{base}/{path}", ways[path]).status == 204
        assert proxy.post(f"{base}/{path}", ways[path]).status == 204
        assert error_of(proxy.post(f"{base}/{other}", ways[other])) == (
            409,
            40903,
            "Illegal state: Subscription to topics, partitions and pattern are mutually exclusive",
        )
        pattern = proxy.post(f"{base}/subscription", {"topic_pattern": "x.*"})
        assert error_of(pattern)[:2] == (409, 40903)
        assert proxy.delete(f"{base}/subscription").status == 204
        assert proxy.get(f"{base}/subscription").json == {"topics": []}
    proxy.delete(base)


def test_40903_for_a_read_before_any_subscription(proxy: Service, fresh_name: str) -> None:
    """There is nothing to read from."""
    base = create(proxy, fresh_name)
    status, code, message = error_of(proxy.get(f"{base}/records", accept=JSON))
    assert (status, code) == (409, 40903)
    assert "not subscribed" in message
    proxy.delete(base)


def test_assigned_partitions_are_read_alone(
    proxy: Service, new_topic: Callable[..., str], fresh_name: str
) -> None:
    """POST and GET …/assignments; no other partition is read."""
    name = new_topic(partitions=3)
    for number in range(3):
        send(proxy, name, number, partition=number)
    base = create(proxy, fresh_name)
    assert proxy.post(f"{base}/assignments", partitions(name, 0, 2)).status == 204
    assert proxy.get(f"{base}/assignments").json == partitions(name, 0, 2)
    assert sorted(record["value"] for record in read(proxy, base, 2)) == [0, 2]
    assert proxy.get(f"{base}/records?timeout=100", accept=JSON).json == []
    proxy.delete(base)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("subscription", {}),
        ("subscription", {"topics": ["a"], "topic_pattern": "b"}),
        ("subscription", {"topics": ["a\u0000b"]}),
        ("subscription", {"topics": [""]}),
        ("subscription", {"topic_pattern": "("}),
        ("subscription", {"topic_pattern": "\u0000"}),
        ("assignments", {}),
        ("assignments", {"partitions": [{"topic": "a", "partition": -1}]}),
        ("assignments", {"partitions": [{"topic": "a\u0000", "partition": 0}]}),
        ("assignments", {"partitions": [{"topic": "a"}]}),
        ("assignments", {"partitions": [{"topic": "a", "partition": 0, "offset": 5}]}),
    ],
    ids=str,
)
def test_422_for_subscriptions_and_assignments_that_say_nothing(
    proxy: Service, fresh_name: str, path: str, body: dict[str, object]
) -> None:
    """Fields that are missing and names that Kafka does not take; the instance stays as it was."""
    base = create(proxy, fresh_name)
    assert error_of(proxy.post(f"{base}/{path}", body))[:2] == (422, 422)
    assert proxy.delete(base).status == 204


def test_400_for_other_types_and_strings_for_numbers(
    proxy: Service, topic: str, fresh_name: str
) -> None:
    """A list must be one; a number may be written as a string, as the JVM's proxy takes it."""
    base = create(proxy, fresh_name)
    for path, body in (
        ("subscription", {"topics": "a"}),
        ("assignments", {"partitions": "a"}),
        ("assignments", {"partitions": [{"topic": topic, "partition": "zero"}]}),
        ("offsets", {"offsets": 5}),
    ):
        assert error_of(proxy.post(f"{base}/{path}", body))[:2] == (400, 400)
    place = {"topic": topic, "partition": "0"}
    assert proxy.post(f"{base}/assignments", {"partitions": [place]}).status == 204
    assert proxy.get(f"{base}/assignments").json == partitions(topic, 0)
    commit = {"offsets": [{**place, "offset": "6"}]}
    assert proxy.post(f"{base}/offsets", commit).status == 200
    committed = proxy.request("GET", f"{base}/offsets", partitions(topic, 0)).json
    assert [each["offset"] for each in committed["offsets"]] == [7]
    assert proxy.delete(base).status == 204


# -- records ---------------------------------------------------------------------------------------


def test_headers_and_timestamps_only_for_those_who_ask(
    proxy: Service, topic: str, fresh_name: str
) -> None:
    """headers=true adds both; without it version 2 clients see what they always saw."""
    headers = [{"name": "h", "value": "AP8="}, {"name": "none", "value": None}]
    record = {"value": 1, "headers": headers, "timestamp": 1700000000123}
    body = {"records": [record, {"value": 2}]}
    proxy.post(f"/topics/{topic}", body, content_type=JSON)
    base = create(proxy, fresh_name)
    proxy.post(f"{base}/assignments", partitions(topic, 0))
    first, second = read(proxy, base, 2, "?headers=true")
    assert list(first) == [
        "topic",
        "key",
        "value",
        "partition",
        "offset",
        "headers",
        "timestamp",
    ]
    assert (first["headers"], first["timestamp"]) == (headers, 1700000000123)
    assert second["headers"] == []
    assert abs(second["timestamp"] - time.time() * 1000) < 60_000
    proxy.delete(base)


def test_max_bytes_bounds_an_answer_and_loses_nothing(
    proxy: Service, topic: str, fresh_name: str
) -> None:
    """What does not fit comes with the next read; one record comes even if it is too large."""
    send(proxy, topic, *("x" * 98 for _ in range(10)), "y" * 500)
    base = create(proxy, fresh_name)
    proxy.post(f"{base}/assignments", partitions(topic, 0))
    sizes: list[int] = []
    while sum(sizes) < 11:
        found = proxy.get(f"{base}/records?max_bytes=300", accept=JSON).json
        sizes.append(len(found))
    assert [size for size in sizes if size] == [3, 3, 3, 1, 1]
    proxy.delete(base)


def test_a_read_waits_no_longer_than_it_was_told(
    proxy: Service, topic: str, fresh_name: str
) -> None:
    """timeout shortens the instance's own consumer.request.timeout.ms and never lengthens it."""
    base = create(proxy, fresh_name, **{"consumer.request.timeout.ms": 400})
    proxy.post(f"{base}/assignments", partitions(topic, 0))
    for query, expected in (("?timeout=100", 0.1), ("", 0.4), ("?timeout=60000", 0.4)):
        began = time.monotonic()
        assert proxy.get(f"{base}/records{query}", accept=JSON).json == []
        assert expected - 0.05 < time.monotonic() - began < expected + 10
    proxy.delete(base)


def test_a_read_gathers_fetch_min_bytes(proxy: Service, topic: str, fresh_name: str) -> None:
    """With fetch.min.bytes a read waits for so much, or its time."""
    send(proxy, topic, "x" * 50)
    options = {"fetch.min.bytes": "100000", "consumer.request.timeout.ms": "700"}
    base = create(proxy, fresh_name, **options)
    proxy.post(f"{base}/assignments", partitions(topic, 0))
    began = time.monotonic()
    assert len(proxy.get(f"{base}/records", accept=JSON).json) == 1
    assert time.monotonic() - began > 0.6
    proxy.delete(base)


def test_40601_for_another_format_than_the_instances(proxy: Service, fresh_name: str) -> None:
    """Accept must name the format of the instance; the plain type of version 2 means binary."""
    base = create(proxy, fresh_name)
    for accept in (embedded("binary"), embedded("avro"), V2):
        assert error_of(proxy.get(f"{base}/records", accept=accept)) == (
            406,
            40601,
            "The requested embedded data format does not match the deserializer for this consumer "
            "instance",
        )
    assert error_of(proxy.get(f"{base}/records", accept="text/html"))[:2] == (406, 406)
    proxy.delete(base)


def test_42207_for_a_record_that_is_no_json(proxy: Service, topic: str, fresh_name: str) -> None:
    """A JSON instance meets bytes that are none: the error names the place."""
    body = {"records": [{"value": "/w=="}]}
    proxy.post(f"/topics/{topic}", body, content_type=embedded("binary"))
    base = create(proxy, fresh_name, **{"consumer.request.timeout.ms": 10_000})
    proxy.post(f"{base}/assignments", partitions(topic, 0))
    status, code, message = error_of(proxy.get(f"{base}/records", accept=JSON))
    assert (status, code) == (422, 42207)
    assert f"{topic}-0 at offset 0" in message
    proxy.delete(base)


@pytest.mark.parametrize("query", ["timeout=x", "max_bytes=1e9", "timeout=" + "9" * 30])
def test_404_for_numbers_in_the_query_that_are_none(
    proxy: Service, fresh_name: str, query: str
) -> None:
    """A parameter that cannot be read is not found, as JAX-RS has it."""
    base = create(proxy, fresh_name)
    assert error_of(proxy.get(f"{base}/records?{query}", accept=JSON))[:2] == (404, 404)
    proxy.delete(base)


def test_40903_where_no_offset_is_known_and_none_may_be_chosen(
    proxy: Service, topic: str, fresh_name: str
) -> None:
    """auto.offset.reset=none and a group that has committed nothing; a seek mends it."""
    send(proxy, topic, 1)
    options = {"auto.offset.reset": "none", "consumer.request.timeout.ms": 10_000}
    base = create(proxy, fresh_name, **options)
    proxy.post(f"{base}/assignments", partitions(topic, 0))
    assert error_of(proxy.get(f"{base}/records", accept=JSON))[:2] == (409, 40903)
    assert proxy.post(f"{base}/positions/beginning", partitions(topic, 0)).status == 204
    assert [record["value"] for record in read(proxy, base, 1)] == [1]
    proxy.delete(base)


def test_base_uri_is_where_the_client_called(proxy: Service, fresh_name: str) -> None:
    """Under any name of the proxy, with the port that the client used."""
    headers = {"Host": "localhost:18082"}
    reply = proxy.post(f"/consumers/{fresh_name}", {"name": "one"}, headers=headers)
    base = f"/consumers/{fresh_name}/instances/one"
    assert reply.json["base_uri"] == f"http://localhost:18082{base}"
    assert proxy.delete(base).status == 204


def test_members_of_a_group_share_partitions(
    proxy: Service, new_topic: Callable[..., str], fresh_name: str
) -> None:
    """Two instances: each partition has one reader, and no record comes twice."""
    name = new_topic(partitions=2)
    bases = [create(proxy, fresh_name, name=each) for each in ("first", "second")]
    for base in bases:
        proxy.post(f"{base}/subscription", {"topics": [name]})
    deadline = time.monotonic() + 30
    while True:
        assert time.monotonic() < deadline
        for base in bases:
            proxy.get(f"{base}/records?timeout=100", accept=JSON)
        shares = [proxy.get(f"{base}/assignments").json["partitions"] for base in bases]
        if [len(share) for share in shares] == [1, 1]:
            break
    send(proxy, name, 0)
    send(proxy, name, 1, partition=1)
    values = [read(proxy, base, 1)[0]["partition"] for base in bases]
    assert sorted(values) == [0, 1]
    for base in bases:
        proxy.delete(base)
