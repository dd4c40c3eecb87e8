"""One request with very many items: it is answered in full, and others are served meanwhile."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.testing import Broker
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.delete_groups import DeleteGroupsRequest
from headrace.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from headrace.wire.messages.describe_groups import DescribeGroupsRequest
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from headrace.wire.messages.list_groups import ListGroupsRequest
from headrace.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.clients.raw import Connection, ConnectionClosed, batch_headers, batch_of
from tests.clients.records import numbered_records
from tests.clients.requests import (
    CREATE_TOPICS_VERSION,
    LATEST,
    create_topics_request,
    produced,
)

WIDE = "wide"
PARTITIONS = 1_000
MANY = 60_000
# While one such request is answered, a client that asks again and again gets hundreds of answers;
# if it were answered in one piece, the client would get one or two.
MEANWHILE = 10
TRIES = 5  # the machine may stop the asking client for as long as an answer takes

TOPIC = 2  # a resource type
FETCH_VERSION = 11  # topics by name


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        with Connection(running.bootstrap_servers) as connection:
            request = create_topics_request(WIDE, partitions=PARTITIONS)
            (answer,) = connection.ask(request, CREATE_TOPICS_VERSION).topics
            assert answer.error_code == 0
            connection.ask(DescribeGroupsRequest(groups=["g"]), 5)  # makes the coordinator's topic
        yield running


@pytest.fixture
def connection(broker: Broker) -> Iterator[Connection]:
    with Connection(broker.bootstrap_servers) as connected:
        yield connected


def names(count: int) -> list[str]:
    return [f"{number:x}" for number in range(count)]


def everywhere(acks: int) -> ProduceRequest:
    """A record for each partition of a wide topic."""
    batch = batch_of(numbered_records(1))
    data = [PartitionProduceData(index=index, records=batch) for index in range(PARTITIONS)]
    return ProduceRequest(
        acks=acks, timeout_ms=30_000, topic_data=[TopicProduceData(name=WIDE, partition_data=data)]
    )


def ends(of: list[int]) -> ListOffsetsRequest:
    asked = [ListOffsetsPartition(partition_index=index, timestamp=LATEST) for index in of]
    return ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=WIDE, partitions=asked)])


LARGE: dict[str, tuple[Any, int]] = {
    "DescribeGroups": (DescribeGroupsRequest(groups=names(MANY)), 5),
    "DeleteGroups": (DeleteGroupsRequest(groups_names=names(MANY)), 1),
    "Metadata": (
        MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in names(MANY)],
            allow_auto_topic_creation=False,
        ),
        4,
    ),
    "DescribeConfigs": (
        DescribeConfigsRequest(
            resources=[
                DescribeConfigsResource(
                    resource_type=TOPIC, resource_name=name, configuration_keys=[]
                )
                for name in names(MANY)
            ]
        ),
        1,
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_others_are_served_while_a_large_request_is_answered(broker: Broker, name: str) -> None:
    """A client that asks one question after the other gets many answers before the large one."""
    request, version = LARGE[name]
    seen = []
    for _ in range(TRIES):
        seen.append(answers_meanwhile(broker, request, version))
        if seen[-1] >= MEANWHILE:
            return
    pytest.fail(f"{seen} answers while {MANY} items were answered")


def answers_meanwhile(broker: Broker, request: Any, version: int) -> int:
    """How many small questions are answered between a large one and its answer."""
    with (
        Connection(broker.bootstrap_servers) as greedy,
        Connection(broker.bootstrap_servers) as modest,
    ):
        modest.ask(ApiVersionsRequest(), 0)
        sent = greedy.send(request, version)
        for count in itertools.count():
            if greedy.has_answer():
                assert greedy.answer(sent, type(request), version) is not None
                return count
            modest.ask(ApiVersionsRequest(), 0)
    raise AssertionError("an answer comes")


def test_every_item_is_answered_in_its_place(connection: Connection) -> None:
    """A topic that was cut is one topic in the answer."""
    (topic,) = connection.ask(ends(list(range(PARTITIONS))), 7).topics
    assert [answer.partition_index for answer in topic.partitions] == list(range(PARTITIONS))
    assert {answer.error_code for answer in topic.partitions} == {0}
    wanted = names(5_000)
    groups = connection.ask(DescribeGroupsRequest(groups=wanted), 5).groups
    assert [group.group_id for group in groups] == wanted


def test_what_follows_a_large_request_is_answered_behind_it(connection: Connection) -> None:
    """The order of a connection's requests is the order of its answers."""
    request = DescribeGroupsRequest(groups=names(5_000))
    first = connection.send(request, 5)
    second = connection.send(ApiVersionsRequest(), 0)
    assert len(connection.answer(first, DescribeGroupsRequest, 5).groups) == 5_000
    assert connection.answer(second, ApiVersionsRequest, 0).error_code == 0


