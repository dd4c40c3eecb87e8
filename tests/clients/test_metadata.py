"""Metadata: the cluster, its topics, and what creates a topic by the way."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from headrace.errors import Error
from headrace.types import ZERO_UUID
from headrace.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.clients.contract import eventually
from tests.clients.raw import Connection
from tests.clients.requests import (
    METADATA_VERSION,
    TIMEOUT_MS,
    metadata_request,
    topic_id_of,
)

NOT_ASKED = -2147483648


def described(connection: Connection, topic: str, version: int = METADATA_VERSION) -> Any:
    (found,) = connection.ask(metadata_request(topic), version).topics
    return found


def all_topics(connection: Connection) -> set[str]:
    response = connection.ask(MetadataRequest(topics=None), METADATA_VERSION)
    return {topic.name for topic in response.topics}


@pytest.mark.spec("slides:A11", "slides:A54", "book1:B-28", "admin:RQ-17")
@pytest.mark.parametrize("version", range(14))
def test_names_brokers_and_leaders(
    connection: Connection, bootstrap: str, new_topic: Callable[..., str], version: int
) -> None:
    """Every version tells where the leader of each partition is: the advertised address."""
    topic = new_topic(partitions=3)
    wanted = [MetadataRequestTopic(name=topic)]
    response = connection.ask(MetadataRequest(topics=wanted), version)
    addresses = {each.node_id: f"{each.host}:{each.port}" for each in response.brokers}
    assert bootstrap in addresses.values()
    (found,) = response.topics
    assert found.error_code == Error.NONE
    assert sorted(each.partition_index for each in found.partitions) == [0, 1, 2]
    for partition in found.partitions:
        assert partition.error_code == Error.NONE
        assert partition.leader_id in addresses
        assert partition.leader_id in partition.replica_nodes
        assert partition.leader_id in partition.isr_nodes
        assert partition.offline_replicas == []
        assert version < 7 or partition.leader_epoch >= 0
    assert version < 1 or response.controller_id in addresses
    assert version < 2 or response.cluster_id
    assert version < 10 or found.topic_id != ZERO_UUID


def test_version_0_takes_an_empty_list_for_all_topics(connection: Connection, topic: str) -> None:
    """v0 has no null: no topic named means every topic."""
    response = connection.ask(MetadataRequest(topics=[]), 0)
    assert topic in {each.name for each in response.topics}


@pytest.mark.parametrize("version", [1, 4, 9, 13])
def test_later_versions_tell_none_from_all(
    connection: Connection, topic: str, version: int
) -> None:
    """From v1 on an empty list asks for no topic, null for all."""
    assert connection.ask(MetadataRequest(topics=[]), version).topics == []
    response = connection.ask(MetadataRequest(topics=None), version)
    assert topic in {each.name for each in response.topics}


def test_topic_ids_are_stable_and_lead_to_the_topic(connection: Connection, topic: str) -> None:
    """KIP-516: an id never changes, and from v12 on it is enough to ask by."""
    topic_id = topic_id_of(connection, topic)
    assert topic_id not in (ZERO_UUID, topic_id_of(connection, "no-such-topic"))
    assert topic_id_of(connection, topic) == topic_id
    (found,) = connection.ask(metadata_request(topic_ids=[topic_id]), 12).topics
    assert (found.error_code, found.name, found.topic_id) == (Error.NONE, topic, topic_id)
    assert len(found.partitions) == 1


def test_an_unknown_topic_id_is_told(connection: Connection) -> None:
    """UNKNOWN_TOPIC_ID, with the id that was asked for and no name."""
    unknown = uuid.uuid4()
    (found,) = connection.ask(metadata_request(topic_ids=[unknown]), 12).topics
    assert (found.error_code, found.topic_id) == (Error.UNKNOWN_TOPIC_ID, unknown)
    assert found.partitions == []


def test_an_unknown_topic_is_not_created_unasked(connection: Connection, topic_name: str) -> None:
    """With allow_auto_topic_creation=false the answer is an error and no topic appears."""
    found = described(connection, topic_name)
    assert (found.error_code, found.name) == (Error.UNKNOWN_TOPIC_OR_PARTITION, topic_name)
    assert found.partitions == []
    assert topic_name not in all_topics(connection)


@pytest.mark.spec("admin:LS-29")
@pytest.mark.parametrize("version", [0, 3, 4, 12])
def test_an_unknown_topic_is_created_when_asked_for(
    connection: Connection, topic_name: str, version: int
) -> None:
    """Auto-created topics follow num.partitions. Below v4 the broker's own setting decides.

    The first answer may say that there is no leader yet; the client asks again.
    """
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic_name)])
    (first,) = connection.ask(request, version).topics
    assert first.error_code in (
        Error.NONE,
        Error.LEADER_NOT_AVAILABLE,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
    )
    eventually(lambda: topic_name in all_topics(connection), "the topic")
    found = described(connection, topic_name)
    assert found.error_code == Error.NONE
    assert len(found.partitions) == 4


@pytest.mark.parametrize("name", ["", ".", "..", "with space", "sla/sh", "ümlaut", "x" * 250])
def test_an_impossible_name_is_refused(connection: Connection, name: str) -> None:
    """A name that cannot be a folder is INVALID_TOPIC_EXCEPTION, whoever asks."""
    request = metadata_request(name, auto_create=True)
    (found,) = connection.ask(request, METADATA_VERSION).topics
    assert found.error_code == Error.INVALID_TOPIC_EXCEPTION


def test_known_and_unknown_topics_in_one_question(
    connection: Connection, topic: str, topic_name: str
) -> None:
    """One bad name does not spoil the answer for a good one."""
    response = connection.ask(metadata_request(topic, topic_name), METADATA_VERSION)
    codes = {each.name: each.error_code for each in response.topics}
    assert codes == {topic: Error.NONE, topic_name: Error.UNKNOWN_TOPIC_OR_PARTITION}


def test_permissions_are_told_only_when_asked_for(connection: Connection, topic: str) -> None:
    """KIP-430: without the flag the field says that nobody looked."""
    found = described(connection, topic)
    assert found.topic_authorized_operations == NOT_ASKED
    request = metadata_request(topic)
    request.include_topic_authorized_operations = True
    (found,) = connection.ask(request, METADATA_VERSION).topics
    assert found.topic_authorized_operations != NOT_ASKED


def test_a_large_topic_is_described_as_it_is_now(
    connection: Connection, new_topic: Callable[..., str]
) -> None:
    """It is described again after it has grown, and once however often one request names it."""
    topic = new_topic(partitions=100)
    assert len(described(connection, topic).partitions) == 100
    assert described(connection, topic) == described(connection, topic)
    grown = CreatePartitionsTopic(name=topic, count=101, assignments=None)
    request = CreatePartitionsRequest(topics=[grown], timeout_ms=TIMEOUT_MS, validate_only=False)
    (result,) = connection.ask(request, 3).results
    assert result.error_code == Error.NONE
    eventually(lambda: len(described(connection, topic).partitions) == 101, "the new partition")
    twice = connection.ask(metadata_request(topic, topic), METADATA_VERSION)
    assert [each.name for each in twice.topics] == [topic]
