"""Offsets of consumer instances: commits, committed offsets, seeks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.rest.service import Service, embedded, error_of
from tests.rest.v2.test_consumers import create, partitions, read, send

JSON = embedded("json")


def committed(proxy: Service, base: str, topic: str) -> list[tuple[int, str]]:
    reply = proxy.request("GET", f"{base}/offsets", partitions(topic, 0))
    assert reply.status == 200, reply
    return [(each["offset"], each["metadata"]) for each in reply.json["offsets"]]


@pytest.fixture
def base(proxy: Service, topic: str, fresh_name: str) -> str:
    """An instance that is assigned a partition with five records and commits by hand."""
    send(proxy, topic, 0, 1, 2, 3, 4)
    path = create(proxy, fresh_name, **{"auto.commit.enable": "false"})
    assert proxy.post(f"{path}/assignments", partitions(topic, 0)).status == 204
    return path


def test_an_empty_commit_is_for_all_that_was_read(proxy: Service, topic: str, base: str) -> None:
    """And for nothing that waits to be read: the group goes on after the last answer."""
    assert proxy.post(f"{base}/offsets").status == 200
    assert committed(proxy, base, topic) == []
    found = read(proxy, base, 1, "?max_bytes=1")
    reply = proxy.post(f"{base}/offsets")
    assert (reply.status, reply.json) == (200, [])
    assert committed(proxy, base, topic) == [(found[-1]["offset"] + 1, "")]
    proxy.delete(base)


def test_a_commit_of_offsets_names_the_last_record_done(
    proxy: Service, topic: str, base: str
) -> None:
    """Offset n means that n is done: n + 1 is committed, as Confluent's does; metadata is kept."""
    offset = {"topic": topic, "partition": 0, "offset": 2}
    assert proxy.post(f"{base}/offsets", {"offsets": [offset]}).status == 200
    assert committed(proxy, base, topic) == [(3, "")]
    offset |= {"offset": 3, "metadata": "half way"}
    assert proxy.post(f"{base}/offsets?async=true", {"offsets": [offset]}).status == 200
    assert proxy.post(f"{base}/offsets", {"offsets": [offset]}).status == 200
    assert committed(proxy, base, topic) == [(4, "half way")]
    proxy.delete(base)


def test_a_group_goes_on_where_it_committed(
    proxy: Service, topic: str, base: str, fresh_name: str
) -> None:
    """Another instance of the group begins after the commit."""
    offset = {"topic": topic, "partition": 0, "offset": 1}
    proxy.post(f"{base}/offsets", {"offsets": [offset]})
    proxy.delete(base)
    other = create(proxy, fresh_name, name="other")
    proxy.post(f"{other}/subscription", {"topics": [topic]})
    assert [record["value"] for record in read(proxy, other, 3)] == [2, 3, 4]
    proxy.delete(other)


def test_with_automatic_commits_deletion_commits_what_was_read(
    proxy: Service, topic: str, fresh_name: str
) -> None:
    """auto.commit.enable is on unless a client says otherwise."""
    send(proxy, topic, 0, 1, 2)
    first = create(proxy, fresh_name, name="first")
    proxy.post(f"{first}/subscription", {"topics": [topic]})
    assert len(read(proxy, first, 1, "?max_bytes=1")) == 1
    proxy.delete(first)
    second = create(proxy, fresh_name, name="second")
    proxy.post(f"{second}/subscription", {"topics": [topic]})
    assert [record["value"] for record in read(proxy, second, 2)] == [1, 2]
    proxy.delete(second)


def test_40402_for_committed_offsets_of_nothing(proxy: Service, base: str) -> None:
    """GET …/offsets without a body."""
    assert error_of(proxy.get(f"{base}/offsets")) == (404, 40402, "Partition not found.")
    proxy.delete(base)


def test_seeks_go_to_offsets(proxy: Service, topic: str, base: str) -> None:
    """POST …/positions; what was fetched before is dropped."""
    read(proxy, base, 1, "?max_bytes=1")
    for offset in (3, 0, 4):
        place = {"topic": topic, "partition": 0, "offset": offset}
        assert proxy.post(f"{base}/positions", {"offsets": [place]}).status == 204
        assert read(proxy, base, 1, "?max_bytes=1")[0]["offset"] == offset
    proxy.delete(base)


def test_a_seek_at_once_leaves_other_partitions_alone(
    proxy: Service, new_topic: Callable[..., str], fresh_name: str
) -> None:
    """Before anything is fetched, and after; the other partition goes on where it was."""
    name = new_topic(partitions=2)
    for number in range(2):
        send(proxy, name, 0, 1, 2, partition=number)
    base = create(proxy, fresh_name)
    proxy.post(f"{base}/assignments", partitions(name, 0, 1))
    place = {"topic": name, "partition": 0, "offset": 2}
    assert proxy.post(f"{base}/positions", {"offsets": [place]}).status == 204
    found = [(each["partition"], each["offset"]) for each in read(proxy, base, 4)]
    assert sorted(found) == [(0, 2), (1, 0), (1, 1), (1, 2)]
    assert proxy.post(f"{base}/positions", {"offsets": [{**place, "offset": 1}]}).status == 204
    found = [(each["partition"], each["offset"]) for each in read(proxy, base, 2)]
    assert found == [(0, 1), (0, 2)]
    proxy.delete(base)


