"""Changes of tables of a DynamoDB that moto serves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest
from moto.server import ThreadedMotoServer

from headrace.pipelines.connect.connectors.dynamodb.source import DynamoSource
from headrace.pipelines.connect.faults import ConfigException, ConnectException, RetriableException
from headrace.testing import ConnectHarness
from tests.pipelines.connect.connectors.stand_in import Answer, Request, stand_in
from tests.pipelines.connect.worker.running import Worker, messages
from tests.servers.server import HOST, free_port

Start = Callable[..., Worker]
KEYS = {"aws.region": "eu-west-1", "aws.access.key.id": "id", "aws.secret.key": "secret"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(HOST, 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def client(endpoint: str) -> Iterator[Any]:
    made = boto3.client(
        "dynamodb",
        region_name="eu-west-1",
        endpoint_url=endpoint,
        aws_access_key_id="id",
        aws_secret_access_key="secret",
    )
    yield made
    made.close()


def create(client: Any, table: str, *, stream: bool = True) -> None:
    about = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    client.create_table(
        TableName=table,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
        BillingMode="PAY_PER_REQUEST",
        **({"StreamSpecification": about} if stream else {}),
    )


def settings(endpoint: str, *tables: str, **more: str) -> dict[str, str]:
    named = {"dynamodb.table.whitelist": ",".join(tables), "dynamodb.service.endpoint": endpoint}
    return KEYS | named | {"poll.interval.ms": "20"} | more


@pytest.mark.spec("slides:H20")
def test_changes_of_a_table(endpoint: str, client: Any) -> None:
    create(client, "orders")
    first = {"id": {"N": "1"}, "paid": {"BOOL": False}, "sum": {"N": "1.5"}, "tags": {"SS": ["a"]}}
    second = {"id": {"N": "1"}, "more": {"M": {"x": {"L": [{"N": "2"}, {"NULL": True}]}}}}
    with ConnectHarness(DynamoSource, settings(endpoint, "orders")) as harness:
        assert harness.poll() == []
        client.put_item(TableName="orders", Item=first)
        client.put_item(TableName="orders", Item=second)
        rows = harness.poll()
        harness.restart()
        client.delete_item(TableName="orders", Key={"id": {"N": "1"}})
        rows += harness.poll()
        keys = [key for batch in harness.batches for key in batch.key.to_values()]
        (place,) = {frozenset(where.items()) for where, _ in harness.offsets}
    before = {"id": 1, "paid": False, "sum": 1.5, "tags": ["a"]}
    after = {"id": 1, "more": {"x": [2, None]}}
    seen = [(row["op"], row["before"], row["after"]) for row in rows]  # type: ignore[index]
    assert seen == [("c", None, before), ("u", before, after), ("d", after, None)]
    assert keys == ['{"id":1}'] * 3
    assert harness.batches[0].topic == "dynamodb-orders"
    assert dict(place)["table"] == "orders"


def test_faults(endpoint: str, client: Any) -> None:
    create(client, "plain", stream=False)
    with (
        ConnectHarness(DynamoSource, settings(endpoint, "plain")) as harness,
        pytest.raises(ConnectException, match="has no stream: enable it"),
    ):
        harness.poll()
    with (
        ConnectHarness(DynamoSource, settings(endpoint, "missing")) as harness,
        pytest.raises(ConnectException, match="missing cannot be read"),
    ):
        harness.poll()
    with (
        ConnectHarness(DynamoSource, settings(f"http://{HOST}:{free_port()}", "x")) as harness,
        pytest.raises(RetriableException, match="cannot be reached"),
    ):
        harness.poll()
    with pytest.raises(ConfigException, match="name of a table"):
        ConnectHarness(DynamoSource, settings(endpoint))


def fault(kind: str) -> Answer:
    return Answer(400, json.dumps({"__type": f"aws#{kind}", "message": "of the test"}).encode())


class Service:
    """A stream service in which each table has one shard, `<table>-shard`, with one change."""

    def __init__(self) -> None:
        self.faults: dict[str, list[str]] = {}
        """By operation and place, as `GetRecords orders`: the kinds of faults that are next."""

    def __call__(self, request: Request) -> Answer:
        operation = request.headers["X-Amz-Target"].rpartition(".")[2]
        about = json.loads(request.body)
        place = str(
            about.get("TableName") or about.get("StreamArn") or about.get("ShardIterator")
        ).partition("-")[0]
        faults = self.faults.get(f"{operation} {place}", [])
        if faults:
            return fault(faults.pop(0))
        return Answer(body=json.dumps(self._answer(operation, place, about)).encode())

    def _answer(self, operation: str, place: str, about: dict[str, Any]) -> dict[str, Any]:
        if operation == "DescribeTable":
            return {"Table": {"TableName": place, "LatestStreamArn": f"{place}-{'x' * 40}"}}
        if operation == "DescribeStream":
            return {"StreamDescription": {"Shards": [{"ShardId": f"{place}-{'s' * 30}"}]}}
        if operation == "GetShardIterator":
            return {"ShardIterator": f"{place}-{about.get('SequenceNumber', 'first')}"}
        read_before = not about["ShardIterator"].endswith("-first")
        change = {
            "eventName": "INSERT",
            "dynamodb": {"Keys": {"id": {"S": place}}, "SequenceNumber": "1" * 21},
        }
        records = [] if read_before else [change]
        return {"Records": records, "NextShardIterator": f"{place}-{'1' * 21}"}


def test_what_was_read_before_a_fault_is_kept() -> None:
    """A table that cannot be read now does not take along what another has given."""
    service = Service()
    service.faults["GetRecords b"] = ["ProvisionedThroughputExceededException"]
    with (
        stand_in(service) as server,
        ConnectHarness(DynamoSource, settings(server.url, "a,b")) as harness,
    ):
        with pytest.raises(RetriableException, match="cannot serve now"):
            harness.poll()
        harness.poll()
        keys = [key for batch in harness.batches for key in batch.key.to_values()]
    assert keys == ['{"id":"a"}', '{"id":"b"}']


def test_away_for_more_than_a_day(caplog: pytest.LogCaptureFixture) -> None:
    """The position is no longer kept: what there still is is read, and the gap is told."""
    service = Service()
    with (
        stand_in(service) as server,
        ConnectHarness(DynamoSource, settings(server.url, "a")) as harness,
    ):
        assert len(harness.poll()) == 1
        harness.restart()
        service.faults["GetShardIterator a"] = ["TrimmedDataAccessException"]
        found = harness.poll() or harness.poll()
    assert len(found) == 1
    assert "changes of a are lost" in caplog.text


def test_through_a_worker(
    start: Start, bootstrap: str, topic: str, endpoint: str, client: Any
) -> None:
    create(client, topic)
    client.put_item(TableName=topic, Item={"id": {"N": "5"}})
    start(
        settings(endpoint, topic)
        | {
            "name": topic,
            "connector.class": "com.trustpilot.connector.dynamodb.DynamoDBSourceConnector",
            "kafka.topic.prefix": "",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
        }
    )
    (found,) = messages(bootstrap, topic, 1)
    assert found.key() == b'{"id":5}'
    assert b'"op":"c","before":null,"after":{"id":5}' in (found.value() or b"")
