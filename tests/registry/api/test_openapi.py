"""The description that is served, against the service that serves it."""

from __future__ import annotations

import re

from headrace.registry.api.routes import ENDPOINTS
from tests.registry.running import RunningRegistry


def test_it_describes_every_route(registry: RunningRegistry) -> None:
    """Every endpoint is there with its parameters, body, answers and error codes."""
    answer = registry.call("GET", "/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    described = answer.body
    assert described["openapi"].startswith("3.1")
    for endpoint in ENDPOINTS:
        operation = described["paths"][endpoint.path][endpoint.method.lower()]
        names = {each["name"] for each in operation["parameters"]}
        assert names >= set(re.findall(r"{(\w+)}", endpoint.path))
        assert names >= {query.name for query in endpoint.query}
        assert ("requestBody" in operation) == (endpoint.body is not None)
        assert str(endpoint.status) in operation["responses"]
        for code in endpoint.errors:
            status = code if code < 600 else code // 100
            assert str(status) in operation["responses"]


def test_its_references_resolve(registry: RunningRegistry) -> None:
    """No `$ref` leads nowhere."""
    answer = registry.call("GET", "/openapi.json")
    used = set(re.findall(r'"#/components/schemas/(\w+)"', answer.raw.decode()))
    assert used
    assert used <= set(answer.body["components"]["schemas"])


def test_no_two_operations_share_an_id(registry: RunningRegistry) -> None:
    """Generators of clients name methods after them."""
    paths = registry.call("GET", "/openapi.json").body["paths"]
    ids = [operation["operationId"] for path in paths.values() for operation in path.values()]
    assert len(ids) == len(set(ids))
