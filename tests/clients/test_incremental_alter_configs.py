"""IncrementalAlterConfigs against a live broker (KIP-339)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.errors import Error
from tests.clients.configs import Op, Resource, Source, changed, configs_of, replaced, value_of
from tests.clients.contract import eventually
from tests.clients.raw import Connection, batch_of
from tests.clients.records import FIRST_TIMESTAMP_MS, Record
from tests.clients.requests import metadata_request, produced_bytes

DEFAULT_RETENTION_MS = "604800000"


def becomes(connection: Connection, topic: str, key: str, value: str | None) -> None:
    eventually(lambda: value_of(connection, topic, key) == value, f"{key}={value}")


@pytest.mark.parametrize("version", range(2))
def test_incremental_alter_configs_sets_one(
    connection: Connection, topic: str, version: int
) -> None:
    """KIP-339: a key is set and deleted by itself; the others stay."""
    change = ("segment.bytes", Op.SET, "2000000")
    assert changed(connection, topic, change, version=version).error_code == Error.NONE
    becomes(connection, topic, "segment.bytes", "2000000")
    assert value_of(connection, topic, "retention.ms") == "-1"
    removal = ("retention.ms", Op.DELETE, None)
    assert changed(connection, topic, removal, version=version).error_code == Error.NONE
    becomes(connection, topic, "retention.ms", DEFAULT_RETENTION_MS)
    assert value_of(connection, topic, "segment.bytes") == "2000000"


def test_lists_can_be_added_to_and_taken_from(connection: Connection, topic: str) -> None:
    """APPEND and SUBTRACT work on configs that are lists."""
    changed(connection, topic, ("cleanup.policy", Op.APPEND, "compact"))
    becomes(connection, topic, "cleanup.policy", "delete,compact")
    changed(connection, topic, ("cleanup.policy", Op.SUBTRACT, "delete"))
    becomes(connection, topic, "cleanup.policy", "compact")


def test_only_lists_can_be_added_to(connection: Connection, topic: str) -> None:
    """APPEND to a number is INVALID_CONFIG."""
    result = changed(connection, topic, ("retention.ms", Op.APPEND, "5"))
    assert result.error_code == Error.INVALID_CONFIG


def test_a_change_takes_effect_at_once(connection: Connection, topic: str) -> None:
    """The next batch is held against the new limit, without a restart."""
    batch = batch_of([Record(b"", bytes(5_000), FIRST_TIMESTAMP_MS)])
    assert produced_bytes(connection, topic, batch).error_code == Error.NONE
    changed(connection, topic, ("max.message.bytes", Op.SET, "1000"))
    becomes(connection, topic, "max.message.bytes", "1000")

    def refused() -> bool:
        code = produced_bytes(connection, topic, batch).error_code
        return bool(code == Error.MESSAGE_TOO_LARGE)

    eventually(refused, "MESSAGE_TOO_LARGE")


@pytest.mark.parametrize(
    ("key", "value"),
    [("no.such.config", "1"), ("retention.ms", "soon"), ("cleanup.policy", "burn")],
)
def test_a_bad_value_is_refused(connection: Connection, topic: str, key: str, value: str) -> None:
    """INVALID_CONFIG; the good keys of the same request are not taken either."""
    result = replaced(connection, topic, {"segment.bytes": "2000000", key: value})
    assert result.error_code == Error.INVALID_CONFIG
    result = changed(connection, topic, ("segment.bytes", Op.SET, "2000000"), (key, Op.SET, value))
    assert result.error_code == Error.INVALID_CONFIG
    assert value_of(connection, topic, "segment.bytes") == "1073741824"
    assert value_of(connection, topic, "retention.ms") == "-1"


def test_a_dry_run_changes_nothing(connection: Connection, topic: str) -> None:
    """validate_only gives the verdict alone."""
    change = ("retention.ms", Op.SET, "1")
    assert changed(connection, topic, change, validate_only=True).error_code == Error.NONE
    result = replaced(connection, topic, {"retention.ms": "1"}, validate_only=True)
    assert result.error_code == Error.NONE
    result = changed(connection, topic, ("retention.ms", Op.SET, "x"), validate_only=True)
    assert result.error_code == Error.INVALID_CONFIG
    assert value_of(connection, topic, "retention.ms") == "-1"


def test_a_key_twice_in_a_request_is_refused(connection: Connection, topic: str) -> None:
    """The order of the two would decide, so neither is done: INVALID_REQUEST."""
    change = ("retention.ms", Op.SET, "1")
    result = changed(connection, topic, change, ("retention.ms", Op.DELETE, None))
    assert result.error_code == Error.INVALID_REQUEST
    assert value_of(connection, topic, "retention.ms") == "-1"


def test_an_unknown_topic_is_refused(connection: Connection, topic_name: str) -> None:
    """Configs come with a topic, never before it."""
    unknown = Error.UNKNOWN_TOPIC_OR_PARTITION
    change = ("retention.ms", Op.SET, "1")
    assert changed(connection, topic_name, change).error_code == unknown
    assert replaced(connection, topic_name, {"retention.ms": "1"}).error_code == unknown


def test_a_new_topic_inherits_the_brokers_dynamic_config(
    connection: Connection, new_topic: Callable[..., str]
) -> None:
    """KIP-226: the broker's own dynamic value beats the default, for topics without one."""
    (broker,) = connection.ask(metadata_request(), 12).brokers
    name = str(broker.node_id)
    key = "log.cleaner.delete.retention.ms"
    topic = new_topic()
    try:
        result = changed(connection, name, (key, Op.SET, "12345"), kind=Resource.BROKER)
        assert result.error_code == Error.NONE
        becomes(connection, topic, "delete.retention.ms", "12345")
        config = configs_of(connection, name, kind=Resource.BROKER)[key]
        assert (config.value, config.config_source) == ("12345", Source.DYNAMIC_BROKER)
    finally:
        changed(connection, name, (key, Op.DELETE, None), kind=Resource.BROKER)
    becomes(connection, topic, "delete.retention.ms", "86400000")


def test_a_read_only_broker_config_is_refused(connection: Connection) -> None:
    """What needs a restart cannot be changed while the broker runs: INVALID_REQUEST."""
    (broker,) = connection.ask(metadata_request(), 12).brokers
    change = ("socket.receive.buffer.bytes", Op.SET, "1")
    result = changed(connection, str(broker.node_id), change, kind=Resource.BROKER)
    assert result.error_code in (Error.INVALID_REQUEST, Error.INVALID_CONFIG)
