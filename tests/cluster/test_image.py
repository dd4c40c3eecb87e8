"""The image: `apply` is the only mutator, and it is cheap."""

from __future__ import annotations

from dataclasses import replace

from headrace.cluster.config_owners import (
    ALL_BROKERS,
    OwnerKind,
    broker_owner,
    group_owner,
    topic_owner,
)
from headrace.cluster.image import (
    NO_NODE,
    BrokerRegistered,
    BrokerUnregistered,
    ConfigChanged,
    ControllerChanged,
    FeaturesChanged,
    PartitionChanged,
    PartitionImage,
    PartitionsAdded,
    TopicDeleted,
)
from headrace.cluster.topics import NewTopic, create_partitions, delete_topic
from tests.cluster.clusters import broker, cluster, created, ids, with_topics


def test_topics_are_found_by_name_and_by_id() -> None:
    """Creation fills both tables, deletion empties them and the settings."""
    image = with_topics(cluster(), NewTopic("t", 1, 1, configs={"retention.ms": "5"}))
    topic = image.topics["t"]
    assert image.topic_names == {topic.id: "t"}
    assert image.configs[OwnerKind.TOPIC] == {"t": {"retention.ms": "5"}}
    image.apply([delete_topic(image, name="t")])
    assert (image.topics, image.topic_names, image.configs[OwnerKind.TOPIC]) == ({}, {}, {})
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


def test_partition_epochs_only_grow() -> None:
    """Whatever is newer is taken, also with a gap; what is older or known changes nothing."""
    image = with_topics(cluster(), NewTopic("t", 1, 1))
    newer = PartitionImage((0,), (0,), 0, leader_epoch=1, partition_epoch=3)
    image.apply([PartitionChanged("t", 0, newer)])
    assert image.partition("t", 0) == newer
    for epoch in (0, 2, 3):
        image.apply([PartitionChanged("t", 0, PartitionImage((0,), (0,), 0, 9, epoch))])
        assert image.partition("t", 0) == newer
    image.apply([PartitionChanged("gone", 0, newer), PartitionChanged("t", 7, newer)])
    assert image.topics.keys() == {"t"}


def test_replicas_that_change_together_are_one_version_of_the_topic() -> None:
    """One transaction writes the topic's node once, however many partitions move in it."""
    image = with_topics(cluster(), NewTopic("t", 3, 1))
    moved = [PartitionImage((1, 0), (0,), 0, 0, 1, adding=(1,), removing=(0,)) for _ in range(2)]
    image.apply(PartitionChanged("t", number, after) for number, after in enumerate(moved))
    assert image.topics["t"].version == 1
    assert image.topics["t"].partitions[:2] == moved
    image.apply([PartitionChanged("t", 2, PartitionImage((1,), (1,), 1, 1, 1))])
    assert image.topics["t"].version == 2
    shrunk = replace(moved[0], isr=(0,), leader=-1, partition_epoch=2)
    image.apply([PartitionChanged("t", 0, shrunk)])
    assert image.topics["t"].version == 2


def test_replicas_may_be_heard_of_after_the_state() -> None:
    """A move is in two nodes; the later one completes the partition, an older one does nothing."""
    image = with_topics(cluster(), NewTopic("t", 1, 1))
    image.apply([PartitionChanged("t", 0, PartitionImage((0,), (0, 1), 0, 0, 4), 0)])
    complete = PartitionImage((0, 1), (0, 1), 0, 0, 4)
    image.apply([PartitionChanged("t", 0, complete, topic_version=1)])
    assert (image.partition("t", 0), image.topics["t"].version) == (complete, 1)
    image.apply([PartitionChanged("t", 0, PartitionImage((0,), (0, 1), 0, 0, 4), 0)])
    assert image.partition("t", 0) == complete


def test_feature_epochs_only_grow() -> None:
    """Levels that are older than those known change nothing."""
    image = cluster()
    image.apply([FeaturesChanged({"group.version": 1}, 2), FeaturesChanged({}, 1)])
    assert (image.features, image.features_epoch) == ({"group.version": 1}, 2)


