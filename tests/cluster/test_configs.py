"""Five levels of settings: precedence, fall-through, and their description."""

from __future__ import annotations

import pytest

from headrace.cluster.broker_config import BrokerConfig, ConfigSource
from headrace.cluster.config_keys import BROKER_KEYS, GROUP_KEYS, TOPIC_KEYS
from headrace.cluster.config_types import ConfigType
from headrace.cluster.configs import (
    ConfigEntry,
    describe_broker,
    describe_cluster_default,
    describe_group,
    describe_topic,
    group_value,
    topic_settings,
    topic_value,
)
from headrace.log import LogConfig

KEY = "min.insync.replicas"


@pytest.mark.spec(
    "admin:RQ-21", "admin:RQ-22", "admin:RQ-24", "admin:RQ-25", "admin:RQ-27", "slides:A53"
)
def test_removing_a_level_exposes_the_next() -> None:
    """min.insync.replicas on broker 107: topic, broker, cluster, file, built-in, in this order."""
    static = BrokerConfig({"broker.id": "107", KEY: "2"})
    broker = static.with_dynamic({KEY: "4"}, {KEY: "3"})
    assert topic_value(KEY, {KEY: "5"}, broker) == 5
    assert topic_value(KEY, {}, broker) == 4
    assert topic_value(KEY, {}, static.with_dynamic({}, {KEY: "3"})) == 3
    assert topic_value(KEY, {}, static.with_dynamic({}, {})) == 2
    assert topic_value(KEY, {}, BrokerConfig({"broker.id": "107"})) == 1


@pytest.mark.spec("admin:RQ-21", "admin:RQ-22", "admin:RQ-24")
def test_a_dynamic_value_of_one_broker_wins_over_that_of_all() -> None:
    """The broker's own getters follow the same order, without a restart."""
    static = BrokerConfig({"log.cleaner.threads": "4"})
    assert (
        static.with_dynamic({"log.cleaner.threads": "6"}, {"log.cleaner.threads": "5"}).get_int(
            "log.cleaner.threads"
        )
        == 6
    )
    assert static.with_dynamic({}, {"log.cleaner.threads": "5"}).get_int("log.cleaner.threads") == 5
    assert static.get_int("log.cleaner.threads") == 4


@pytest.mark.spec("admin:RQ-23")
@pytest.mark.parametrize(
    ("topic_key", "broker_key", "value"),
    [
        ("segment.bytes", "log.segment.bytes", "2000000"),
        ("max.message.bytes", "message.max.bytes", "65536"),
        ("cleanup.policy", "log.cleanup.policy", "compact"),
        ("retention.bytes", "log.retention.bytes", "7"),
        ("flush.messages", "log.flush.interval.messages", "8"),
        ("index.interval.bytes", "log.index.interval.bytes", "9"),
        ("delete.retention.ms", "log.cleaner.delete.retention.ms", "10"),
        ("min.cleanable.dirty.ratio", "log.cleaner.min.cleanable.ratio", "0.25"),
        ("file.delete.delay.ms", "log.segment.delete.delay.ms", "11"),
        ("compression.type", "compression.type", "zstd"),
    ],
)
def test_topic_keys_have_broker_keys_with_other_names(
    topic_key: str, broker_key: str, value: str
) -> None:
    """A topic that sets nothing takes the broker's value; its own override wins."""
    broker = BrokerConfig({broker_key: value})
    key = TOPIC_KEYS[topic_key]
    assert topic_value(topic_key, {}, broker) == key.parse(value)
    assert topic_value(topic_key, {topic_key: key.default or ""}, broker) == key.parse(
        key.default or ""
    )


@pytest.mark.parametrize(
    ("static", "expected"),
    [
        ({}, 7 * 24 * 3_600_000),
        ({"log.retention.hours": "1"}, 3_600_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "2"}, 120_000),
        (
            {
                "log.retention.hours": "1",
                "log.retention.minutes": "2",
                "log.retention.ms": "3",
            },
            3,
        ),
        ({"log.retention.hours": "-1"}, -1),
        ({"log.retention.ms": "-1"}, -1),
    ],
)
def test_retention_in_milliseconds_minutes_or_hours(static: dict[str, str], expected: int) -> None:
    """The finest unit wins; a negative time means for ever; the default is seven days."""
    assert topic_value("retention.ms", {}, BrokerConfig(static)) == expected


