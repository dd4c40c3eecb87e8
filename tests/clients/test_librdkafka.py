"""librdkafka (confluent-kafka) against the broker."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError

from headrace.errors import Error
from tests.clients.contract import (
    Administers,
    DeletesRecords,
    SeeksByTime,
    WritesAndReads,
    WritesIdempotently,
)
from tests.clients.drivers.driver import Refused
from tests.clients.drivers.librdkafka import Librdkafka
from tests.clients.partitioner import PARTITIONER_CASES, PartitionerCase
from tests.clients.records import FIRST_TIMESTAMP_MS, Record, numbered_records, stored_from


class TestLibrdkafka(
    Administers,
    DeletesRecords,
    SeeksByTime,
    WritesAndReads,
    WritesIdempotently,
):
    @pytest.fixture
    def client(self, librdkafka: Librdkafka) -> Librdkafka:
        return librdkafka

    @pytest.mark.spec("slides:A08", "book1:B-12", "book1:F-05")
    @pytest.mark.parametrize("case", PARTITIONER_CASES, ids=str)
    def test_keys_land_where_the_java_client_puts_them(
        self, client: Librdkafka, new_topic: Callable[..., str], case: PartitionerCase
    ) -> None:
        """murmur2 of the key, without its sign, modulo the number of partitions."""
        topic = new_topic(partitions=case.partitions)
        assert client.partitions_of_keys(topic, case.keys) == case.expected

    @pytest.mark.spec("book1:B-14")
    def test_records_without_a_key_reach_every_partition(
        self, client: Librdkafka, new_topic: Callable[..., str]
    ) -> None:
        """Without a key the client spreads records over all partitions that metadata shows."""
        topic = new_topic(partitions=4)
        records = [Record(None, b"", FIRST_TIMESTAMP_MS) for _ in range(100)]
        reached: set[int | None] = set()
        # Each call chooses at least once more; that one of four is left out of 60 choices has odds
        # of one in eight millions.
        for _ in range(60):
            delivered = client.deliver(topic, -1, records, {"sticky.partitioning.linger.ms": 0})
            reached |= {message.partition() for message in delivered}
            if len(reached) == 4:
                break
        assert reached == {0, 1, 2, 3}

    @pytest.mark.spec("slides:A12", "admin:RQ-16")
    def test_a_dead_first_bootstrap_address_does_no_harm(self, bootstrap: str, topic: str) -> None:
        """The client falls through to the next address; spaces in the list are allowed."""
        client = Librdkafka(f"127.0.0.1:1, {bootstrap}")
        assert client.partition_counts()[topic] == 1
        client.produce(topic, 0, numbered_records(1))

    @pytest.mark.spec("slides:A15")
    def test_several_producers_write_in_parallel(
        self, client: Librdkafka, new_topic: Callable[..., str]
    ) -> None:
        """Producers on different partitions do not disturb each other's order."""
        topic = new_topic(partitions=3)
        records = numbered_records(500)
        writers = [
            threading.Thread(target=client.produce, args=(topic, partition, records))
            for partition in range(3)
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join(60)
        for partition in range(3):
            assert client.read(topic, partition, 0, 500) == stored_from(0, records)

    def test_readers_keep_their_own_place(self, client: Librdkafka, topic: str) -> None:
        """Readers at 6 and 9 and a writer at 12 share one log without knowing of each other."""
        records = numbered_records(15)
        client.produce(topic, 0, records[:12])
        assert client.read(topic, 0, 6, 1) == stored_from(6, records[6:7])
        assert client.read(topic, 0, 9, 3) == stored_from(9, records[9:12])
        client.produce(topic, 0, records[12:])
        assert client.read(topic, 0, 7, 8) == stored_from(7, records[7:])

    def test_an_unknown_topic_is_refused(self, client: Librdkafka, topic_name: str) -> None:
        """Deleting what is not there is UNKNOWN_TOPIC_OR_PARTITION, creating twice is not."""
        with pytest.raises(Refused) as refusal:
            client.delete_topic(topic_name)
        assert refusal.value.code == Error.UNKNOWN_TOPIC_OR_PARTITION
        client.create_topic(topic_name, 1, {})
        with pytest.raises(Refused) as refusal:
            client.create_topic(topic_name, 1, {})
        assert refusal.value.code == Error.TOPIC_ALREADY_EXISTS

    def test_an_offset_beyond_the_end_is_out_of_range(self, client: Librdkafka, topic: str) -> None:
        """With auto.offset.reset=error the client reports what the broker said."""
        client.produce(topic, 0, numbered_records(3))
        with pytest.raises(Refused) as refusal:
            client.read(topic, 0, 100, 1)
        assert refusal.value.code == KafkaError._AUTO_OFFSET_RESET
