"""ListGroups: every group of the broker, or those of some states and types."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import Error
from headrace.wire.messages.list_groups import ListGroupsRequest
from tests.clients.groups.raw_members import NewMember, commit, stable_alone
from tests.clients.raw import Connection

STATES_SINCE, TYPES_SINCE = 4, 5


def listed(connection: Connection, version: int = 5, **filters: Any) -> dict[str, Any]:
    answer = connection.ask(ListGroupsRequest(**filters), version)
    assert answer.error_code == Error.NONE
    return {each.group_id: each for each in answer.groups}


@pytest.mark.parametrize("version", range(6))
def test_every_version_lists_every_kind(
    connection: Connection, topic: str, group: str, version: int
) -> None:
    """Groups with members and such that only have offsets; state since v4, type since v5."""
    stable_alone(connection, f"{group}-classic")
    assert commit(connection, f"{group}-simple", topic, 1) == Error.NONE
    member = NewMember(connection, f"{group}-consumer", [topic])
    member.join()
    found = listed(connection, version)
    wanted = {
        f"{group}-classic": ("consumer", "Stable", "classic"),
        f"{group}-simple": ("", "Empty", "classic"),
        f"{group}-consumer": ("consumer", "Stable", "consumer"),
    }
    for name, (protocol_type, state, kind) in wanted.items():
        assert found[name].protocol_type == protocol_type
        assert found[name].group_state == (state if version >= STATES_SINCE else "")
        assert found[name].group_type == (kind if version >= TYPES_SINCE else "")
    member.leave()


@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        ({"states_filter": ["Stable"]}, {"stable", "new"}),
        ({"states_filter": ["Empty"]}, {"empty"}),
        ({"states_filter": ["stable", "EMPTY"]}, {"stable", "new", "empty"}),
        ({"states_filter": ["Dead"]}, set()),
        ({"states_filter": ["Nonsense"]}, set()),
        ({"types_filter": ["classic"]}, {"stable", "empty"}),
        ({"types_filter": ["Consumer"]}, {"new"}),
        ({"types_filter": ["share"]}, set()),
        ({"states_filter": ["Stable"], "types_filter": ["classic"]}, {"stable"}),
    ],
)
def test_filters(
    connection: Connection,
    topic: str,
    group: str,
    filters: dict[str, Any],
    kept: set[str],
) -> None:
    """States (KIP-518) and types (KIP-848), in any case of letters; both must fit."""
    stable_alone(connection, f"{group}-stable")
    assert commit(connection, f"{group}-empty", topic, 1) == Error.NONE
    member = NewMember(connection, f"{group}-new", [topic])
    member.join()
    names = listed(connection, **filters)
    own = {name.removeprefix(f"{group}-") for name in names if name.startswith(group)}
    assert own == kept
    member.leave()
