"""The controller's decisions about topics, error by error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

import pytest

from headrace.cluster.config_owners import OwnerKind, topic_owner
from headrace.cluster.image import (
    BrokerRegistered,
    ClusterImage,
    ConfigChanged,
    PartitionImage,
)
from headrace.cluster.reassignments import alter
from headrace.cluster.topics import (
    NewTopic,
    TopicDefaults,
    create_partitions,
    create_topic,
    delete_topic,
)
from headrace.errors import ClientFault, Error
from headrace.types import ZERO_UUID, TopicPartition
from tests.cluster.clusters import Fixed, broker, cluster, created, with_topics


def refused(error: Error, image: ClusterImage, request: NewTopic) -> str:
    with pytest.raises(ClientFault) as caught:
        created(image, request)
    assert caught.value.error is error
    return caught.value.message


@pytest.mark.spec("admin:LS-28", "book1:B-07")
def test_a_topic_gets_the_partitions_it_was_asked_for() -> None:
    """Partitions are numbered 0 to N-1, every replica is in sync, the first one leads."""
    change = created(cluster(), NewTopic("orders", 3, 2), chance=1)
    assert change.topic.name == "orders"
    assert change.topic.partitions == [
        PartitionImage((1, 0), (1, 0), leader=1),
        PartitionImage((2, 1), (2, 1), leader=2),
        PartitionImage((0, 2), (0, 2), leader=0),
    ]
    assert change.configs == {}


@pytest.mark.spec("slides:A32")
def test_minus_one_means_the_brokers_defaults() -> None:
    """num.partitions and default.replication.factor apply where the client gives -1 (KIP-464)."""
    change = created(cluster(), NewTopic("t"), TopicDefaults(13, 3))
    assert len(change.topic.partitions) == 13
    assert all(len(partition.replicas) == 3 for partition in change.topic.partitions)


def test_a_taken_name_is_refused() -> None:
    """A name is unique in the cluster: TOPIC_ALREADY_EXISTS."""
    image = with_topics(cluster(), NewTopic("orders", 1, 1))
    assert "'orders' already exists" in refused(
        Error.TOPIC_ALREADY_EXISTS, image, NewTopic("orders", 1, 1)
    )


def test_names_that_collide_in_metrics_are_refused() -> None:
    """'a.b' and 'a_b' cannot both exist, until the first is deleted."""
    image = with_topics(cluster(), NewTopic("a.b", 1, 1))
    message = refused(Error.INVALID_TOPIC_EXCEPTION, image, NewTopic("a_b", 1, 1))
    assert "collides with the existing topic 'a.b'" in message
    image.apply([delete_topic(image, name="a.b")])
    created(image, NewTopic("a_b", 1, 1))


def test_an_illegal_name_is_refused() -> None:
    """The name is checked before anything else."""
    refused(Error.INVALID_TOPIC_EXCEPTION, cluster(), NewTopic("no/slash", 0, 0))


@pytest.mark.parametrize("partitions", [0, -2, -100])
def test_impossible_partition_counts_are_refused(partitions: int) -> None:
    """INVALID_PARTITIONS for zero and less; -1 alone means the default."""
    refused(Error.INVALID_PARTITIONS, cluster(), NewTopic("t", partitions, 1))


@pytest.mark.parametrize("factor", [0, -2])
def test_impossible_replication_factors_are_refused(factor: int) -> None:
    """INVALID_REPLICATION_FACTOR for zero and less; -1 alone means the default."""
    refused(Error.INVALID_REPLICATION_FACTOR, cluster(), NewTopic("t", 1, factor))


@pytest.mark.spec("admin:RC-04")
def test_a_factor_above_the_number_of_brokers_is_refused() -> None:
    """RF 9 on 5 brokers cannot be."""
    image = cluster(range(5))
    assert "available brokers: 5" in refused(
        Error.INVALID_REPLICATION_FACTOR, image, NewTopic("t", 1, 9)
    )
    refused(Error.INVALID_REPLICATION_FACTOR, cluster([]), NewTopic("t", 1, 1))


def test_one_request_cannot_ask_for_too_much() -> None:
    """A request is bounded: 10,000 partitions pass, one more does not."""
    image = cluster([0])
    assert len(created(image, NewTopic("t", 10_000, 1)).topic.partitions) == 10_000
    refused(Error.POLICY_VIOLATION, image, NewTopic("t", 10_001, 1))
    refused(Error.POLICY_VIOLATION, image, NewTopic("t", 2**31 - 1, 1))


def test_replicas_can_be_assigned_by_hand() -> None:
    """The assignment is taken as it is, in any order of partitions."""
    request = NewTopic("t", assignments=[(1, [0, 2]), (0, [2, 1])])
    partitions = created(cluster(), request).topic.partitions
    assert [partition.replicas for partition in partitions] == [(2, 1), (0, 2)]
    assert [partition.leader for partition in partitions] == [2, 0]


@pytest.mark.parametrize(
    ("assignments", "text"),
    [
        ([(0, [0]), (0, [1])], "Partition 0 is assigned twice"),
        ([(0, [0]), (2, [1])], "numbered from 0 without a gap"),
        ([(1, [0])], "numbered from 0 without a gap"),
        ([(-1, [0])], "numbered from 0 without a gap"),
        ([(0, [])], "no replicas"),
        ([(0, [1, 1])], "more than once"),
        ([(0, [7])], "broker 7, which is not registered"),
        ([(0, [-1])], "broker -1, which is not registered"),
        ([(0, [0, 1]), (1, [2])], r"1 replica\(s\), the ones before it have 2"),
    ],
)
def test_wrong_assignments_are_refused(
    assignments: Sequence[tuple[int, Sequence[int]]], text: str
) -> None:
    """INVALID_REPLICA_ASSIGNMENT says what is wrong with it."""
    with pytest.raises(ClientFault, match=text) as caught:
        created(cluster(), NewTopic("t", assignments=assignments))
    assert caught.value.error is Error.INVALID_REPLICA_ASSIGNMENT


def test_counts_and_assignments_exclude_each_other() -> None:
    """Who assigns by hand leaves both counts at -1: INVALID_REQUEST."""
    assert "partitions must be -1" in refused(
        Error.INVALID_REQUEST, cluster(), NewTopic("t", 1, assignments=[(0, [0])])
    )
    assert "factor must be -1" in refused(
        Error.INVALID_REQUEST, cluster(), NewTopic("t", -1, 1, assignments=[(0, [0])])
    )


def test_settings_of_a_new_topic_are_checked_and_kept() -> None:
    """Other spellings become Kafka's own before they are stored."""
    request = NewTopic(
        "t", 1, 1, configs={"cleanup.policy": "compact, delete", "preallocate": "TRUE"}
    )
    assert created(cluster(), request).configs == {
        "cleanup.policy": "compact,delete",
        "preallocate": "true",
    }


