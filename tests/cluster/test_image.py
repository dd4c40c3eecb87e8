"""The image: `apply` is the only mutator, and it is cheap."""

from __future__ import annotations

import pytest

from headrace.cluster.image import (
    BrokerConfigChanged,
    BrokerRegistered,
    BrokerUnregistered,
    ControllerChanged,
    FeaturesChanged,
    GroupConfigChanged,
    PartitionChanged,
    PartitionImage,
    TopicConfigChanged,
)
from headrace.cluster.topics import NewTopic, create_partitions, delete_topic
from headrace.errors import InvariantViolated
from tests.cluster.clusters import broker, cluster, created, ids, with_topics


def test_topics_are_found_by_name_and_by_id() -> None:
    """Creation fills both tables, deletion empties them and the settings."""
    image = with_topics(cluster(), NewTopic("t", 1, 1, configs={"retention.ms": "5"}))
    topic = image.topics["t"]
    assert image.topic_names == {topic.id: "t"}
    assert image.topic_configs == {"t": {"retention.ms": "5"}}
    image.apply([delete_topic(image, name="t")])
    assert (image.topics, image.topic_names, image.topic_configs) == ({}, {}, {})
    assert image.colliding_topic("t") is None


def test_colliding_topics_from_a_disk_can_both_be_deleted() -> None:
    """Nobody can create 'a.b' beside 'a_b', but folders of both may be copied in."""
    image = cluster()
    new_id = ids()
    for name in ("a.b", "a_b"):
        image.apply([created(cluster(), NewTopic(name, 1, 1), new_id=new_id)])
    image.apply([delete_topic(image, name="a.b")])
    assert image.colliding_topic("a.b") == "a_b"
    image.apply([delete_topic(image, name="a_b")])
    assert image.colliding_topic("a.b") is None


def test_a_partition_is_found_or_not() -> None:
    """Unknown topics and numbers out of range give None, negative ones too."""
    image = with_topics(cluster(), NewTopic("t", 2, 1))
    assert image.partition("t", 1) is image.topics["t"].partitions[1]
    for name, number in (("x", 0), ("t", 2), ("t", -1)):
        assert image.partition(name, number) is None


def test_partition_epochs_grow_one_by_one() -> None:
    """A change that was decided on another state than this one is a broken invariant."""
    image = with_topics(cluster(), NewTopic("t", 1, 1))
    image.apply([PartitionChanged("t", 0, PartitionImage((0,), (0,), 0, 1, partition_epoch=1))])
    with pytest.raises(InvariantViolated, match="epoch 1 is followed by 3"):
        image.apply([PartitionChanged("t", 0, PartitionImage((0,), (0,), 0, 2, 3))])


def test_feature_epochs_grow_one_by_one() -> None:
    """A change that was decided on other levels than these is a broken invariant."""
    image = cluster()
    image.apply([FeaturesChanged({"group.version": 1}, 0)])
    with pytest.raises(InvariantViolated, match="epoch 0 is followed by 2"):
        image.apply([FeaturesChanged({}, 2)])
    assert image.features == {"group.version": 1}


def test_a_kept_partition_does_not_change_under_its_reader() -> None:
    """Values are replaced, never changed in place."""
    image = with_topics(cluster(), NewTopic("t", 1, 1))
    kept = image.topics["t"].partitions[0]
    image.apply([PartitionChanged("t", 0, PartitionImage((0,), (0,), 0, 1, 1))])
    assert kept.leader_epoch == 0
    assert image.topics["t"].partitions[0].leader_epoch == 1


def test_added_partitions_replace_the_topic() -> None:
    """The topic is whole before and after."""
    image = with_topics(cluster(), NewTopic("t", 1, 1))
    image.apply([create_partitions(image, "t", 3)])
    assert len(image.topics["t"].partitions) == 3


def test_settings_without_values_take_no_room() -> None:
    """Removing the last override removes the resource from the table."""
    image = cluster()
    image.apply(
        [
            TopicConfigChanged("t", {"retention.ms": "1"}),
            BrokerConfigChanged(1, {"num.io.threads": "2"}),
            BrokerConfigChanged(None, {"num.io.threads": "3"}),
            GroupConfigChanged("g", {"consumer.session.timeout.ms": "50000"}, is_first=True),
        ]
    )
    assert image.group_configs == {"g": {"consumer.session.timeout.ms": "50000"}}
    assert image.broker_configs == {1: {"num.io.threads": "2"}}
    assert image.cluster_default_config == {"num.io.threads": "3"}
    image.apply(
        [
            TopicConfigChanged("t", {}),
            BrokerConfigChanged(1, {}),
            BrokerConfigChanged(None, {}),
            GroupConfigChanged("g", {}, is_first=False),
        ]
    )
    assert (image.topic_configs, image.broker_configs, image.group_configs) == ({}, {}, {})
    assert image.cluster_default_config == {}


def test_brokers_and_controller_come_and_go() -> None:
    """Registrations replace each other by id."""
    image = cluster([])
    image.apply([BrokerRegistered(broker(1)), BrokerRegistered(broker(1, "rack"))])
    assert image.brokers[1].rack == "rack"
    image.apply([BrokerUnregistered(1), BrokerUnregistered(1), ControllerChanged(2)])
    assert image.brokers == {}
    assert image.controller_id == 2
