"""Records as documents: ids, versions, deletes, and what a cluster does not take."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.pipelines.connect.connectors.search.mapping import mapping_of
from headrace.pipelines.connect.connectors.search.sink import SearchSink
from headrace.pipelines.connect.faults import ConfigException, ConnectException, RetriableException
from headrace.pipelines.connect.model import schema as schemas
from headrace.testing import ConnectHarness
from tests.pipelines.connect.connectors.killing import eventually, killable
from tests.pipelines.connect.connectors.search.bulk import Index
from tests.pipelines.connect.connectors.stand_in import Answer, StandIn, stand_in
from tests.pipelines.connect.worker.running import Worker, messages, write

Start = Callable[..., Worker]


@pytest.fixture
def index() -> Index:
    return Index()


@pytest.fixture
def cluster(index: Index) -> Iterator[StandIn]:
    with stand_in(index.serve) as running:
        yield running


def sink(cluster: StandIn, **settings: str) -> ConnectHarness:
    usual = {"connection.url": cluster.url, "retry.backoff.ms": "1"}
    return ConnectHarness(SearchSink, usual | {k.replace("_", "."): v for k, v in settings.items()})


@pytest.mark.spec("slides:H18")
@pytest.mark.spec("book2:B-10", "book2:D-06", "book2:C-18")
def test_keys_are_ids_and_the_last_value_counts(cluster: StandIn, index: Index) -> None:
    with sink(cluster, batch_size="2") as harness:
        harness.put([{"n": 1}, {"n": 2}, {"n": 3}], topic="Orders", keys=["a", 7, "a"])
    assert index.found("orders") == {"a": {"n": 3}, "7": {"n": 2}}


def test_a_replay_ends_where_it_was(cluster: StandIn, index: Index) -> None:
    rows = [{"n": 1}, {"n": 2}, None, {"n": 4}]
    with sink(cluster, behavior_on_null_values="delete") as harness:
        harness.put(rows, keys=["a", "b", "b", "a"])
        harness.restart()
        harness.put(rows, keys=["a", "b", "b", "a"])
    assert index.found("topic") == {"a": {"n": 4}}
    assert harness.refused == {}


def test_a_replay_of_offsets_as_ids_changes_nothing(cluster: StandIn, index: Index) -> None:
    with sink(cluster, key_ignore="true") as harness:
        harness.put([{"n": 1}, {"n": 2}])
        before = dict(index.documents)
        harness.restart()
        harness.put([{"n": 1}, {"n": 2}])
    assert index.documents == before
    assert harness.refused == {}


@pytest.mark.parametrize("method", ["insert", "upsert"])
@pytest.mark.parametrize("other", [("b", 0), ("a", 1)])
def test_a_key_of_two_logs(
    cluster: StandIn, index: Index, method: str, other: tuple[str, int]
) -> None:
    """Of two topics in one index, or of a partition that was added: offsets of different logs say
    nothing about which record is the later one."""
    more = {"topic_index_map": "a:all,b:all", "behavior_on_null_values": "delete"}
    with sink(cluster, write_method=method, **more) as harness:
        rows = [{"n": number} for number in range(5)]
        harness.put(rows, topic="a", partition=0, keys=["x", "k", "x", "gone", "k"])
        topic, partition = other
        harness.put([{"n": 9}, None], topic=topic, partition=partition, keys=["k", "gone"])
    assert index.found("all") == {"x": {"n": 2}, "k": {"n": 9}}
    assert harness.refused == {}


def test_credentials_in_an_address_are_not_told() -> None:
    with stand_in(lambda request: Answer(403)) as cluster:
        host = cluster.url.removeprefix("http://")
        given = {"connection.url": f"http://me:s3cret@{host}"}
        with (
            ConnectHarness(SearchSink, given) as harness,
            pytest.raises(ConnectException, match="answers 403") as raised,
        ):
            harness.put([{"n": 1}], keys=["a"])
    assert "s3cret" not in str(raised.value)
    assert host in str(raised.value)
    with pytest.raises(ConfigException, match="is expected") as refused:
        ConnectHarness(SearchSink, {"connection.url": "ftp://me:s3cret@host"})
    assert "s3cret" not in str(refused.value)


def test_offsets_as_ids(cluster: StandIn, index: Index) -> None:
    with sink(cluster, key_ignore="true", behavior_on_null_values="delete") as harness:
        harness.put([{"n": 1}, None], topic="t", partition=3)
    assert index.found("t") == {"t+3+0": {"n": 1}}


def test_a_mapping_from_the_schema(cluster: StandIn, index: Index) -> None:
    schema = schemas.struct({"id": schemas.INT32, "name": schemas.STRING})
    with sink(cluster, topic_index_map="topic:people") as harness:
        for number in (1, 2):
            harness.put([{"id": number, "name": "x"}], schema=schema, keys=[number])
    assert list(index.created) == ["people"]
    properties = mapping_of(schema)["properties"]
    assert index.created["people"] == {"mappings": {"properties": properties}}
    assert index.found("people").keys() == {"1", "2"}
    assert len([each for each in cluster.requests if each.method == "PUT"]) == 1


def test_kinds_of_fields() -> None:
    schema = schemas.struct(
        {
            "at": schemas.timestamp(),
            "price": schemas.decimal(2),
            "tags": schemas.array(schemas.STRING),
            "more": schemas.map_of(schemas.STRING, schemas.INT32),
            "inner": schemas.struct({"flag": schemas.BOOLEAN}),
        }
    )
    found = mapping_of(schema)["properties"]
    assert isinstance(found, dict)
    assert found["at"] == {"type": "date"}
    assert found["price"] == {"type": "double"}
    assert found["tags"]["type"] == "text"
    assert found["more"] == {"type": "object"}
    assert found["inner"] == {"properties": {"flag": {"type": "boolean"}}}


def test_upserts_are_merged(cluster: StandIn, index: Index) -> None:
    with sink(cluster, write_method="upsert") as harness:
        harness.put([{"a": 1}, {"b": 2}], keys=["k", "k"])
    assert index.found("topic") == {"k": {"a": 1, "b": 2}}


def test_rows_that_cannot_be_documents(cluster: StandIn, index: Index) -> None:
    rows = [{"n": 1}, "text", {"n": 2}, None, {"malformed": 1}, {"n": 3}, {"n": 4}]
    keys = ["a", "b", None, "c", "d", 1.5, "x" * 513]
    with sink(cluster) as harness:
        harness.put(rows, keys=keys)
    assert index.found("topic") == {"a": {"n": 1}}
    reasons = {row: reason.partition(":")[0] for row, reason in harness.refused.items()}
    assert reasons == {
        1: "a document is an object, not a str",
        2: "the record has no key to be the document's id",
        3: "the record has no value",
        4: "mapper_parsing_exception",
        5: "a key of float cannot be a document's id",
        6: "a document's id has 1 to 512 bytes",
    }


def test_behaviors(cluster: StandIn, index: Index, caplog: pytest.LogCaptureFixture) -> None:
    rows = [{"n": 1}, "text", None, {"malformed": 1}]
    more = {"behavior_on_null_values": "ignore", "drop_invalid_message": "true"}
    with sink(cluster, behavior_on_malformed_documents="warn", **more) as harness:
        harness.put(rows, keys=["a", "b", "c", "d"])
    assert harness.refused == {}
    assert index.found("topic").keys() == {"a"}
    assert "failed to parse" in caplog.text
    assert "dropped" in caplog.text


def test_a_busy_cluster_is_asked_again(cluster: StandIn, index: Index) -> None:
    index.busy = {"b"}
    index.faults = [Answer(429), Answer(503)]
    with sink(cluster) as harness:
        for _ in range(3):
            with pytest.raises(RetriableException):
                harness.put([{"n": 1}, {"n": 2}], keys=["a", "b"])
        harness.put([{"n": 1}, {"n": 2}], keys=["a", "b"])
    assert index.found("topic") == {"a": {"n": 1}, "b": {"n": 2}}


def test_retries_end(cluster: StandIn, index: Index) -> None:
    index.faults = [Answer(503)] * 9
    with sink(cluster, max_retries="1") as harness:
        with pytest.raises(RetriableException):
            harness.put([{"n": 1}], keys=["a"])
        with pytest.raises(ConnectException, match=r"max\.retries=1"):
            harness.put([{"n": 1}], keys=["a"])


def test_what_ends_the_task(cluster: StandIn, index: Index) -> None:
    index.faults = [Answer(401)]
    with sink(cluster) as harness:
        with pytest.raises(ConnectException, match=r"check connection\.username"):
            harness.put([{"n": 1}], keys=["a"])
        with pytest.raises(ConnectException, match="security_exception"):
            harness.put([{"forbidden": 1}], keys=["a"])


def test_a_request_that_is_too_large_is_split(cluster: StandIn, index: Index) -> None:
    index.most_bytes = 400
    with sink(cluster) as harness:
        harness.put([{"n": "x" * 50}] * 9 + [{"n": "x" * 500}], keys=[*"abcdefghij"])
    assert index.found("topic").keys() == {*"abcdefghi"}
    assert "http.max_content_length" in harness.refused[9]


def test_a_cluster_that_hangs() -> None:
    released = threading.Event()

    def hang(request: object) -> Answer:
        released.wait(60)
        return Answer()

    with stand_in(hang) as cluster:
        with (
            sink(cluster, read_timeout_ms="100") as harness,
            pytest.raises(RetriableException, match="does not answer"),
        ):
            harness.put([{"n": 1}], keys=["a"])
        released.set()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"connection.url": "localhost:9200"}, "http://host:9200"),
        ({"connection.url": ""}, "http://host:9200"),
        ({"topic.index.map": "a"}, "topic:index"),
        ({"write.method": "upsert", "key.ignore": "true"}, r"key\.ignore=false"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigException, match=reason):
        ConnectHarness(SearchSink, {"connection.url": "http://x"} | settings)


@pytest.mark.thorough
@pytest.mark.spec("slides:H18")
def test_killed_and_started_again(
    bootstrap: str, tmp_path: Path, topic: str, cluster: StandIn, index: Index
) -> None:
    """Each record is one document, whatever was sent twice."""
    write(bootstrap, topic, *(b'{"n":%d}' % number for number in range(50)))
    settings = {
        "topics": topic,
        "connection.url": cluster.url,
        "key.ignore": "true",
        "batch.size": "5",
        "consumer.override.auto.offset.reset": "earliest",
    }
    with killable(bootstrap, tmp_path, "ElasticsearchSink", settings) as kill:
        eventually(lambda: len(index.found(topic)) >= 5)
        kill()
    messages(bootstrap, topic, 50)
    write(bootstrap, topic, *(b'{"n":%d}' % number for number in range(50, 60)))
    with killable(bootstrap, tmp_path, "ElasticsearchSink", settings):
        eventually(lambda: len(index.found(topic)) == 60)
    assert sorted(each["n"] for each in index.found(topic).values()) == list(range(60))  # type: ignore[type-var]
