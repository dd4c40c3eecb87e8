"""Requests to change settings: what they lead to and why they are refused."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.config_changes import (
    AlterOp,
    ConfigOp,
    alter_broker,
    alter_group,
    alter_topic,
    incremental_alter_broker,
    incremental_alter_group,
    incremental_alter_topic,
)
from headrace.cluster.config_owners import ALL_BROKERS, broker_owner, group_owner, topic_owner
from headrace.cluster.configs import topic_value
from headrace.cluster.image import (
    ClusterImage,
    ConfigChanged,
)
from headrace.cluster.topics import NewTopic
from headrace.errors import ClientFault, Error
from tests.cluster.clusters import cluster, with_topics

SET, DELETE, APPEND, SUBTRACT = AlterOp.SET, AlterOp.DELETE, AlterOp.APPEND, AlterOp.SUBTRACT


@pytest.fixture
def image() -> ClusterImage:
    configs = {"retention.ms": "1000", "cleanup.policy": "compact"}
    return with_topics(cluster([0, 107]), NewTopic("t", 1, 1, configs=configs))


def test_replacing_forgets_what_is_not_given(image: ClusterImage) -> None:
    """AlterConfigs: the topic has exactly the given overrides afterwards."""
    assert alter_topic(image, "t", {"segment.ms": "5"}) == ConfigChanged(
        topic_owner("t"), {"segment.ms": "5"}
    )
    assert alter_topic(image, "t", {}) == ConfigChanged(topic_owner("t"), {})


def test_incremental_changes_touch_only_what_they_name(image: ClusterImage) -> None:
    """KIP-339: set, delete, append and subtract; the rest stays."""
    ops = [
        ConfigOp("segment.ms", SET, " 5 "),
        ConfigOp("retention.ms", DELETE),
        ConfigOp("cleanup.policy", APPEND, "delete,compact"),
    ]
    assert incremental_alter_topic(image, "t", ops).configs == {
        "cleanup.policy": "compact,delete",
        "segment.ms": "5",
    }
    ops = [ConfigOp("cleanup.policy", SUBTRACT, "compact"), ConfigOp("flush.ms", DELETE)]
    assert incremental_alter_topic(image, "t", ops).configs == {
        "retention.ms": "1000",
        "cleanup.policy": "",
    }


def test_appending_to_an_unset_list_begins_with_the_default(image: ClusterImage) -> None:
    """Kafka takes the built-in value as the beginning."""
    image.apply([ConfigChanged(topic_owner("t"), {})])
    change = incremental_alter_topic(image, "t", [ConfigOp("cleanup.policy", APPEND, "compact")])
    assert change.configs == {"cleanup.policy": "delete,compact"}


@pytest.mark.parametrize(
    ("ops", "error", "text"),
    [
        ([ConfigOp("x", SET, "1")], Error.INVALID_CONFIG, "Unknown topic config name: x"),
        ([ConfigOp("segment.ms", SET, "0")], Error.INVALID_CONFIG, "allowed is at least 1"),
        ([ConfigOp("segment.ms", SET, None)], Error.INVALID_REQUEST, "has no value"),
        ([ConfigOp("segment.ms", 4, "1")], Error.INVALID_REQUEST, "Unknown operation 4"),
        ([ConfigOp("segment.ms", APPEND, "1")], Error.INVALID_CONFIG, "is not a list"),
        ([ConfigOp("x", APPEND, "1")], Error.INVALID_CONFIG, "is not a list"),
        (
            [ConfigOp("segment.ms", SET, "1"), ConfigOp("segment.ms", DELETE)],
            Error.INVALID_REQUEST,
            "occurs twice",
        ),
    ],
)
def test_wrong_topic_changes_are_refused(
    image: ClusterImage, ops: Sequence[ConfigOp], error: Error, text: str
) -> None:
    """Nothing of a request is taken if one line of it is wrong."""
    with pytest.raises(ClientFault, match=text) as caught:
        incremental_alter_topic(image, "t", ops)
    assert caught.value.error is error


def test_settings_of_an_unknown_topic_are_refused(image: ClusterImage) -> None:
    """UNKNOWN_TOPIC_OR_PARTITION from both requests."""
    with pytest.raises(ClientFault) as caught:
        alter_topic(image, "unknown", {})
    assert caught.value.error is Error.UNKNOWN_TOPIC_OR_PARTITION
    with pytest.raises(ClientFault) as caught:
        incremental_alter_topic(image, "unknown", [])
    assert caught.value.error is Error.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.spec("admin:RQ-21", "admin:RQ-22", "admin:RQ-25")
def test_broker_107_falls_through_when_a_dynamic_value_is_deleted(image: ClusterImage) -> None:
    """Set for the broker and for all, then delete one after the other, as the course asks."""
    key = "min.insync.replicas"
    static = BrokerConfig({"broker.id": "107", key: "2"})

    def effective() -> object:
        dynamic = image.config_of(broker_owner(107))
        broker = static.with_dynamic(dynamic, image.config_of(ALL_BROKERS))
        return topic_value(key, {}, broker)

    def change(broker_id: int | None, op: AlterOp, value: str | None = None) -> None:
        ops = [ConfigOp(key, op, value)]
        image.apply([incremental_alter_broker(image, broker_id, ops, static)])

    seen = [effective()]
    change(None, SET, "3")
    seen.append(effective())
    change(107, SET, "4")
    seen.append(effective())
    change(107, DELETE)
    seen.append(effective())
    change(None, DELETE)
    seen.append(effective())
    assert seen == [2, 3, 4, 3, 2]


def test_replacing_dynamic_settings_of_a_broker(image: ClusterImage) -> None:
    """AlterConfigs for one broker and for all."""
    static = BrokerConfig()
    assert alter_broker(image, 107, {"log.cleaner.threads": "4"}, static) == ConfigChanged(
        broker_owner(107), {"log.cleaner.threads": "4"}
    )
    assert alter_broker(image, None, {"preallocate": None}, static) == ConfigChanged(
        broker_owner(None), {}
    )


@pytest.mark.parametrize(
    ("broker_id", "op", "error", "text"),
    [
        (9, ConfigOp("log.cleaner.threads", SET, "1"), Error.BROKER_ID_NOT_REGISTERED, "id 9"),
        (107, ConfigOp("num.replica.fetchers", SET, "0"), Error.INVALID_REQUEST, "at least 1"),
        (107, ConfigOp("num.partitions", SET, "3"), Error.INVALID_REQUEST, "server.properties"),
        (107, ConfigOp("num.partitions", DELETE), Error.INVALID_REQUEST, "server.properties"),
        (107, ConfigOp("no.such.key", SET, "1"), Error.INVALID_REQUEST, "Unknown broker config"),
        (None, ConfigOp("cordoned.log.dirs", SET, "*"), Error.INVALID_REQUEST, "one broker"),
        (107, ConfigOp("num.io.threads", SET, "9"), Error.INVALID_REQUEST, "server.properties"),
        (
            None,
            ConfigOp("listener.name.x.ssl.client.auth", SET, "none"),
            Error.INVALID_REQUEST,
            "one broker",
        ),
        (
            107,
            ConfigOp("log.cleaner.min.compaction.lag.ms", SET, "9"),
            Error.INVALID_REQUEST,
            "log.cleaner.max.compaction.lag.ms",
        ),
        (
            107,
            ConfigOp("listener.name.clients.ssl.keystore.password", SET, "hunter2"),
            Error.INVALID_REQUEST,
            "password.encoder.secret",
        ),
    ],
)
def test_wrong_broker_changes_are_refused(
    image: ClusterImage, broker_id: int | None, op: ConfigOp, error: Error, text: str
) -> None:
    """Read-only, unknown, wrong, or wrong together with the broker's file (KAFKA-13609)."""
    static = BrokerConfig({"log.cleaner.max.compaction.lag.ms": "5"})
    with pytest.raises(ClientFault, match=text) as caught:
        incremental_alter_broker(image, broker_id, [op], static)
    assert caught.value.error is error