def test_seeks_go_to_times(proxy: Service, topic: str, fresh_name: str) -> None:
    """The first record at or after a time, in milliseconds or ISO 8601; past the last: the end."""
    records = [{"value": step, "timestamp": 1700000000000 + step * 1000} for step in range(4)]
    proxy.post(f"/topics/{topic}", {"records": records}, content_type=JSON)
    base = create(proxy, fresh_name)
    proxy.post(f"{base}/assignments", partitions(topic, 0))
    times: list[tuple[int | str, list[int]]] = [
        (1700000000500, [1, 2, 3]),
        ("2023-11-14T22:13:22Z", [2, 3]),
    ]
    for timestamp, expected in times:
        asked = {"timestamps": [{"topic": topic, "partition": 0, "timestamp": timestamp}]}
        assert proxy.post(f"{base}/positions", asked).status == 204
        found = read(proxy, base, len(expected))
        assert [record["value"] for record in found] == expected
    asked = {"timestamps": [{"topic": topic, "partition": 0, "timestamp": 1900000000000}]}
    assert proxy.post(f"{base}/positions", asked).status == 204
    assert proxy.get(f"{base}/records?timeout=200", accept=JSON).json == []
    proxy.delete(base)


def test_seeks_go_to_both_ends(proxy: Service, topic: str, base: str) -> None:
    """POST …/positions/beginning and …/positions/end."""
    assert proxy.post(f"{base}/positions/end", partitions(topic, 0)).status == 204
    assert proxy.get(f"{base}/records?timeout=300", accept=JSON).json == []
    assert proxy.post(f"{base}/positions/beginning", partitions(topic, 0)).status == 204
    assert [record["value"] for record in read(proxy, base, 5)] == [0, 1, 2, 3, 4]
    proxy.delete(base)


@pytest.mark.parametrize("path", ["positions", "positions/beginning", "positions/end"])
def test_40903_for_a_partition_that_is_not_assigned(
    proxy: Service, topic: str, base: str, path: str
) -> None:
    """As Java's consumer says it."""
    offset = {"topic": topic, "partition": 5, "offset": 0}
    body = {"offsets": [offset]} if path == "positions" else partitions(topic, 5)
    assert error_of(proxy.post(f"{base}/{path}", body)) == (
        409,
        40903,
        f"Illegal state: No current assignment for partition {topic}-5",
    )
    proxy.delete(base)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("offsets", {"offsets": [{"topic": "t", "partition": 0}]}),
        ("offsets", {"offsets": [{"topic": "t", "partition": 0, "offset": -1}]}),
        ("offsets", {"offsets": [{"topic": "t", "partition": 0, "offset": (1 << 63) - 1}]}),
        ("offsets", {"offsets": [{"topic": "t\u0000", "partition": 0, "offset": 1}]}),
        (
            "offsets",
            {"offsets": [{"topic": "t", "partition": 0, "offset": 1, "metadata": "\u0000"}]},
        ),
        ("positions", {"offsets": [{"topic": "t", "partition": -1, "offset": 1}]}),
        ("positions", {"timestamps": [{"topic": "t", "partition": 0, "timestamp": "today"}]}),
        ("positions", {"offests": []}),
        ("positions/end", {}),
    ],
    ids=str,
)
def test_422_for_offsets_that_are_none(
    proxy: Service, fresh_name: str, path: str, body: dict[str, object]
) -> None:
    """Fields that are missing and numbers that no log has."""
    base = create(proxy, fresh_name)
    assert error_of(proxy.post(f"{base}/{path}", body))[:2] == (422, 422)
    proxy.delete(base)


def test_partitions_are_committed_apart(
    proxy: Service, new_topic: Callable[..., str], fresh_name: str
) -> None:
    """One commit for several partitions, one answer about them; no offset: left out."""
    name = new_topic(partitions=3)
    base = create(proxy, fresh_name)
    proxy.post(f"{base}/assignments", partitions(name, 0, 1, 2))
    offsets = [{"topic": name, "partition": each, "offset": each} for each in (0, 2)]
    assert proxy.post(f"{base}/offsets", {"offsets": offsets}).status == 200
    reply = proxy.request("GET", f"{base}/offsets", partitions(name, 0, 1, 2))
    assert [(each["partition"], each["offset"]) for each in reply.json["offsets"]] == [
        (0, 1),
        (2, 3),
    ]
    proxy.delete(base)
