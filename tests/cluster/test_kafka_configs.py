"""Our declarations beside Apache Kafka's own: names, types, defaults, importance, update modes."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cluster.config_changes import check_topic_configs
from headrace.cluster.config_keys import BROKER_KEYS, GROUP_KEYS, TOPIC_KEYS
from headrace.cluster.config_types import ConfigKey
from headrace.errors import ClientFault
from tests.kafka.apache_kafka import java_command
from tests.kafka.toolchain import run

SOURCE = Path(__file__).with_name("KafkaConfigs.java")

# Subjects that do not exist here: Kafka's quorum and metadata log, tiered storage, the streams
# protocol, and the login of a Java client.
UNDECLARED = (
    "config.providers",
    "controller.quorum.",
    "follower.fetch.last.tiered.offset.enable",
    "group.streams.",
    "metadata.",
    "remote.",
    "sasl.client.callback.handler.class",
    "sasl.login.",
    "sasl.mechanism.controller.protocol",
    "sasl.oauthbearer.",
    "security.providers",
)
# Groups that do not exist here.
UNDECLARED_OF_GROUPS = ("streams.",)
# Settings that change nothing here while the broker runs, so they may not be changed then.
READ_ONLY = (
    "background.threads",
    "group.coordinator.cached.buffer.max.bytes",
    "listener.security.protocol.map",
    "listeners",
    "metric.reporters",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "principal.builder.class",
    "share.coordinator.cached.buffer.max.bytes",
)
# Java classes that mean nothing to this broker.
OTHER_DEFAULTS = {"metric.reporters": "", "principal.builder.class": "null"}


def lines(classpath: str, *arguments: str) -> list[list[str]]:
    output = run(java_command(classpath, SOURCE, *arguments), timeout_seconds=100)
    return [line.split("\t") for line in output.decode().splitlines()]


def described(key: ConfigKey, mode: str) -> list[str]:
    default = "null" if key.default is None else key.default
    return [key.name, key.type.name, default, key.importance.name, mode]


@pytest.mark.slow
def test_declarations_are_kafkas(kafka_classpath: str) -> None:
    """Every key of topics, groups and brokers that Kafka 4.3 has, as Kafka declares it."""
    declared: dict[str, dict[str, list[str]]] = {"topic": {}, "group": {}, "broker": {}}
    for kind, *facts in lines(kafka_classpath):
        facts[2] = OTHER_DEFAULTS.get(facts[0], facts[2])
        declared[kind][facts[0]] = facts
    topics, groups, brokers = declared["topic"], declared["group"], declared["broker"]
    assert {key.name: described(key, "-") for key in TOPIC_KEYS.values()} == topics
    assert {key.name: described(key, "-") for key in GROUP_KEYS.values()} == {
        name: facts for name, facts in groups.items() if not name.startswith(UNDECLARED_OF_GROUPS)
    }
    missing = [name for name in brokers if name not in BROKER_KEYS]
    assert [name for name in missing if not name.startswith(UNDECLARED)] == []
    for name, facts in brokers.items():
        if name in READ_ONLY:
            facts[4] = "read-only"
        if name in BROKER_KEYS:
            assert described(BROKER_KEYS[name], BROKER_KEYS[name].mode.value) == facts


@pytest.mark.slow
def test_topic_values_are_judged_as_by_kafka(kafka_classpath: str) -> None:
    """The edges of each rule: what Kafka takes we take, what it refuses we refuse."""
    asked = [
        *("cleanup.policy=", "cleanup.policy=delete,delete", "cleanup.policy=both"),
        *(
            "cleanup.policy=compact, delete",
            "cleanup.policy=Delete",
            "cleanup.policy=delete,,compact",
        ),
        *("compression.type=none", "compression.type=GZIP", "compression.type=zstd"),
        *("compression.gzip.level=0", "compression.gzip.level=-1", "compression.gzip.level=10"),
        *("compression.lz4.level=17", "compression.lz4.level=18", "compression.zstd.level=-131072"),
        *("flush.ms=", "flush.ms=+10", "flush.ms=0x10", "flush.ms=1_0", "flush.messages=0"),
        *("follower.replication.throttled.replicas=*", "leader.replication.throttled.replicas=x"),
        *("follower.replication.throttled.replicas=0:1,1:2", "local.retention.ms=-3"),
        *("min.cleanable.dirty.ratio=1", "min.cleanable.dirty.ratio=1.1"),
        *("min.cleanable.dirty.ratio=0,5", "min.cleanable.dirty.ratio=nan"),
        *("min.insync.replicas=0", "preallocate=yes", "preallocate= TRUE ", "retention.bytes=-5"),
        *("retention.ms=-1", "retention.ms=-2", "retention.ms= 5 ", "retention.ms=5.0"),
        *("retention.ms=9223372036854775807", "retention.ms=9223372036854775808"),
        *("segment.bytes=2147483647", "segment.bytes=2147483648", "segment.index.bytes=3"),
        *("segment.ms=0", "unclean.leader.election.enable=maybe", "no.such.key=1"),
    ]
    judged = {}
    for pair in asked:
        name, _, value = pair.partition("=")
        try:
            check_topic_configs({name: value})
            judged[pair] = "true"
        except ClientFault:
            judged[pair] = "false"
    assert judged == {pair: verdict for verdict, pair in lines(kafka_classpath, *asked)}
