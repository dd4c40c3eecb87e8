"""ListConfigResources: which resources have configs."""

from __future__ import annotations

from headrace.errors import Error
from headrace.wire.messages.list_config_resources import ListConfigResourcesRequest
from tests.clients.configs import Resource
from tests.clients.raw import Connection
from tests.clients.requests import metadata_request

CLIENT_METRICS = 16


def resources(connection: Connection, kinds: list[int], version: int = 1) -> set[tuple[int, str]]:
    response = connection.ask(ListConfigResourcesRequest(resource_types=kinds), version)
    assert response.error_code == Error.NONE
    return {(each.resource_type, each.resource_name) for each in response.config_resources}


def test_topics_are_listed(connection: Connection, topic: str) -> None:
    """KIP-1142: asked for topics, the answer has topics and nothing else."""
    found = resources(connection, [Resource.TOPIC])
    assert (Resource.TOPIC, topic) in found
    assert {kind for kind, _ in found} == {Resource.TOPIC}


def test_brokers_are_listed(connection: Connection) -> None:
    """A broker is a resource under its id."""
    (broker,) = connection.ask(metadata_request(), 12).brokers
    assert (Resource.BROKER, str(broker.node_id)) in resources(connection, [Resource.BROKER])


def test_no_kind_asks_for_all(connection: Connection, topic: str) -> None:
    """An empty list of kinds is not a wish for nothing."""
    kinds = {kind for kind, _ in resources(connection, [])}
    assert kinds >= {Resource.TOPIC, Resource.BROKER}


def test_version_0_knows_client_metrics_only(connection: Connection, topic: str) -> None:
    """Before KIP-1142 the API listed client metrics alone; there are none here."""
    assert resources(connection, [], version=0) == set()


def test_an_unknown_kind_is_refused(connection: Connection) -> None:
    """UNSUPPORTED_VERSION for a kind that has no configs."""
    response = connection.ask(ListConfigResourcesRequest(resource_types=[99]), 1)
    assert response.error_code == Error.UNSUPPORTED_VERSION
