"""AlterReplicaLogDirs (KIP-113): what is answered before anything moves.

Moves themselves need a broker with two directories: tests/behaviour/test_moves.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from headrace.errors import Error
from headrace.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from headrace.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from tests.clients.raw import Connection

Wanted = tuple[str, str, list[int]]  # path, topic, partitions


def altered(
    connection: Connection, wanted: Sequence[Wanted], *, version: int = 2
) -> dict[str, list[tuple[int, int]]]:
    """The error of each partition, by topic; Apache Kafka answers in no particular order."""
    request = AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(
                path=path, topics=[AlterReplicaLogDirTopic(name=topic, partitions=partitions)]
            )
            for path, topic, partitions in wanted
        ]
    )
    return {
        topic.topic_name: sorted(
            (each.partition_index, each.error_code) for each in topic.partitions
        )
        for topic in connection.ask(request, version).results
    }


@pytest.fixture
def path(connection: Connection) -> str:
    """The broker's only directory."""
    (only,) = connection.ask(DescribeLogDirsRequest(topics=[]), 4).results
    return str(only.log_dir)


@pytest.mark.parametrize("version", [1, 2])
def test_where_a_partition_is_it_may_stay(
    connection: Connection, new_topic: Callable[..., str], path: str, version: int
) -> None:
    """Asking for the directory of now succeeds and moves nothing."""
    topic = new_topic(partitions=3)
    outcome = altered(connection, [(path, topic, [2, 0])], version=version)
    assert outcome == {topic: [(0, Error.NONE), (2, Error.NONE)]}


@pytest.mark.parametrize("elsewhere", ["/nowhere", "", "relative", "{path}/", "{path}/.."])
def test_only_the_directories_of_the_broker_are_known(
    connection: Connection, topic: str, path: str, elsewhere: str
) -> None:
    """LOG_DIR_NOT_FOUND unless the path is written as in `log.dirs`."""
    wanted = elsewhere.format(path=path)
    assert altered(connection, [(wanted, topic, [0])]) == {topic: [(0, Error.LOG_DIR_NOT_FOUND)]}


def test_unknown_partitions_are_told_one_by_one(
    connection: Connection, topic: str, topic_name: str, path: str
) -> None:
    """UNKNOWN_TOPIC_OR_PARTITION beside those that exist; an unknown directory comes first."""
    unknown = Error.UNKNOWN_TOPIC_OR_PARTITION
    outcome = altered(connection, [(path, topic, [7, 0, -1]), (path, topic_name, [0])])
    assert outcome == {
        topic: [(-1, unknown), (0, Error.NONE), (7, unknown)],
        topic_name: [(0, unknown)],
    }
    nowhere = altered(connection, [("/nowhere", topic_name, [0])])
    assert nowhere == {topic_name: [(0, Error.LOG_DIR_NOT_FOUND)]}


def test_a_partition_that_is_named_twice_goes_where_it_is_named_last(
    connection: Connection, topic: str, path: str
) -> None:
    """One answer for each partition."""
    wanted = [("/nowhere", topic, [0]), (path, topic, [0])]
    assert altered(connection, wanted) == {topic: [(0, Error.NONE)]}
    assert altered(connection, wanted[::-1]) == {topic: [(0, Error.LOG_DIR_NOT_FOUND)]}


def test_an_empty_request_moves_nothing(connection: Connection) -> None:
    """There is nothing to answer either."""
    assert altered(connection, []) == {}
