"""FindCoordinator against a broker without coordinators: a clear no, that clients may retry."""

from __future__ import annotations

import pytest

from headrace.errors import Error
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.clients.raw import Connection


@pytest.mark.parametrize("version", range(4))
def test_one_key(connection: Connection, version: int) -> None:
    """Up to v3 a request names one key."""
    answer = connection.ask(FindCoordinatorRequest(key="orders"), version)
    assert answer.error_code == Error.COORDINATOR_NOT_AVAILABLE
    assert Error.COORDINATOR_NOT_AVAILABLE.retriable


@pytest.mark.parametrize("version", range(4, 7))
def test_several_keys(connection: Connection, version: int) -> None:
    """KIP-699: every key of the request is answered, in order."""
    answer = connection.ask(FindCoordinatorRequest(coordinator_keys=["a", "b"]), version)
    assert [found.key for found in answer.coordinators] == ["a", "b"]
    for found in answer.coordinators:
        assert found.error_code == Error.COORDINATOR_NOT_AVAILABLE
        assert found.error_message


def test_an_unknown_key_type_is_refused(connection: Connection) -> None:
    """There are groups, transactional ids and share groups."""
    request = FindCoordinatorRequest(coordinator_keys=["a"], key_type=9)
    (found,) = connection.ask(request, 4).coordinators
    assert found.error_code == Error.INVALID_REQUEST