@pytest.mark.spec("slides:A44", "slides:A47", "slides:A48")
def test_keys_that_fall_back_to_other_keys() -> None:
    """log.roll.ms over log.roll.hours, log.flush.interval.ms over the scheduler's period."""
    assert topic_value("segment.ms", {}, BrokerConfig()) == 168 * 3_600_000
    assert topic_value("segment.ms", {}, BrokerConfig({"log.roll.hours": "2"})) == 7_200_000
    both = BrokerConfig({"log.roll.hours": "2", "log.roll.ms": "5"})
    assert topic_value("segment.ms", {}, both) == 5
    jitter = BrokerConfig({"log.roll.jitter.hours": "1"})
    assert topic_value("segment.jitter.ms", {}, jitter) == 3_600_000
    scheduled = BrokerConfig({"log.flush.scheduler.interval.ms": "1000"})
    assert topic_value("flush.ms", {}, scheduled) == 1000
    exact = BrokerConfig({"log.flush.scheduler.interval.ms": "1000", "log.flush.interval.ms": "9"})
    assert topic_value("flush.ms", {}, exact) == 9


@pytest.mark.spec("admin:RQ-26")
def test_brokers_with_different_files_disagree() -> None:
    """The same topic behaves as the broker's file says that acts; this is not mended."""
    one = BrokerConfig({"num.partitions": "1", "log.retention.ms": "1"})
    two = BrokerConfig({"num.partitions": "6", "log.retention.ms": "2"})
    assert one.get_int("num.partitions") != two.get_int("num.partitions")
    assert topic_value("retention.ms", {}, one) != topic_value("retention.ms", {}, two)


def test_all_effective_values_of_a_topic() -> None:
    """What a log reads, typed, under Kafka's names in Python's spelling; also a broker's own."""
    broker = BrokerConfig({"log.roll.ms": "9"})
    values = topic_settings(LogConfig, {"segment.bytes": "1048576"}, broker)
    assert values.segment_bytes == 1048576
    assert values.segment_ms == 9
    assert values.cleanup_policy == ("delete",)
    assert values.unclean_leader_election_enable is False
    assert values.min_cleanable_dirty_ratio == 0.5
    assert values.producer_id_expiration_ms == 86_400_000


def one(entries: list[ConfigEntry]) -> ConfigEntry:
    assert len(entries) == 1
    return entries[0]


def test_a_topic_lists_every_setting_with_its_default() -> None:
    """DescribeConfigs shows all settings of a topic, not only those that were set."""
    entries = describe_topic({}, BrokerConfig())
    assert [entry.name for entry in entries] == list(TOPIC_KEYS)
    assert all(entry.source is ConfigSource.DEFAULT_CONFIG for entry in entries)
    assert all(not entry.read_only for entry in entries)
    assert all(entry.value is not None for entry in entries)
    assert all(entry.documentation for entry in entries)


@pytest.mark.spec("admin:RQ-24", "slides:A53")
def test_a_topic_setting_shows_where_it_comes_from() -> None:
    """The synonyms are the levels in order, the strongest first, under the keys they have there."""
    broker = BrokerConfig({KEY: "2"}, dynamic={KEY: "4"}, dynamic_default={KEY: "3"})
    entry = one(describe_topic({KEY: "5"}, broker, [KEY]))
    assert (entry.value, entry.source) == ("5", ConfigSource.TOPIC_CONFIG)
    assert [(level.value, int(level.source)) for level in entry.synonyms] == [
        ("5", 1),
        ("4", 2),
        ("3", 3),
        ("2", 4),
        ("1", 5),
    ]
    entry = one(describe_topic({}, BrokerConfig({"log.retention.hours": "1"}), ["retention.ms"]))
    assert (entry.value, entry.source) == ("3600000", ConfigSource.STATIC_BROKER_CONFIG)
    assert [(level.name, level.value) for level in entry.synonyms] == [
        ("log.retention.hours", "1"),
        ("log.retention.hours", "168"),
    ]


