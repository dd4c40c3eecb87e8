"""DescribeCluster: who is in the cluster, without any topic."""

from __future__ import annotations

import pytest

from headrace.errors import Error
from headrace.wire.messages.describe_cluster import DescribeClusterRequest
from tests.clients.raw import Connection
from tests.clients.requests import metadata_request

CONTROLLERS = 2
NOT_ASKED = -2147483648


@pytest.mark.spec("slides:A11")
@pytest.mark.parametrize("version", range(3))
def test_every_version_agrees_with_metadata(
    connection: Connection, bootstrap: str, version: int
) -> None:
    """KIP-700: the same id, brokers and addresses as Metadata tells."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=False)
    found = connection.ask(request, version)
    metadata = connection.ask(metadata_request(), 12)
    assert (found.error_code, found.cluster_id) == (Error.NONE, metadata.cluster_id)
    assert found.controller_id in {broker.broker_id for broker in found.brokers}
    assert [(each.broker_id, each.host, each.port) for each in found.brokers] == [
        (each.node_id, each.host, each.port) for each in metadata.brokers
    ]
    assert bootstrap in {f"{each.host}:{each.port}" for each in found.brokers}
    assert not any(each.is_fenced for each in found.brokers)
    assert found.cluster_authorized_operations == NOT_ASKED


def test_permissions_are_told_when_asked_for(connection: Connection) -> None:
    """KIP-430: a set of bits; without an authorizer everything is allowed."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    assert connection.ask(request, 1).cluster_authorized_operations > 0


def test_a_broker_does_not_speak_for_controllers(connection: Connection) -> None:
    """KIP-919: endpoint type 2 asks a controller; a broker says MISMATCHED_ENDPOINT_TYPE."""
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=False, endpoint_type=CONTROLLERS
    )
    found = connection.ask(request, 1)
    assert found.error_code == Error.MISMATCHED_ENDPOINT_TYPE
    assert found.brokers == []


def test_an_unknown_endpoint_type_is_refused(connection: Connection) -> None:
    """UNSUPPORTED_ENDPOINT_TYPE for what is neither broker nor controller."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=9)
    assert connection.ask(request, 1).error_code == Error.UNSUPPORTED_ENDPOINT_TYPE
