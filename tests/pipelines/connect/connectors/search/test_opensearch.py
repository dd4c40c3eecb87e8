"""The same on a real OpenSearch, whose start alone takes too long for every run."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from opensearchpy import OpenSearch

from headrace.pipelines.connect.connectors.search.sink import SearchSink
from headrace.pipelines.connect.model import schema as schemas
from headrace.testing import ConnectHarness
from tests.pipelines.connect.connectors.killing import eventually, killable
from tests.pipelines.connect.worker.running import write
from tests.servers.opensearch import opensearch, url
from tests.servers.server import Server

pytestmark = [pytest.mark.thorough, pytest.mark.spec("slides:H18")]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with opensearch() as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[OpenSearch]:
    made = OpenSearch([url(server)], timeout=60)
    yield made
    made.close()


def found(client: OpenSearch, index: str) -> dict[str, tuple[int, object]]:
    client.indices.refresh(index=index)
    hits = client.search(index=index, body={"size": 1000, "version": True})["hits"]["hits"]
    return {hit["_id"]: (hit["_version"], hit["_source"]) for hit in hits}


def sink(server: Server, **settings: str) -> ConnectHarness:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    return ConnectHarness(
        SearchSink, {"connection.url": url(server), "read.timeout.ms": "60000"} | given
    )


def test_documents_with_a_mapping(server: Server, client: OpenSearch) -> None:
    schema = schemas.struct(
        {"id": schemas.INT32, "name": schemas.STRING, "price": schemas.decimal(2)}
    )
    rows = [{"id": n, "name": f"n{n}", "price": Decimal("1.50")} for n in range(3)]
    with sink(server) as harness:
        harness.put(rows, topic="Goods", schema=schema, keys=["a", "b", "a"])
    assert found(client, "goods") == {
        "a": (2, {"id": 2, "name": "n2", "price": 1.5}),
        "b": (1, {"id": 1, "name": "n1", "price": 1.5}),
    }
    mapping = client.indices.get_mapping(index="goods")["goods"]["mappings"]["properties"]
    assert mapping["id"] == {"type": "integer"}
    assert mapping["price"] == {"type": "double"}


def test_a_replay_and_deletes(server: Server, client: OpenSearch) -> None:
    with sink(server, behavior_on_null_values="delete") as harness:
        harness.put([{"n": 1}, {"n": 2}, None, None], topic="r", keys=["a", "b", "b", "none"])
        harness.restart()
        harness.put([{"n": 1}, {"n": 2}, None, None], topic="r", keys=["a", "b", "b", "none"])
    assert harness.refused == {}
    assert {name: value for name, (_, value) in found(client, "r").items()} == {"a": {"n": 1}}


def test_a_replay_of_offsets_as_ids(server: Server, client: OpenSearch) -> None:
    with sink(server, key_ignore="true") as harness:
        for _ in range(2):
            harness.put([{"n": 1}, {"n": 2}], topic="o")
            harness.restart()
    assert harness.refused == {}
    assert found(client, "o") == {"o+0+0": (1, {"n": 1}), "o+0+1": (2, {"n": 2})}


def test_a_key_of_two_topics(server: Server, client: OpenSearch) -> None:
    more = {"topic_index_map": "a:all,b:all", "behavior_on_null_values": "delete"}
    with sink(server, **more) as harness:
        harness.put([{"n": n} for n in range(3)], topic="a", keys=["x", "gone", "k"])
        harness.put([{"n": 9}, None], topic="b", keys=["k", "gone"])
    assert found(client, "all") == {"x": (1, {"n": 0}), "k": (2, {"n": 9})}


def test_what_the_index_does_not_take(server: Server, client: OpenSearch) -> None:
    with sink(server) as harness:
        harness.put([{"n": 1}, {"n": {"x": 1}}, {"n": 3}], topic="m", keys=["a", "b", "c"])
    assert list(harness.refused) == [1]
    assert "mapper_parsing_exception" in harness.refused[1]
    assert found(client, "m").keys() == {"a", "c"}


def test_upserts(server: Server, client: OpenSearch) -> None:
    with sink(server, write_method="upsert") as harness:
        harness.put([{"a": 1}, {"b": 2}], topic="u", keys=["k", "k"])
    assert found(client, "u") == {"k": (2, {"a": 1, "b": 2})}


def test_killed_and_started_again(
    server: Server, client: OpenSearch, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    write(bootstrap, topic, *(b'{"n":%d}' % number for number in range(200)))
    settings = {
        "topics": topic,
        "connection.url": url(server),
        "read.timeout.ms": "60000",
        "key.ignore": "true",
        "batch.size": "1",
        "consumer.override.auto.offset.reset": "earliest",
    }
    with killable(bootstrap, tmp_path, "OpenSearchSink", settings) as kill:
        eventually(lambda: bool(client.indices.exists(index=topic)))
        kill()
    with killable(bootstrap, tmp_path, "OpenSearchSink", settings):
        eventually(lambda: len(found(client, topic)) == 200)
    for name, (version, _) in found(client, topic).items():
        assert version == 1 + int(name.rpartition("+")[2])
