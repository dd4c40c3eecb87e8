"""The declarations: complete, consistent, and with the defaults that the specification names."""

from __future__ import annotations

import re

import pytest

from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.config_keys import (
    BROKER_KEYS,
    TOPIC_KEYS,
    broker_key,
    broker_synonyms,
    topic_synonyms,
)
from headrace.cluster.config_types import ConfigKey, UpdateMode

ALL_KEYS = [*TOPIC_KEYS.values(), *BROKER_KEYS.values()]


@pytest.mark.spec("admin:RQ-27")
@pytest.mark.parametrize("key", ALL_KEYS, ids=lambda key: key.name)
def test_every_key_is_declared_properly(key: ConfigKey) -> None:
    """A default that its own rule accepts, and a sentence or two of documentation."""
    assert re.fullmatch(r"[a-z0-9]+(\.[a-z0-9]+)*", key.name)
    if key.default is not None:
        key.parse(key.default)
    assert 10 < len(key.documentation) < 300
    assert key.documentation.endswith(".")


def test_topic_keys_and_their_broker_keys_agree() -> None:
    """A synonym exists, can be changed cluster-wide, and its default is the topic key's."""
    broker = BrokerConfig()
    for name, key in TOPIC_KEYS.items():
        synonyms = topic_synonyms(name)
        for synonym in synonyms:
            assert synonym.name in BROKER_KEYS
        if synonyms:
            assert BROKER_KEYS[synonyms[0].name].mode is UpdateMode.CLUSTER_WIDE
            setting = next(broker.settings(synonyms))
            value = BROKER_KEYS[setting.name].parse(setting.text)
            expected = key.parse(key.default or "")
            assert (value * setting.unit if setting.unit > 1 else value) == expected, name


@pytest.mark.parametrize(
    ("name", "default"),
    [
        pytest.param("auto.create.topics.enable", True),
        pytest.param("auto.leader.rebalance.enable", True, marks=pytest.mark.spec("slides:A33")),
        pytest.param("authorizer.class.name", "", marks=pytest.mark.spec("slides:A30")),
        pytest.param("background.threads", 10, marks=pytest.mark.spec("slides:A34")),
        pytest.param("broker.id.generation.enable", True, marks=pytest.mark.spec("slides:A25")),
        pytest.param("broker.rack", None, marks=pytest.mark.spec("slides:A26")),
        pytest.param("compression.type", "producer"),
        pytest.param("connections.max.idle.ms", 600000),
        pytest.param("controlled.shutdown.enable", True, marks=pytest.mark.spec("slides:A36")),
        pytest.param("controlled.shutdown.max.retries", 3, marks=pytest.mark.spec("slides:A37")),
        pytest.param(
            "controlled.shutdown.retry.backoff.ms", 5000, marks=pytest.mark.spec("slides:A38")
        ),
        pytest.param("controller.socket.timeout.ms", 30000, marks=pytest.mark.spec("slides:A39")),
        pytest.param("default.replication.factor", 1),
        pytest.param("log.cleaner.threads", 1),
        pytest.param("log.cleanup.policy", ["delete"]),
        pytest.param("log.dir", ["/tmp/kafka-logs"], marks=pytest.mark.spec("slides:A41")),
        pytest.param(
            "log.flush.interval.messages", 2**63 - 1, marks=pytest.mark.spec("slides:A43")
        ),
        pytest.param(
            "log.flush.offset.checkpoint.interval.ms", 60000, marks=pytest.mark.spec("slides:A45")
        ),
        pytest.param(
            "log.flush.scheduler.interval.ms", 2**63 - 1, marks=pytest.mark.spec("slides:A46")
        ),
        pytest.param("log.index.size.max.bytes", 10 * 1024 * 1024),
        pytest.param("log.roll.hours", 168, marks=pytest.mark.spec("slides:A47")),
        pytest.param("log.segment.bytes", 1073741824),
        pytest.param("log.segment.delete.delay.ms", 60000),
        pytest.param("max.connections.per.ip", 2147483647),
        pytest.param("num.io.threads", 8),
        pytest.param("num.network.threads", 3),
        pytest.param("num.partitions", 1),
        pytest.param("num.replica.fetchers", 1, marks=pytest.mark.spec("slides:B24")),
        pytest.param(
            "leader.imbalance.check.interval.seconds", 300, marks=pytest.mark.spec("slides:B22")
        ),
        pytest.param("leader.imbalance.per.broker.percentage", 10),
        pytest.param("offsets.topic.num.partitions", 50),
        pytest.param("offsets.topic.replication.factor", 3),
        pytest.param("queued.max.requests", 500),
        ("replica.lag.time.max.ms", 30000),
        pytest.param("socket.send.buffer.bytes", 102400),
        pytest.param("transaction.max.timeout.ms", 900000),
        pytest.param("unclean.leader.election.enable", False),
    ],
)
def test_built_in_values(name: str, default: object) -> None:
    """What a broker does that was told nothing."""
    assert BrokerConfig().get(name) == default


def test_the_broker_compresses_in_every_codec_or_not_at_all() -> None:
    """compression.type keeps the producer's codec by default, and takes any other."""
    for codec in ("producer", "gzip", "snappy", "lz4", "zstd", "uncompressed"):
        assert BrokerConfig({"compression.type": codec}).get("compression.type") == codec
    assert BrokerConfig().get("compression.type") == "producer"


def test_old_files_are_known() -> None:
    """Keys that Kafka 4 has dropped are read without a warning."""
    old = {
        "port": "9092",
        "host.name": "localhost",
        "advertised.host.name": "h",
        "advertised.port": "1",
        "zookeeper.connect": "localhost:2181/kafka",
        "zookeeper.connection.timeout.ms": "6000",
        "inter.broker.protocol.version": "2.8",
        "log.message.format.version": "2.8",
        "replica.lag.max.messages": "4000",
        "listener.name.clients.ssl.keystore.location": "/x",
        "listener.name.clients.scram-sha-256.sasl.jaas.config": "x",
    }
    assert BrokerConfig(old).unknown_keys == []


def test_keys_of_one_listener_are_declared_by_their_last_part() -> None:
    """`listener.name.X.key`, also with a SASL mechanism in between, falls back to `key`."""
    name = "listener.name.clients.scram-sha-256.sasl.jaas.config"
    assert broker_key(name) is BROKER_KEYS["sasl.jaas.config"]
    assert [synonym.name for synonym in broker_synonyms(name)] == [name, "sasl.jaas.config"]
    assert broker_key("listener.name.clients") is None
    assert broker_key("listener.name.clients.nothing") is None
    assert [synonym.name for synonym in broker_synonyms("log.retention.hours")] == [
        "log.retention.ms",
        "log.retention.minutes",
        "log.retention.hours",
    ]
