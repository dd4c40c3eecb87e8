"""DescribeConfigs: every config of a topic or broker, its value in force and where it is from."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.errors import Error
from tests.clients.configs import Resource, Source, configs_of, described
from tests.clients.raw import Connection
from tests.clients.requests import metadata_request

# Kafka's topic configs with their defaults, but for those of tiered storage.
TOPIC_DEFAULTS = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "delete.retention.ms": "86400000",
    "file.delete.delay.ms": "60000",
    "flush.messages": "9223372036854775807",
    "flush.ms": "9223372036854775807",
    "index.interval.bytes": "4096",
    "max.compaction.lag.ms": "9223372036854775807",
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": "9223372036854775807",
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "min.insync.replicas": "1",
    "preallocate": "false",
    "retention.bytes": "-1",
    "segment.bytes": "1073741824",
    "segment.index.bytes": "10485760",
    "segment.jitter.ms": "0",
    "segment.ms": "604800000",
    "unclean.leader.election.enable": "false",
}
BOOLEAN, STRING, INT, LONG, DOUBLE, LIST = 1, 2, 3, 5, 6, 7


@pytest.mark.parametrize("version", range(1, 5))
def test_every_config_is_told_with_its_default(
    connection: Connection, topic: str, version: int
) -> None:
    """The list is whole: overridden or not, with the value that is in force."""
    configs = configs_of(connection, topic, version=version)
    values = {name: config.value for name, config in configs.items()}
    assert {name: values.get(name) for name in TOPIC_DEFAULTS} == TOPIC_DEFAULTS
    assert values["retention.ms"] == "-1"
    assert configs["retention.ms"].config_source == Source.DYNAMIC_TOPIC
    assert configs["flush.ms"].config_source == Source.DEFAULT
    assert not any(config.is_sensitive or config.read_only for config in configs.values())


def test_one_key_can_be_asked_for(connection: Connection, topic: str) -> None:
    """A list of keys narrows the answer; unknown ones are left out, an empty list gives none."""
    keys = ["flush.ms", "no.such.config", "retention.ms"]
    assert sorted(configs_of(connection, topic, keys=keys)) == ["flush.ms", "retention.ms"]


def test_synonyms_show_the_levels(connection: Connection, new_topic: Callable[..., str]) -> None:
    """KIP-226: the topic's own value first, the broker's default under its own name last."""
    topic = new_topic(config={"max.message.bytes": "5000"})
    config = configs_of(connection, topic, synonyms=True)["max.message.bytes"]
    levels = [(each.name, each.value, each.source) for each in config.synonyms]
    assert levels == [
        ("max.message.bytes", "5000", Source.DYNAMIC_TOPIC),
        ("message.max.bytes", "1048588", Source.DEFAULT),
    ]
    assert configs_of(connection, topic)["max.message.bytes"].synonyms == []


def test_types_and_documentation(connection: Connection, topic: str) -> None:
    """KIP-569: v3 tells a config's type, and what it means when asked."""
    configs = configs_of(connection, topic, documentation=True)
    types = {
        "preallocate": BOOLEAN,
        "compression.type": STRING,
        "segment.bytes": INT,
        "retention.ms": LONG,
        "min.cleanable.dirty.ratio": DOUBLE,
        "cleanup.policy": LIST,
    }
    assert {name: configs[name].config_type for name in types} == types
    assert all(config.documentation for config in configs.values())
    plain = configs_of(connection, topic)
    assert not any(config.documentation for config in plain.values())


def test_a_broker_has_configs_too(connection: Connection) -> None:
    """A broker is asked by its id; settings of its file are static, the rest defaults."""
    (broker,) = connection.ask(metadata_request(), 12).brokers
    configs = configs_of(connection, str(broker.node_id), kind=Resource.BROKER)
    partitions = configs["num.partitions"]
    assert (partitions.value, partitions.config_source) == ("4", Source.STATIC_BROKER)
    assert configs["log.segment.bytes"].config_source == Source.DEFAULT
    assert configs["message.max.bytes"].value == "1048588"
    assert len(configs) > 50


def test_an_unknown_topic_is_refused(connection: Connection, topic_name: str) -> None:
    """UNKNOWN_TOPIC_OR_PARTITION, and no config."""
    result = described(connection, topic_name)
    assert (result.error_code, result.configs) == (Error.UNKNOWN_TOPIC_OR_PARTITION, [])
    assert (result.resource_type, result.resource_name) == (Resource.TOPIC, topic_name)


@pytest.mark.parametrize("name", ["", "a b", ".."])
def test_an_impossible_topic_name_is_refused(connection: Connection, name: str) -> None:
    """INVALID_TOPIC_EXCEPTION, as everywhere."""
    assert described(connection, name).error_code == Error.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("name", ["99999", "one"])
def test_another_brokers_configs_are_refused(connection: Connection, name: str) -> None:
    """A broker answers for itself: another id, or none, is INVALID_REQUEST."""
    result = described(connection, name, kind=Resource.BROKER)
    assert result.error_code == Error.INVALID_REQUEST
