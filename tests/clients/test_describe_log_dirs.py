"""DescribeLogDirs: the folders of a broker and the bytes in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.errors import Error
from headrace.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from tests.clients.raw import Connection, batch_of
from tests.clients.records import numbered_records
from tests.clients.requests import produced_bytes


def folders(
    connection: Connection, wanted: dict[str, list[int]] | None, version: int = 4
) -> list[Any]:
    topics = None
    if wanted is not None:
        topics = [
            DescribableLogDirTopic(topic=topic, partitions=partitions)
            for topic, partitions in wanted.items()
        ]
    response = connection.ask(DescribeLogDirsRequest(topics=topics), version)
    assert response.error_code == Error.NONE
    return list(response.results)


def sizes(found: list[Any]) -> dict[tuple[str, int], int]:
    return {
        (topic.name, partition.partition_index): partition.partition_size
        for folder in found
        for topic in folder.topics
        for partition in topic.partitions
    }


@pytest.mark.parametrize("version", range(1, 6))
def test_every_version_tells_the_size_of_a_log(
    connection: Connection, new_topic: Callable[..., str], version: int
) -> None:
    """KIP-113: the size is that of the segments, byte for byte; KIP-827 adds the disk's."""
    topic = new_topic(partitions=2)
    batch = batch_of(numbered_records(10))
    for _ in range(3):
        produced_bytes(connection, topic, batch, partition=1)
    found = folders(connection, {topic: [0, 1]}, version)
    assert sizes(found) == {(topic, 0): 0, (topic, 1): 3 * len(batch)}
    for folder in found:
        assert folder.error_code == Error.NONE
        assert folder.log_dir.startswith("/")
        assert version < 4 or folder.total_bytes >= folder.usable_bytes > 0
        for each in folder.topics:
            assert all(not partition.is_future_key for partition in each.partitions)
            assert all(partition.offset_lag == 0 for partition in each.partitions)


def test_null_asks_for_everything(connection: Connection, topic: str) -> None:
    """Without a list every partition of the broker is told."""
    assert (topic, 0) in sizes(folders(connection, None))


def test_what_is_not_there_is_left_out(connection: Connection, topic: str, topic_name: str) -> None:
    """Unknown topics and partitions are no error here: they have no folder."""
    found = folders(connection, {topic_name: [0], topic: [0, 7]})
    assert set(sizes(found)) == {(topic, 0)}
