"""FindCoordinator: which broker looks after a group or a transactional id."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import Error
from headrace.types import uuid_to_text
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.clients.contract import eventually
from tests.clients.raw import Connection
from tests.clients.requests import topic_id_of

GROUP, TRANSACTION, SHARE = 0, 1, 2


def found(connection: Connection, key: str, version: int, key_type: int = GROUP) -> Any:
    """The coordinator of one key, asked until there is one: its topic may be made just now."""
    answers: list[Any] = []

    def answered() -> bool:
        if version < 4:
            request = FindCoordinatorRequest(key=key, key_type=key_type)
            answers.append(connection.ask(request, version))
        else:
            request = FindCoordinatorRequest(coordinator_keys=[key], key_type=key_type)
            answers.extend(connection.ask(request, version).coordinators)
        return bool(answers[-1].error_code != Error.COORDINATOR_NOT_AVAILABLE)

    eventually(answered, "a coordinator")
    return answers[-1]


@pytest.mark.parametrize("version", range(7))
@pytest.mark.parametrize("key_type", [GROUP, TRANSACTION])
def test_this_broker_is_the_coordinator(
    bootstrap: str, connection: Connection, group: str, version: int, key_type: int
) -> None:
    """In every version, for groups and, since v1, for transactional ids (KIP-98)."""
    if version == 0:
        key_type = GROUP
    answer = found(connection, group, version, key_type)
    assert answer.error_code == Error.NONE
    assert f"{answer.host}:{answer.port}" == bootstrap
    assert answer.node_id >= 0


@pytest.mark.parametrize("version", range(4, 7))
def test_several_keys(connection: Connection, group: str, version: int) -> None:
    """KIP-699: every key of the request is answered, in order, also one that comes twice."""
    found(connection, group, version)
    keys = [group, f"{group}-b", "", group]
    answer = connection.ask(FindCoordinatorRequest(coordinator_keys=keys), version)
    assert [each.key for each in answer.coordinators] == keys
    assert {each.error_code for each in answer.coordinators} == {Error.NONE}
    assert connection.ask(FindCoordinatorRequest(coordinator_keys=[]), version).coordinators == []


def test_an_unknown_key_type_is_refused(connection: Connection) -> None:
    """There are groups, transactional ids and share groups."""
    request = FindCoordinatorRequest(coordinator_keys=["a"], key_type=9)
    (answer,) = connection.ask(request, 4).coordinators
    assert answer.error_code == Error.INVALID_REQUEST


def test_a_share_partition_has_a_coordinator(
    bootstrap: str, connection: Connection, topic: str, group: str
) -> None:
    """KIP-932: its key is group:topic id:partition."""
    key = f"{group}:{uuid_to_text(topic_id_of(connection, topic))}:0"
    answer = found(connection, key, 6, SHARE)
    assert (answer.error_code, answer.key) == (Error.NONE, key)
    assert f"{answer.host}:{answer.port}" == bootstrap


@pytest.mark.parametrize("key", ["a", "a:b:0", "a:AAAAAAAAAAAAAAAAAAAAAQ:x", " :b:0", "a:b", ""])
def test_other_keys_name_no_share_partition(connection: Connection, key: str) -> None:
    """They are INVALID_REQUEST."""
    request = FindCoordinatorRequest(coordinator_keys=[key], key_type=SHARE)
    (answer,) = connection.ask(request, 6).coordinators
    assert answer.error_code == Error.INVALID_REQUEST
