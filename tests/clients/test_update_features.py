"""UpdateFeatures: the levels of the cluster's features go up and down (KIP-584)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.errors import Error
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.clients.contract import eventually
from tests.clients.groups.raw_share_members import (
    ShareMember,
    alter_share_offsets,
    delete_share_offsets,
    described_share,
    share_offsets,
)
from tests.clients.raw import Connection

GROUPS, TRANSACTIONS, METADATA = "group.version", "transaction.version", "metadata.version"
SHARES = "share.version"
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


def told(connection: Connection) -> Any:
    request = ApiVersionsRequest(client_software_name="tests", client_software_version="1.0")
    return connection.ask(request, 4)


def finalized(connection: Connection) -> dict[str, int]:
    return {each.name: each.max_version_level for each in told(connection).finalized_features}


def updated(
    connection: Connection,
    *updates: tuple[str, int, int],
    version: int = 2,
    validate_only: bool = False,
) -> Any:
    keys = [
        FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
        for name, level, kind in updates
    ]
    request = UpdateFeaturesRequest(feature_updates=keys, validate_only=validate_only)
    return connection.ask(request, version)


@pytest.fixture
def features(connection: Connection) -> Iterator[dict[str, int]]:
    """The levels as they are, and will be again."""
    before = finalized(connection)
    yield before
    for name in (GROUPS, TRANSACTIONS, SHARES):
        updated(connection, (name, before[name], UPGRADE))
    eventually(lambda: finalized(connection) == before, "the levels of before")


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("kind", [SAFE_DOWNGRADE, UNSAFE_DOWNGRADE])
def test_a_level_goes_down_and_up(
    connection: Connection, features: dict[str, int], version: int, kind: int
) -> None:
    """The epoch grows with every change; up to v1 each feature has its own, equal result."""
    epoch = told(connection).finalized_features_epoch
    response = updated(connection, (TRANSACTIONS, 1, kind), version=version)
    assert response.error_code == Error.NONE
    results = [(each.feature, each.error_code) for each in response.results]
    assert results == ([(TRANSACTIONS, Error.NONE)] if version < 2 else [])
    eventually(lambda: finalized(connection) == {**features, TRANSACTIONS: 1}, "level 1")
    assert told(connection).finalized_features_epoch > epoch
    assert updated(connection, (TRANSACTIONS, 2, UPGRADE), version=version).error_code == Error.NONE
    eventually(lambda: finalized(connection) == features, "level 2")


def test_a_feature_that_is_switched_off_is_not_told(
    connection: Connection, features: dict[str, int]
) -> None:
    """Level 0 is no level: the feature leaves the list of finalized ones."""
    assert updated(connection, (GROUPS, 0, SAFE_DOWNGRADE)).error_code == Error.NONE
    eventually(lambda: GROUPS not in finalized(connection), "its end")
    response = updated(connection, (GROUPS, 1, SAFE_DOWNGRADE))
    assert response.error_code == Error.INVALID_UPDATE_VERSION
    assert updated(connection, (GROUPS, 1, UPGRADE)).error_code == Error.NONE
    eventually(lambda: finalized(connection) == features, "its return")


def test_share_groups_can_be_switched_off(
    connection: Connection, features: dict[str, int], topic: str, group: str
) -> None:
    """share.version 0: whatever asks for them is UNSUPPORTED_VERSION; their state is kept."""
    assert not ShareMember(connection, group, [topic]).join().error_code
    assert updated(connection, (SHARES, 0, SAFE_DOWNGRADE)).error_code == Error.NONE
    eventually(lambda: SHARES not in finalized(connection), "its end")
    member = ShareMember(connection, group, [topic])
    answers = (
        member.join(),
        described_share(connection, group),
        share_offsets(connection, group),
        alter_share_offsets(connection, group, **{topic: {0: 0}}),
        delete_share_offsets(connection, group, topic),
    )
    assert {Error(each.error_code) for each in answers} == {Error.UNSUPPORTED_VERSION}
    assert updated(connection, (SHARES, 1, UPGRADE)).error_code == Error.NONE
    eventually(lambda: finalized(connection) == features, "its return")
    assert described_share(connection, group).group_state == "Stable"


def test_the_oldest_version_only_raises_levels(
    connection: Connection, features: dict[str, int]
) -> None:
    """v0 knows no kinds of downgrades, and Kafka 4 does not look at its flag for them."""
    key = FeatureUpdateKey(feature=TRANSACTIONS, max_version_level=1, allow_downgrade=True)
    request = UpdateFeaturesRequest(feature_updates=[key])
    assert connection.ask(request, 0).error_code == Error.INVALID_UPDATE_VERSION
    updated(connection, (TRANSACTIONS, 1, SAFE_DOWNGRADE))
    eventually(lambda: finalized(connection)[TRANSACTIONS] == 1, "level 1")
    key.max_version_level = 2
    response = connection.ask(request, 0)
    assert response.error_code == Error.NONE
    assert [each.error_code for each in response.results] == [Error.NONE]
    eventually(lambda: finalized(connection) == features, "level 2")


@pytest.mark.parametrize(
    "update",
    [
        ("no.such.feature", 1, UPGRADE),
        ("no.such.feature", 0, SAFE_DOWNGRADE),
        (GROUPS, 99, UPGRADE),
        (GROUPS, -1, SAFE_DOWNGRADE),
        (GROUPS, 0, UPGRADE),
        (GROUPS, 1, 0),
        (GROUPS, 1, 7),
        (METADATA, 6, UNSAFE_DOWNGRADE),
        (METADATA, 29, SAFE_DOWNGRADE),
        (METADATA, 29, UNSAFE_DOWNGRADE),
        (METADATA, 99, UPGRADE),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_one_bad_update_spoils_all(
    connection: Connection, update: tuple[str, int, int], version: int
) -> None:
    """INVALID_UPDATE_VERSION for the whole request, no results, no change."""
    before = finalized(connection)
    response = updated(connection, (TRANSACTIONS, 1, SAFE_DOWNGRADE), update, version=version)
    assert response.error_code == Error.INVALID_UPDATE_VERSION
    assert update[0] in response.error_message
    assert response.results == []
    assert finalized(connection) == before


def test_a_dry_run_changes_nothing(connection: Connection) -> None:
    """validate_only gives the verdict alone."""
    before = finalized(connection)
    update = (TRANSACTIONS, 0, SAFE_DOWNGRADE)
    assert updated(connection, update, validate_only=True).error_code == Error.NONE
    update = (TRANSACTIONS, 0, UPGRADE)
    response = updated(connection, update, validate_only=True)
    assert response.error_code == Error.INVALID_UPDATE_VERSION
    assert finalized(connection) == before


@pytest.mark.parametrize("kind", [UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE])
def test_the_level_that_is_there_may_be_asked_for(connection: Connection, kind: int) -> None:
    """Neither up nor down is fine in every way of asking, and so is nothing at all."""
    before = finalized(connection)
    for name in (GROUPS, METADATA, TRANSACTIONS):
        assert updated(connection, (name, before[name], kind)).error_code == Error.NONE
    assert updated(connection).error_code == Error.NONE
    assert finalized(connection) == before
