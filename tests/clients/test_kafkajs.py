"""kafkajs against the broker."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.clients.contract import (
    Administers,
    DeletesRecords,
    SeeksByTime,
    WritesAndReads,
    WritesIdempotently,
)
from tests.clients.drivers.program import ForeignClient
from tests.clients.partitioner import PARTITIONER_CASES, PartitionerCase


class TestKafkaJs(
    Administers,
    DeletesRecords,
    SeeksByTime,
    WritesAndReads,
    WritesIdempotently,
):
    @pytest.fixture
    def client(self, kafkajs: ForeignClient) -> ForeignClient:
        return kafkajs

    @pytest.mark.spec("slides:A08", "book1:B-12", "book1:F-05")
    @pytest.mark.parametrize("case", PARTITIONER_CASES, ids=str)
    def test_keys_land_where_murmur2_puts_them(
        self, client: ForeignClient, new_topic: Callable[..., str], case: PartitionerCase
    ) -> None:
        """murmur2 of the key, without its sign, modulo the number of partitions."""
        topic = new_topic(partitions=case.partitions)
        assert client.partitions_of_keys(topic, case.keys) == case.expected
        for partition in set(case.expected):
            keys = [
                key
                for key, where in zip(case.keys, case.expected, strict=True)
                if where == partition
            ]
            assert [each.record.key for each in client.read(topic, partition, 0, len(keys))] == keys
