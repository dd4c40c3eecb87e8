"""OffsetFetch: what groups have committed, in every version, for some partitions or all."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from headrace.errors import Error
from headrace.types import ZERO_UUID
from headrace.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tests.clients.contract import eventually
from tests.clients.groups.raw_members import (
    FETCH_VERSION,
    NewMember,
    commit,
    committed,
    fetch_offsets,
    find_coordinator,
)
from tests.clients.raw import Connection
from tests.clients.requests import topic_id_of

GROUPS_SINCE, TOPIC_IDS_SINCE = 8, 10
ALL_SINCE, LEADER_EPOCH_SINCE, STABLE_SINCE = 2, 5, 7
TIMEOUT_SECONDS = 30


@pytest.mark.parametrize("version", range(1, 11))
def test_every_version_answers_the_partitions_asked_for(
    connection: Connection, new_topic: Callable[..., str], group: str, version: int
) -> None:
    """-1 and no error where nothing was committed, also where there is no such partition."""
    topic = new_topic(partitions=2)
    assert commit(connection, group, topic, 8, metadata="m", leader_epoch=0) == Error.NONE
    wanted = [0, 1, 9]
    if version < GROUPS_SINCE:
        topics = [OffsetFetchRequestTopic(name=topic, partition_indexes=wanted)]
        answer = connection.ask(OffsetFetchRequest(group_id=group, topics=topics), version)
    else:
        topic_id = topic_id_of(connection, topic) if version >= TOPIC_IDS_SINCE else ZERO_UUID
        asked = OffsetFetchRequestTopics(name=topic, topic_id=topic_id, partition_indexes=wanted)
        of_group = OffsetFetchRequestGroup(group_id=group, topics=[asked])
        (answer,) = connection.ask(OffsetFetchRequest(groups=[of_group]), version).groups
        assert answer.group_id == group
    assert answer.error_code == Error.NONE
    (found,) = answer.topics
    assert (found.topic_id if version >= TOPIC_IDS_SINCE else found.name) == (
        topic_id_of(connection, topic) if version >= TOPIC_IDS_SINCE else topic
    )
    epoch = 0 if version >= LEADER_EPOCH_SINCE else -1
    assert [
        (each.partition_index, each.committed_offset, each.committed_leader_epoch, each.metadata)
        for each in found.partitions
    ] == [(0, 8, epoch, "m"), (1, -1, -1, ""), (9, -1, -1, "")]
    assert {each.error_code for each in found.partitions} == {Error.NONE}


@pytest.mark.parametrize("version", range(ALL_SINCE, 11))
def test_null_topics_ask_for_all_there_is(
    connection: Connection, new_topic: Callable[..., str], group: str, version: int
) -> None:
    """Every committed partition of every topic, and nothing else (KIP-88)."""
    topics = [new_topic(partitions=2) for _ in range(2)]
    places = {(topic, partition) for topic in topics for partition in (0, 1)} - {(topics[0], 1)}
    for topic, partition in places:
        assert commit(connection, group, topic, partition + 5, partition=partition) == Error.NONE
    if version < GROUPS_SINCE:
        answer = connection.ask(OffsetFetchRequest(group_id=group, topics=None), version)
    else:
        of_group = OffsetFetchRequestGroup(group_id=group, topics=None)
        (answer,) = connection.ask(OffsetFetchRequest(groups=[of_group]), version).groups
    names = {topic_id_of(connection, topic): topic for topic in topics}
    found = {
        (
            names[each.topic_id] if version >= TOPIC_IDS_SINCE else each.name,
            partition.partition_index,
        ): partition.committed_offset
        for each in answer.topics
        for partition in each.partitions
    }
    assert found == {(topic, partition): partition + 5 for topic, partition in places}


def test_several_groups_at_once(connection: Connection, topic: str, group: str) -> None:
    """Each group has its own part of the answer, known or not (KIP-709)."""
    names = [f"{group}-{number}" for number in range(3)]
    for number, name in enumerate(names[:2]):
        assert commit(connection, name, topic, number) == Error.NONE
    groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
    answer = connection.ask(OffsetFetchRequest(groups=groups), FETCH_VERSION)
    assert {each.group_id: each.error_code for each in answer.groups} == dict.fromkeys(names, 0)
    counts = {each.group_id: len(each.topics) for each in answer.groups}
    assert counts == {names[0]: 1, names[1]: 1, names[2]: 0}


def test_an_unknown_topic_id(connection: Connection, topic: str, group: str) -> None:
    """By id an unknown topic is an error of its partitions, not of the group."""
    find_coordinator(connection, group)
    stranger = topic_id_of(connection, topic)
    changed = type(stranger)(int=stranger.int ^ 1)
    asked = OffsetFetchRequestTopics(topic_id=changed, partition_indexes=[0])
    of_group = OffsetFetchRequestGroup(group_id=group, topics=[asked])
    (answer,) = connection.ask(OffsetFetchRequest(groups=[of_group]), TOPIC_IDS_SINCE).groups
    assert answer.error_code == Error.NONE
    ((partition,),) = [each.partitions for each in answer.topics]
    assert (partition.committed_offset, partition.error_code) == (-1, Error.UNKNOWN_TOPIC_ID)


def test_members_of_the_consumer_protocol_name_their_epoch(
    connection: Connection, topic: str, group: str
) -> None:
    """An old epoch and a stranger are refused; outsiders need neither (KIP-848)."""
    member = NewMember(connection, group, [topic])
    member.join()

    def asked(member_id: str | None, epoch: int) -> Error:
        of_group = OffsetFetchRequestGroup(
            group_id=group, member_id=member_id, member_epoch=epoch, topics=None
        )
        (answer,) = connection.ask(OffsetFetchRequest(groups=[of_group]), FETCH_VERSION).groups
        return Error(answer.error_code)

    assert asked(member.member_id, member.epoch) == Error.NONE
    assert asked(None, -1) == Error.NONE
    assert asked(member.member_id, member.epoch + 1) == Error.STALE_MEMBER_EPOCH
    assert asked("nobody", member.epoch) == Error.UNKNOWN_MEMBER_ID
    member.leave()


def test_offsets_of_an_open_transaction_are_not_stable(
    bootstrap: str, connection: Connection, topic: str, group: str
) -> None:
    """Whoever wants stable offsets is told to come back; the others get the last one (KIP-447)."""
    assert commit(connection, group, topic, 1) == Error.NONE
    base = {"bootstrap.servers": bootstrap, "log_level": 0}
    producer = Producer({**base, "transactional.id": f"of-{group}"})
    consumer = Consumer({**base, "group.id": group})
    producer.init_transactions(TIMEOUT_SECONDS)
    producer.begin_transaction()
    place = TopicPartition(topic, 0, 7)
    metadata = consumer.consumer_group_metadata()
    producer.send_offsets_to_transaction([place], metadata, TIMEOUT_SECONDS)

    def asked(*, stable: bool) -> tuple[int, Error]:
        wanted = OffsetFetchRequestTopics(name=topic, partition_indexes=[0])
        of_group = OffsetFetchRequestGroup(group_id=group, topics=[wanted])
        request = OffsetFetchRequest(groups=[of_group], require_stable=stable)
        (answer,) = connection.ask(request, FETCH_VERSION).groups
        ((found,),) = [each.partitions for each in answer.topics]
        return found.committed_offset, Error(found.error_code)

    assert asked(stable=True)[1] is Error.UNSTABLE_OFFSET_COMMIT
    assert asked(stable=False) == (1, Error.NONE)
    producer.commit_transaction(TIMEOUT_SECONDS)
    # The transaction is decided; that it is over reaches the group a moment later.
    eventually(lambda: asked(stable=True) == (7, Error.NONE), "the end of the transaction")
    assert asked(stable=False) == (7, Error.NONE)
    consumer.close()


def test_a_group_that_nobody_knows_has_no_offsets(
    connection: Connection, topic: str, group: str
) -> None:
    """That is no error: a new group begins like this."""
    find_coordinator(connection, group)
    assert committed(connection, group, topic).committed_offset == -1
    assert fetch_offsets(connection, group, None).topics == []