def test_news_of_another_topic_of_the_same_name_do_not_mix() -> None:
    """What is told of a topic by its id is true of that one only."""
    image = with_topics(cluster(), NewTopic("t", 1, 1))
    old = image.topics["t"]
    new = created(cluster(), NewTopic("t", 2, 1), new_id=ids(5000))
    image.apply([new])
    assert image.topic_names == {new.topic.id: "t"}
    image.apply([TopicDeleted(old), PartitionsAdded(replace(old, version=9), 2)])
    assert image.topics["t"].id == new.topic.id
    image.apply([ConfigChanged(topic_owner("t"), {"retention.ms": "7"})])
    image.apply([replace(new, config_version=NO_NODE)])  # heard of twice
    assert len(image.topics["t"].partitions) == 2
    assert image.configs[OwnerKind.TOPIC] == {"t": {"retention.ms": "7"}}


def test_images_do_not_share_what_changes() -> None:
    """Two brokers in one process are told of the same topic and keep their own partitions."""
    one, two = cluster(), cluster()
    told = created(one, NewTopic("t", 1, 1))
    one.apply([told])
    two.apply([told])
    one.apply([PartitionChanged("t", 0, PartitionImage((0,), (0,), 0, 1, 1))])
    assert two.topics["t"].partitions[0].leader_epoch == 0


def test_settings_are_as_new_as_their_node() -> None:
    """A version that is known or older is no news; without a version it is the next one."""
    image = cluster()
    image.apply([ConfigChanged(topic_owner("t"), {"retention.ms": "1"})])
    assert image.config_versions == {topic_owner("t"): 0}
    image.apply([ConfigChanged(topic_owner("t"), {"retention.ms": "2"}, version=4)])
    image.apply([ConfigChanged(topic_owner("t"), {"retention.ms": "3"}, version=3)])
    assert image.configs[OwnerKind.TOPIC] == {"t": {"retention.ms": "2"}}
    image.apply([ConfigChanged(topic_owner("t"), {})])
    assert image.config_versions == {topic_owner("t"): 5}
    image.apply([ConfigChanged(topic_owner("t"), {}, version=NO_NODE)])
    assert image.config_versions == {}


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
    assert image.topics["t"].version == 1


def test_growth_does_not_take_old_partitions_back() -> None:
    """Who told of the new partitions may have known less of the old ones."""
    image = with_topics(cluster(), NewTopic("t", 1, 1))
    grown = create_partitions(image, "t", 2)
    newer = PartitionImage((0,), (0,), 0, 1, 1)
    image.apply([PartitionChanged("t", 0, newer), grown, grown])
    assert image.topics["t"].partitions == [newer, grown.topic.partitions[1]]


def test_settings_without_values_take_no_room() -> None:
    """Removing the last override removes the resource from the table."""
    image = cluster()
    image.apply(
        [
            ConfigChanged(topic_owner("t"), {"retention.ms": "1"}),
            ConfigChanged(broker_owner(1), {"num.io.threads": "2"}),
            ConfigChanged(broker_owner(None), {"num.io.threads": "3"}),
            ConfigChanged(group_owner("g"), {"consumer.session.timeout.ms": "50000"}),
        ]
    )
    assert image.configs[OwnerKind.GROUP] == {"g": {"consumer.session.timeout.ms": "50000"}}
    assert image.config_of(broker_owner(1)) == {"num.io.threads": "2"}
    assert image.config_of(ALL_BROKERS) == {"num.io.threads": "3"}
    image.apply(
        [
            ConfigChanged(topic_owner("t"), {}),
            ConfigChanged(broker_owner(1), {}),
            ConfigChanged(broker_owner(None), {}),
            ConfigChanged(group_owner("g"), {}),
        ]
    )
    assert not any(image.configs.values())


def test_brokers_and_controller_come_and_go() -> None:
    """Registrations replace each other by id."""
    image = cluster([])
    image.apply([BrokerRegistered(broker(1)), BrokerRegistered(broker(1, "rack"))])
    assert image.brokers[1].rack == "rack"
    image.apply([BrokerUnregistered(1), BrokerUnregistered(1), ControllerChanged(2)])
    assert image.brokers == {}
    assert image.controller_id == 2