@pytest.mark.parametrize(
    ("configs", "text"),
    [
        ({"no.such.key": "1"}, "Unknown topic config name: no.such.key"),
        ({"retention.ms": "soon"}, "Invalid value soon for configuration retention.ms"),
        ({"retention.ms": "-2"}, "allowed is at least -1"),
        ({"cleanup.policy": "both"}, "a list of compact, delete"),
        ({"retention.ms": None}, "has no value"),
        ({"remote.storage.enable": "true"}, "no tiered storage"),
        (
            {"min.compaction.lag.ms": "2", "max.compaction.lag.ms": "1"},
            "larger than max.compaction.lag.ms",
        ),
    ],
)
def test_wrong_settings_are_refused(configs: Mapping[str, str | None], text: str) -> None:
    """INVALID_CONFIG names the key, the value and what is allowed."""
    assert text in refused(Error.INVALID_CONFIG, cluster(), NewTopic("t", 1, 1, configs=configs))


def test_topic_ids_are_never_reserved_or_taken() -> None:
    """The zero id, Kafka's metadata topic id and ids in use are skipped."""
    image = with_topics(cluster(), NewTopic("other", 1, 1))
    taken = image.topics["other"].id
    candidates = iter([ZERO_UUID, UUID(int=1), taken, UUID(int=77)])
    change = create_topic(
        image,
        NewTopic("t", 1, 1),
        TopicDefaults(),
        chance=Fixed(),
        new_id=lambda: next(candidates),
    )
    assert change.topic.id == UUID(int=77)


def test_topics_are_deleted_by_name_or_by_id() -> None:
    """KIP-516: both ways lead to the same topic."""
    image = with_topics(cluster(), NewTopic("t", 1, 1))
    topic = image.topics["t"]
    assert delete_topic(image, name="t").topic is topic
    assert delete_topic(image, topic_id=topic.id).topic is topic


@pytest.mark.parametrize(
    ("name", "topic_id", "error"),
    [
        ("unknown", ZERO_UUID, Error.UNKNOWN_TOPIC_OR_PARTITION),
        (None, UUID(int=5), Error.UNKNOWN_TOPIC_ID),
        (None, ZERO_UUID, Error.INVALID_REQUEST),
        ("t", UUID(int=5), Error.INVALID_REQUEST),
    ],
)
def test_deletions_that_cannot_be(name: str | None, topic_id: UUID, error: Error) -> None:
    """Each way of naming a topic has its own error; naming it twice or not at all is a third."""
    with pytest.raises(ClientFault) as caught:
        delete_topic(with_topics(cluster(), NewTopic("t", 1, 1)), name=name, topic_id=topic_id)
    assert caught.value.error is error


@pytest.mark.spec("slides:A52")
def test_deletion_can_be_disabled() -> None:
    """delete.topic.enable=false: TOPIC_DELETION_DISABLED, and nothing happens."""
    image = with_topics(cluster(), NewTopic("t", 1, 1))
    with pytest.raises(ClientFault) as caught:
        delete_topic(image, name="t", deletion_enabled=False)
    assert caught.value.error is Error.TOPIC_DELETION_DISABLED


