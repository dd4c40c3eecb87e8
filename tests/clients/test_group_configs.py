"""Settings of groups (KIP-848): the resource type GROUP of the four config APIs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.errors import Error
from headrace.wire.messages.list_config_resources import ListConfigResourcesRequest
from tests.clients.configs import Op, Resource, Source, changed, configs_of, described, replaced
from tests.clients.contract import eventually
from tests.clients.raw import Connection

SESSION = "consumer.session.timeout.ms"
HEARTBEAT = "consumer.heartbeat.interval.ms"
INTERVAL = "consumer.assignment.interval.ms"


@pytest.fixture
def group(connection: Connection, topic_name: str) -> Iterator[str]:
    """A group with a name that needs care, which leaves nothing behind."""
    name = f"{topic_name}/ü 50%.<x>"
    yield name
    replaced(connection, name, {}, kind=Resource.GROUP)


def own_values(connection: Connection, group: str) -> dict[str, str]:
    configs = configs_of(connection, group, kind=Resource.GROUP).values()
    return {each.name: each.value for each in configs if each.config_source == Source.DYNAMIC_GROUP}


def listed_groups(connection: Connection) -> set[str]:
    request = ListConfigResourcesRequest(resource_types=[Resource.GROUP])
    return {each.resource_name for each in connection.ask(request, 1).config_resources}


def test_a_group_has_the_settings_of_its_coordinator(connection: Connection, group: str) -> None:
    """Every setting is told with its broker key, though nobody has heard of the group."""
    configs = configs_of(connection, group, kind=Resource.GROUP, synonyms=True)
    found = {key: configs[key].value for key in (SESSION, HEARTBEAT, INTERVAL)}
    # The heartbeat and the interval are those that this broker was started with.
    assert found == {SESSION: "45000", HEARTBEAT: "50", INTERVAL: "0"}
    assert configs[SESSION].config_source == Source.DEFAULT
    (synonym,) = configs[SESSION].synonyms
    assert (synonym.name, synonym.value) == ("group.consumer.session.timeout.ms", "45000")
    assert group not in listed_groups(connection)


def test_a_setting_of_a_group_comes_and_goes(connection: Connection, group: str) -> None:
    """KIP-848: set by itself it stands above the broker's; deleting it exposes that again."""
    change = (SESSION, Op.SET, "50000")
    assert changed(connection, group, change, kind=Resource.GROUP).error_code == Error.NONE
    eventually(lambda: own_values(connection, group) == {SESSION: "50000"}, "the setting")
    eventually(lambda: group in listed_groups(connection), "the group on the list")
    (own, broker) = configs_of(connection, group, kind=Resource.GROUP, synonyms=True)[
        SESSION
    ].synonyms
    assert (own.source, own.value) == (Source.DYNAMIC_GROUP, "50000")
    assert (broker.source, broker.value) == (Source.DEFAULT, "45000")
    removal = (SESSION, Op.DELETE, None)
    assert changed(connection, group, removal, kind=Resource.GROUP).error_code == Error.NONE
    eventually(lambda: own_values(connection, group) == {}, "its end")
    eventually(lambda: group not in listed_groups(connection), "the list without the group")


def test_replacing_forgets_what_is_not_given(connection: Connection, group: str) -> None:
    """AlterConfigs: the settings given are all that the group has."""
    replaced(connection, group, {SESSION: "46000", HEARTBEAT: "7000"}, kind=Resource.GROUP)
    eventually(lambda: len(own_values(connection, group)) == 2, "two settings")
    result = replaced(connection, group, {HEARTBEAT: "8000"}, kind=Resource.GROUP)
    assert result.error_code == Error.NONE
    eventually(lambda: own_values(connection, group) == {HEARTBEAT: "8000"}, "one setting")


def test_a_dry_run_changes_nothing(connection: Connection, group: str) -> None:
    """validate_only gives the verdict alone."""
    change = (SESSION, Op.SET, "50000")
    result = changed(connection, group, change, kind=Resource.GROUP, validate_only=True)
    assert result.error_code == Error.NONE
    assert group not in listed_groups(connection)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (SESSION, "99"),
        (SESSION, "60001"),
        (HEARTBEAT, "49"),
        (HEARTBEAT, "15001"),
        (INTERVAL, "15001"),
        (SESSION, "soon"),
        (SESSION, ""),
        (SESSION, "-1"),
        ("session.timeout.ms", "50000"),
    ],
)
def test_values_outside_of_the_brokers_limits_are_refused(
    connection: Connection, group: str, key: str, value: str
) -> None:
    """INVALID_CONFIG below and above the limits, for what is no number, and for unknown keys."""
    result = changed(connection, group, (key, Op.SET, value), kind=Resource.GROUP)
    assert result.error_code == Error.INVALID_CONFIG
    assert replaced(connection, group, {key: value}, kind=Resource.GROUP).error_code == (
        Error.INVALID_CONFIG
    )
    assert group not in listed_groups(connection)


def test_null_is_no_value(connection: Connection, group: str) -> None:
    """INVALID_REQUEST for null where a value is needed, in both ways of altering."""
    result = changed(connection, group, (SESSION, Op.SET, None), kind=Resource.GROUP)
    assert result.error_code == Error.INVALID_REQUEST
    result = replaced(connection, group, {SESSION: None}, kind=Resource.GROUP)
    assert result.error_code == Error.INVALID_REQUEST


def test_all_groups_together_have_no_settings(connection: Connection) -> None:
    """The empty name, which stands for all brokers elsewhere, is INVALID_REQUEST."""
    assert described(connection, "", kind=Resource.GROUP).error_code == Error.INVALID_REQUEST
    change = (SESSION, Op.SET, "50000")
    result = changed(connection, "", change, kind=Resource.GROUP)
    assert result.error_code == Error.INVALID_REQUEST


def test_an_empty_list_of_keys_asks_for_all(connection: Connection, group: str, topic: str) -> None:
    """Kafka takes no names for all names, for a group as for a topic."""
    assert SESSION in configs_of(connection, group, kind=Resource.GROUP, keys=[])
    assert "retention.ms" in configs_of(connection, topic, keys=[])
    assert configs_of(connection, group, kind=Resource.GROUP, keys=["no.such.key"]) == {}
