"""ElectLeaders on one broker, where every partition is led as it should be (KIP-183, KIP-460)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.errors import Error
from headrace.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from tests.clients.raw import Connection

PREFERRED, UNCLEAN = 0, 1


def elected(
    connection: Connection,
    partitions: dict[str, list[int]] | None,
    *,
    version: int = 2,
    kind: int = PREFERRED,
) -> Any:
    asked = None
    if partitions is not None:
        asked = [TopicPartitions(topic=name, partitions=each) for name, each in partitions.items()]
    request = ElectLeadersRequest(election_type=kind, topic_partitions=asked)
    return connection.ask(request, version)


def outcomes(response: Any) -> dict[str, list[tuple[int, int]]]:
    return {
        topic.topic: [(each.partition_id, each.error_code) for each in topic.partition_result]
        for topic in response.replica_election_results
    }


@pytest.mark.parametrize(
    ("version", "kind"), [(0, PREFERRED), (1, PREFERRED), (2, PREFERRED), (1, UNCLEAN)]
)
def test_a_partition_that_is_led_well_needs_no_election(
    connection: Connection, new_topic: Callable[..., str], version: int, kind: int
) -> None:
    """ELECTION_NOT_NEEDED for each partition, with a message; the request as a whole succeeds."""
    topic = new_topic(partitions=3)
    response = elected(connection, {topic: [2, 0]}, version=version, kind=kind)
    assert response.error_code == Error.NONE
    needless = Error.ELECTION_NOT_NEEDED
    assert outcomes(response) == {topic: [(2, needless), (0, needless)]}
    (result,) = response.replica_election_results
    assert all(each.error_message for each in result.partition_result)


@pytest.mark.parametrize("version", range(3))
def test_asked_for_all_it_tells_only_of_those_that_needed_one(
    connection: Connection, topic: str, version: int
) -> None:
    """Null asks for every partition; none needed an election, so topics stand there alone."""
    response = elected(connection, None, version=version)
    assert response.error_code == Error.NONE
    found = outcomes(response)
    assert topic in found
    assert all(each == [] for each in found.values())


def test_unknown_partitions_are_told_one_by_one(
    connection: Connection, topic: str, topic_name: str
) -> None:
    """UNKNOWN_TOPIC_OR_PARTITION beside the verdicts on others."""
    response = elected(connection, {topic: [0, 7, -1], topic_name: [0]})
    unknown = Error.UNKNOWN_TOPIC_OR_PARTITION
    assert outcomes(response) == {
        topic: [(0, Error.ELECTION_NOT_NEEDED), (7, unknown), (-1, unknown)],
        topic_name: [(0, unknown)],
    }


def test_an_empty_list_asks_for_nothing(connection: Connection, topic: str) -> None:
    """Only null stands for all."""
    assert outcomes(elected(connection, {})) == {}


def test_an_unknown_kind_of_election_is_refused(connection: Connection, topic: str) -> None:
    """INVALID_REQUEST, for the whole and for each partition."""
    response = elected(connection, {topic: [0]}, kind=5)
    assert response.error_code == Error.INVALID_REQUEST
    assert outcomes(response) == {topic: [(0, Error.INVALID_REQUEST)]}
