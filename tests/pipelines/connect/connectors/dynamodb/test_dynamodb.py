"""Changes of tables of a DynamoDB that moto serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest
from moto.server import ThreadedMotoServer

from headrace.pipelines.connect.connectors.dynamodb.source import DynamoSource
from headrace.pipelines.connect.faults import ConfigException, ConnectException, RetriableException
from headrace.testing import ConnectHarness
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
