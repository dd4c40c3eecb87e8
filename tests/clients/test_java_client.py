"""The Java client of Apache Kafka 4.3.1 against the broker."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.errors import Error
from tests.clients.contract import (
    Administers,
    DeletesRecords,
    SeeksByTime,
    WritesAndReads,
    WritesIdempotently,
)
from tests.clients.drivers.driver import Refused
from tests.clients.drivers.program import ForeignClient
from tests.clients.partitioner import PARTITIONER_CASES, PartitionerCase
from tests.clients.records import numbered_records


class TestJavaClient(
    Administers,
    DeletesRecords,
    SeeksByTime,
    WritesAndReads,
    WritesIdempotently,
):
    @pytest.fixture
    def client(self, java: ForeignClient) -> ForeignClient:
        return java

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

    @pytest.mark.spec("slides:A11", "slides:A12")
    def test_one_living_bootstrap_address_is_enough(
        self, client: ForeignClient, bootstrap: str
    ) -> None:
        """The client falls through a dead first address; any broker reveals the cluster."""
        found = client.call("describe_cluster", bootstrap=f"127.0.0.1:1,{bootstrap}")
        assert found["nodes"] == [bootstrap]
        assert found["cluster_id"]

    @pytest.mark.spec("slides:C19")
    def test_acks_0_reports_no_offset(self, client: ForeignClient, topic: str) -> None:
        """The broker does not answer, so the client knows no offset: it says -1."""
        assert client.produce(topic, 0, numbered_records(3), acks=0) == [-1, -1, -1]

    def test_changes_a_config(self, client: ForeignClient, topic: str) -> None:
        """IncrementalAlterConfigs (KIP-339) sets one key and leaves the others alone."""
        client.call("alter_topic_config", topic=topic, name="segment.bytes", value="2097152")
        config = client.topic_config(topic)
        assert config["segment.bytes"] == "2097152"
        assert config["retention.ms"] == "-1"

    def test_tells_the_size_of_a_log(self, client: ForeignClient, topic: str) -> None:
        """DescribeLogDirs (KIP-113) knows the folder and the bytes of a partition."""
        client.produce(topic, 0, numbered_records(100, value_bytes=1_000))
        (size,) = client.call("log_dirs", topic=topic, partition=0).values()
        assert size > 100_000

    def test_an_unknown_topic_is_refused(self, client: ForeignClient, topic_name: str) -> None:
        """Errors arrive as their own exceptions, by code."""
        with pytest.raises(Refused) as refusal:
            client.delete_topic(topic_name)
        assert refusal.value.code == Error.UNKNOWN_TOPIC_OR_PARTITION