@pytest.mark.parametrize("acks", [1, -1])
def test_a_produce_to_a_thousand_partitions_is_one_produce(
    connection: Connection, acks: int
) -> None:
    """Each partition has its record when the answer comes, and no partition has two."""
    every = list(range(PARTITIONS))
    (before,) = connection.ask(ends(every), 7).topics
    (written,) = connection.ask(everywhere(acks), 9).responses
    (after,) = connection.ask(ends(every), 7).topics
    assert [answer.index for answer in written.partition_responses] == every
    assert {answer.error_code for answer in written.partition_responses} == {0}
    assert [answer.offset for answer in after.partitions] == [
        answer.offset + 1 for answer in before.partitions
    ]


def test_without_acknowledgement_it_is_written_all_the_same(connection: Connection) -> None:
    """acks=0 has no answer; what is asked behind it on the connection sees the records."""
    every = list(range(PARTITIONS))
    (before,) = connection.ask(ends(every), 7).topics
    connection.send(everywhere(0), 9)
    (after,) = connection.ask(ends(every), 7).topics
    assert sum(answer.offset for answer in after.partitions) == PARTITIONS + sum(
        answer.offset for answer in before.partitions
    )


def test_a_request_that_cannot_be_cut_has_a_limit(broker: Broker, connection: Connection) -> None:
    """Its connection is closed; the log says why. Others go on."""
    with pytest.raises(ConnectionClosed):
        connection.ask(ListGroupsRequest(states_filter=names(30_000)), 5)
    with Connection(broker.bootstrap_servers) as other:
        assert other.ask(ApiVersionsRequest(), 0).error_code == 0


def test_a_client_that_goes_meanwhile_leaves_nothing_behind(broker: Broker) -> None:
    """What it asked for is dropped, and the next client is answered."""
    for _ in range(5):
        with Connection(broker.bootstrap_servers) as greedy:
            greedy.send(DescribeGroupsRequest(groups=names(MANY)), 5)
            greedy.send(everywhere(-1), 9)
    with Connection(broker.bootstrap_servers) as other:
        groups = other.ask(DescribeGroupsRequest(groups=names(5_000)), 5).groups
        assert len(groups) == 5_000


def fetch_of_all(offset_of: dict[int, int], wait_ms: int) -> FetchRequest:
    """What a consumer of a wide topic asks at first: every partition in one request."""
    partitions = [
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 16)
        for index, offset in offset_of.items()
    ]
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        topics=[FetchTopic(topic=WIDE, partitions=partitions)],
    )


def test_a_fetch_of_a_thousand_partitions_brings_them_all(connection: Connection) -> None:
    """Records are ranges of files, also in an answer that was encoded elsewhere."""
    connection.ask(everywhere(1), 9)
    (ended,) = connection.ask(ends(list(range(PARTITIONS))), 7).topics
    last = {answer.partition_index: answer.offset - 1 for answer in ended.partitions}
    (topic,) = connection.ask(fetch_of_all(last, 0), FETCH_VERSION).responses
    found = {
        answer.partition_index: [header.base_offset for header in batch_headers(answer.records)]
        for answer in topic.partitions
    }
    assert found == {index: [offset] for index, offset in last.items()}


def test_such_a_fetch_waits_for_records(broker: Broker, connection: Connection) -> None:
    """It is parked when there is nothing to read, and woken by an append."""
    (ended,) = connection.ask(ends(list(range(PARTITIONS))), 7).topics
    end = {answer.partition_index: answer.offset for answer in ended.partitions}
    sent = connection.send(fetch_of_all(end, 15_000), FETCH_VERSION)
    with Connection(broker.bootstrap_servers) as writer:
        answer = produced(writer, WIDE, numbered_records(1))
        assert answer.error_code == 0
    (topic,) = connection.answer(sent, FetchRequest, FETCH_VERSION).responses
    assert [part.partition_index for part in topic.partitions if part.records] == [0]