def test_a_broker_lists_every_setting() -> None:
    """Types, read-only flags and sources are those of DescribeConfigs v3 and later."""
    broker = BrokerConfig(
        {"num.partitions": "3", "log.retention.hours": "1"}, dynamic={"log.cleaner.threads": "9"}
    )
    entries = {entry.name: entry for entry in describe_broker(broker)}
    assert list(entries) == list(BROKER_KEYS)
    assert entries["num.partitions"].read_only
    assert entries["num.partitions"].source is ConfigSource.STATIC_BROKER_CONFIG
    assert entries["log.cleaner.threads"].value == "9"
    assert entries["log.cleaner.threads"].source is ConfigSource.DYNAMIC_BROKER_CONFIG
    assert not entries["log.cleaner.threads"].read_only
    assert entries["log.cleaner.threads"].type is ConfigType.INT
    assert entries["broker.rack"].value is None
    assert entries["log.retention.ms"].value is None
    assert entries["log.retention.ms"].synonyms[0].name == "log.retention.hours"
    assert entries["log.retention.hours"].value == "1"
    assert describe_broker(broker, []) == []


def test_passwords_are_never_described() -> None:
    """Value and synonyms of a password are null, at every level."""
    broker = BrokerConfig(
        {"ssl.keystore.password": "one"}, dynamic={"ssl.keystore.password": "two"}
    )
    entry = one(describe_broker(broker, ["ssl.keystore.password"]))
    assert entry.is_sensitive
    assert entry.value is None
    assert [level.value for level in entry.synonyms] == [None, None]
    default = one(describe_cluster_default({"ssl.keystore.password": "x"}))
    assert default.value is None


def test_the_cluster_default_lists_only_what_is_set() -> None:
    """The empty broker name stands for all brokers; there are no defaults below it."""
    configs = {"log.cleaner.threads": "5", "log.retention.ms": "7"}
    entries = describe_cluster_default(configs)
    assert [entry.name for entry in entries] == ["log.cleaner.threads", "log.retention.ms"]
    assert {entry.source for entry in entries} == {ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG}
    assert one(describe_cluster_default(configs, ["log.cleaner.threads"])).value == "5"


def test_a_group_falls_back_to_its_coordinator() -> None:
    """KIP-848: a group's own setting stands above every level of the broker."""
    key, broker_key = "consumer.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms"
    broker = BrokerConfig({broker_key: "6000"})
    assert group_value(key, {key: "7000"}, broker) == 7000
    assert group_value(key, {}, broker) == 6000
    assert group_value(key, {}, BrokerConfig({})) == 5000
    (entry,) = describe_group({key: "7000"}, broker, [key])
    assert (entry.value, entry.source, entry.read_only) == (
        "7000",
        ConfigSource.GROUP_CONFIG,
        False,
    )
    levels = [(level.name, level.value, level.source) for level in entry.synonyms]
    assert levels == [
        (key, "7000", ConfigSource.GROUP_CONFIG),
        (broker_key, "6000", ConfigSource.STATIC_BROKER_CONFIG),
        (broker_key, "5000", ConfigSource.DEFAULT_CONFIG),
    ]
    assert [entry.name for entry in describe_group({}, broker)] == list(GROUP_KEYS)


@pytest.mark.parametrize(("edge", "limit"), [("min", 48_000), ("max", 46_000)])
def test_a_groups_value_stays_within_todays_limits(edge: str, limit: int) -> None:
    """Limits that an operator has changed since hold for values that were taken before."""
    key = "consumer.session.timeout.ms"
    broker = BrokerConfig({f"group.consumer.{edge}.session.timeout.ms": str(limit)})
    assert group_value(key, {key: "47000"}, broker) == limit