@pytest.mark.spec("admin:RC-41")
def test_partitions_are_added_and_old_ones_stay() -> None:
    """The count grows, existing partitions keep replicas and leaders, new ones go on the round."""
    image = cluster()
    image.apply([created(image, NewTopic("t", 2, 2), chance=1)])
    before = list(image.topics["t"].partitions)
    change = create_partitions(image, "t", 5)
    assert change.existing == 2
    assert change.topic.id == image.topics["t"].id
    assert change.topic.partitions[:2] == before
    assert [partition.leader for partition in change.topic.partitions] == [1, 2, 0, 1, 2]
    assert len(image.topics["t"].partitions) == 2


@pytest.mark.spec("admin:RC-41", "admin:RC-06")
def test_a_topic_that_grows_goes_on_over_the_racks() -> None:
    """Six partitions that become thirteen lie as if all had been made at once."""
    image = cluster([])
    racks = {0: "R1", 1: "R1", 2: "R1", 3: "R2", 4: "R2", 5: "R2"}
    image.apply(BrokerRegistered(broker(each, rack)) for each, rack in racks.items())
    image.apply([created(image, NewTopic("t", 6, 3))])
    grown = create_partitions(image, "t", 13).topic
    whole = created(image, NewTopic("u", 13, 3)).topic
    assert grown.partitions == whole.partitions
    assert grown.partitions[6].replicas == (0, 4, 2)


def test_a_topic_on_the_move_grows_by_what_it_will_have() -> None:
    """For a while a partition has the old replicas and the new ones; they are not all counted."""
    image = with_topics(cluster(range(5)), NewTopic("t", assignments=[(0, [0, 1])]))
    moves, _ = alter(image, {TopicPartition("t", 0): [2, 3]}, may_change_factor=True)
    image.apply(moves)
    added = create_partitions(image, "t", 2).topic.partitions[1]
    assert len(added.replicas) == 2
    assert added.replicas[0] == 3


@pytest.mark.spec("book1:R-02")
def test_each_topic_has_its_own_replication_factor() -> None:
    """Three copies of one, five of the other, on the same brokers."""
    image = with_topics(cluster(range(5)), NewTopic("a", 2, 3), NewTopic("b", 2, 5))
    factors = {
        name: {len(each.replicas) for each in topic.partitions}
        for name, topic in image.topics.items()
    }
    assert factors == {"a": {3}, "b": {5}}


def test_added_partitions_can_be_assigned_by_hand() -> None:
    """One list of brokers for each new partition."""
    image = with_topics(cluster(), NewTopic("t", 1, 2))
    change = create_partitions(image, "t", 3, [[2, 1], [1, 2]])
    assert [partition.replicas for partition in change.topic.partitions[1:]] == [(2, 1), (1, 2)]


@pytest.mark.parametrize(
    ("name", "count", "assignments", "error", "text"),
    [
        ("x", 5, None, Error.UNKNOWN_TOPIC_OR_PARTITION, "'x' does not exist"),
        ("t", 3, None, Error.INVALID_PARTITIONS, "already has 3"),
        ("t", 2, None, Error.INVALID_PARTITIONS, "2 would not be an increase"),
        ("t", -1, None, Error.INVALID_PARTITIONS, "-1 would not be an increase"),
        ("t", 20_000, None, Error.POLICY_VIOLATION, "19997 partitions"),
        ("t", 5, [[0, 1]], Error.INVALID_REPLICA_ASSIGNMENT, r"2 partition\(s\) .* 1 assignment"),
        ("t", 4, [[0]], Error.INVALID_REPLICA_ASSIGNMENT, "have 2"),
        ("t", 4, [[0, 9]], Error.INVALID_REPLICA_ASSIGNMENT, "broker 9"),
    ],
)
def test_partitions_that_cannot_be_added(
    name: str,
    count: int,
    assignments: Sequence[Sequence[int]] | None,
    error: Error,
    text: str,
) -> None:
    """CreatePartitions only grows a topic that exists, with replicas that can be."""
    image = with_topics(cluster(), NewTopic("t", 3, 2))
    with pytest.raises(ClientFault, match=text) as caught:
        create_partitions(image, name, count, assignments)
    assert caught.value.error is error


def test_adding_needs_as_many_brokers_as_replicas() -> None:
    """With brokers gone, new partitions cannot have the factor of the old ones."""
    image = with_topics(cluster(), NewTopic("t", 1, 3))
    del image.brokers[2]
    with pytest.raises(ClientFault) as caught:
        create_partitions(image, "t", 2)
    assert caught.value.error is Error.INVALID_REPLICATION_FACTOR


def test_a_decision_changes_nothing() -> None:
    """Decisions are pure: only `apply` changes the image, and the caller may only validate."""
    image = cluster()
    created(image, NewTopic("t", 3, 2))
    assert image.topics == {}
    image = with_topics(image, NewTopic("t", 3, 2))
    before = list(image.topics["t"].partitions)
    create_partitions(image, "t", 6)
    delete_topic(image, name="t")
    assert image.topics["t"].partitions == before
    image.apply([ConfigChanged(topic_owner("t"), {"retention.ms": "1"})])
    assert image.configs[OwnerKind.TOPIC] == {"t": {"retention.ms": "1"}}
