"""`cordoned.log.dirs` (KIP-1066): directories that keep what they have and get nothing new."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from headrace.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from headrace.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from headrace.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from tests.broker.test_dynamic_keys import alter
from tests.clients.raw import Connection

KEY = "cordoned.log.dirs"


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    return [str(tmp_path / name) for name in ("one", "two")]


@pytest.fixture
def connection(folders: list[str]) -> Iterator[Connection]:
    with (
        Broker({"log.dirs": ",".join(folders), "broker.id": 0}) as broker,
        Connection(broker.bootstrap_servers) as opened,
    ):
        yield opened


def create(connection: Connection, name: str, partitions: int = 4) -> Error:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=30_000)
    return Error(connection.ask(request, 5).topics[0].error_code)


def seen(connection: Connection) -> dict[str, tuple[bool, int]]:
    """Whether each directory is cordoned, and how many partitions it has."""
    results = connection.ask(DescribeLogDirsRequest(topics=None), 5).results
    return {
        found.log_dir: (found.is_cordoned, sum(len(topic.partitions) for topic in found.topics))
        for found in results
    }


def test_a_cordoned_directory_gets_no_new_partitions(
    connection: Connection, folders: list[str]
) -> None:
    """New topics and partitions go to the other directory, moves there are rejected, and the end
    of the cordon ends it all.
    """
    one, two = folders
    assert create(connection, "before") is Error.NONE
    assert seen(connection) == {one: (False, 2), two: (False, 2)}
    assert alter(connection, "0", KEY, one) == Error.NONE
    assert create(connection, "after") is Error.NONE
    more = CreatePartitionsTopic(name="before", count=6, assignments=None)
    grown = connection.ask(
        CreatePartitionsRequest(topics=[more], timeout_ms=30_000, validate_only=False), 2
    )
    assert grown.results[0].error_code == Error.NONE
    assert seen(connection) == {one: (True, 2), two: (False, 8)}
    move = AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(
                path=one, topics=[AlterReplicaLogDirTopic(name="after", partitions=[0])]
            )
        ]
    )
    outcome = connection.ask(move, 2).results[0].partitions[0]
    assert outcome.error_code == Error.INVALID_REPLICA_ASSIGNMENT
    assert alter(connection, "0", KEY, "") == Error.NONE
    assert create(connection, "again", 6) is Error.NONE
    assert seen(connection) == {one: (False, 8), two: (False, 8)}


@pytest.mark.parametrize("by_name", [True, False])
def test_a_broker_with_nothing_else_gets_no_partitions(
    connection: Connection, folders: list[str], by_name: bool
) -> None:
    """Whether all directories are named or meant by `*`."""
    assert alter(connection, "0", KEY, ",".join(folders) if by_name else "*") == Error.NONE
    assert create(connection, "nowhere") is Error.INVALID_REPLICATION_FACTOR
    assert alter(connection, "0", KEY, "") == Error.NONE
    assert create(connection, "somewhere") is Error.NONE
