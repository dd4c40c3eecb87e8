"""The served OpenAPI document: complete, valid, and true to what is answered."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

import jsonschema
import pytest
from starlette.routing import Route

from headrace.http.resource import Resource
from tests.rest.v3.running_proxy import BROKER, RunningProxy


@pytest.fixture(scope="module")
def document(proxy: RunningProxy) -> Any:
    return proxy.get("/openapi.json")


def test_every_route_is_in_it(document: Any, proxy: RunningProxy) -> None:
    """Each path and method that the application serves is described, and nothing else."""
    served = {
        (re.sub(r"\{(\w+):\w+\}", r"{\1}", route.path), method)
        for route in proxy.app.routes
        if isinstance(route, Route) and isinstance(route.endpoint, Resource)
        for method in set(route.endpoint.methods) - {"HEAD", "OPTIONS"}
    }
    described = {
        (path, method.upper())
        for path, operations in document["paths"].items()
        for method in operations
    }
    assert described == served
    assert len(proxy.service.endpoints) == len(described)


def test_operations_are_told_apart(document: Any) -> None:
    """Every operation has an id of its own, a summary, and describes all parameters of its path."""
    seen = set()
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation["operationId"] not in seen
            seen.add(operation["operationId"])
            assert operation["summary"]
            named = {each["name"] for each in operation["parameters"] if each["in"] == "path"}
            assert named == set(re.findall(r"\{(\w+)\}", path))
            assert {"429", "503"} <= operation["responses"].keys()


def test_schemas_are_valid(document: Any) -> None:
    """Every schema in the document is a JSON Schema of draft 2020-12."""
    assert document["openapi"] == "3.1.0"
    different = {
        json.dumps(described["schema"])
        for operations in document["paths"].values()
        for operation in operations.values()
        for content in [operation.get("requestBody", {}), *operation["responses"].values()]
        for described in content.get("content", {}).values()
    } | {json.dumps(schema) for schema in document["components"]["schemas"].values()}
    for schema in different:
        jsonschema.Draft202012Validator.check_schema(json.loads(schema))


@pytest.mark.parametrize(
    "template",
    [
        "/v3/clusters",
        "/v3/clusters/{cluster_id}",
        "/v3/clusters/{cluster_id}/brokers",
        "/v3/clusters/{cluster_id}/brokers/{broker_id}",
        "/v3/clusters/{cluster_id}/brokers/{broker_id}/configs",
        "/v3/clusters/{cluster_id}/brokers/{broker_id}/partition-replicas",
        "/v3/clusters/{cluster_id}/brokers/-/configs",
        "/v3/clusters/{cluster_id}/broker-configs",
        "/v3/clusters/{cluster_id}/topics",
        "/v3/clusters/{cluster_id}/topics/-/configs",
        "/v3/clusters/{cluster_id}/topics/-/partitions/-/reassignment",
        "/v3/clusters/{cluster_id}/topics/{topic_name}",
        "/v3/clusters/{cluster_id}/topics/{topic_name}/configs",
        "/v3/clusters/{cluster_id}/topics/{topic_name}/configs/{name}",
        "/v3/clusters/{cluster_id}/topics/{topic_name}/partitions",
        "/v3/clusters/{cluster_id}/topics/{topic_name}/partitions/{partition_id}",
        "/v3/clusters/{cluster_id}/topics/{topic_name}/partitions/{partition_id}/offset",
        "/v3/clusters/{cluster_id}/topics/{topic_name}/partitions/{partition_id}/records",
        "/v3/clusters/{cluster_id}/topics/{topic_name}/partitions/{partition_id}/replicas",
        "/v3/clusters/{cluster_id}/topics/{topic_name}/partitions/{partition_id}"
        "/replicas/{broker_id}",
        "/v3/clusters/{cluster_id}/consumer-groups",
    ],
)
def test_answers_are_as_described(
    document: Any, proxy: RunningProxy, cluster: str, topic: str, template: str
) -> None:
    """What a resource answers fits the schema that the document has for it."""
    record = {"key": {"type": "STRING", "data": "k"}, "value": {"type": "JSON", "data": [1]}}
    proxy.ask("POST", f"{cluster}/topics/{topic}/records", record)
    path = template.format(
        cluster_id=cluster.rpartition("/")[2],
        broker_id=BROKER,
        topic_name=quote(topic),
        partition_id=0,
        name="retention.ms",
    )
    response = document["paths"][template]["get"]["responses"]["200"]
    schema = response["content"]["application/json"]["schema"]
    whole = {**schema, "components": document["components"]}
    jsonschema.validate(proxy.get(path), whole, jsonschema.Draft202012Validator)