def test_a_listener_of_one_broker_can_be_changed(image: ClusterImage) -> None:
    """Certificates are renewed without a restart."""
    op = ConfigOp("listener.name.clients.ssl.keystore.location", SET, "/new")
    change = incremental_alter_broker(image, 107, [op], BrokerConfig())
    assert change.configs == {"listener.name.clients.ssl.keystore.location": "/new"}


SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


def test_a_group_needs_not_exist_to_have_settings(image: ClusterImage) -> None:
    """KIP-848: the settings wait for the group; each request says what the group has afterwards."""
    broker = BrokerConfig({})
    first = incremental_alter_group(image, "g", [ConfigOp(SESSION, SET, " 50000 ")], broker)
    assert first == ConfigChanged(group_owner("g"), {SESSION: "50000"})
    image.apply([first])
    both = incremental_alter_group(image, "g", [ConfigOp(HEARTBEAT, SET, "6000")], broker)
    assert both == ConfigChanged(group_owner("g"), {SESSION: "50000", HEARTBEAT: "6000"})
    assert alter_group(image, "g", {HEARTBEAT: "7000"}, broker).configs == {HEARTBEAT: "7000"}
    assert incremental_alter_group(image, "g", [ConfigOp(SESSION, DELETE)], broker).configs == {}


@pytest.mark.parametrize(
    ("group", "configs", "error", "text"),
    [
        ("g", {SESSION: "44999"}, Error.INVALID_CONFIG, "group.consumer.min.session.timeout.ms is"),
        ("g", {SESSION: "60001"}, Error.INVALID_CONFIG, "group.consumer.max.session.timeout.ms is"),
        ("g", {SESSION: "x"}, Error.INVALID_CONFIG, "Invalid value x"),
        ("g", {"session.timeout.ms": "1"}, Error.INVALID_CONFIG, "Unknown group config name"),
        ("g", {SESSION: None}, Error.INVALID_REQUEST, "has no value"),
        ("", {SESSION: "50000"}, Error.INVALID_REQUEST, "name one"),
        ("ü" * 200, {SESSION: "50000"}, Error.INVALID_REQUEST, "too long"),
    ],
)
def test_wrong_group_changes_are_refused(
    image: ClusterImage, group: str, configs: dict[str, str | None], error: Error, text: str
) -> None:
    """The broker's own settings are the limits of what a group may set."""
    with pytest.raises(ClientFault, match=text) as caught:
        alter_group(image, group, configs, BrokerConfig({}))
    assert caught.value.error is error


def test_a_session_is_longer_than_a_heartbeat_interval(image: ClusterImage) -> None:
    """Values that are right alone and wrong together, with the broker's own for what is not set."""
    broker = BrokerConfig(
        {
            "group.consumer.min.session.timeout.ms": "1",
            "group.consumer.max.heartbeat.interval.ms": "60000",
        }
    )
    for configs in ({SESSION: "5000"}, {SESSION: "9000", HEARTBEAT: "9000"}, {HEARTBEAT: "45000"}):
        with pytest.raises(ClientFault, match="is not larger than") as caught:
            alter_group(image, "g", dict(configs), broker)
        assert caught.value.error is Error.INVALID_CONFIG
    assert alter_group(image, "g", {SESSION: "5001"}, broker).configs == {SESSION: "5001"}
