"""What every client must be able to do with the broker, once; the modules of the clients inherit.

A client's test class names its client in a fixture and takes on the parts of the contract that
the client has; a part is left out only where the client lacks the operation, never where a
broker fails it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from headrace.records.compression import Codec
from tests.clients.drivers.driver import Driver, RecordDeleter, Writer
from tests.clients.raw import Connection, batch_headers
from tests.clients.records import (
    CODECS,
    FIRST_TIMESTAMP_MS,
    KEEP_FOREVER,
    TIMESTAMP_STEP_MS,
    numbered_records,
    sample_records,
    stored_from,
)
from tests.clients.requests import fetched

SETTLE_TIMEOUT_SECONDS = 60
PAST_EVERYTHING_MS = FIRST_TIMESTAMP_MS + 1_000_000_000


def eventually(holds: Callable[[], bool], what: str) -> None:
    """Ask until it holds: a controller may answer before every broker has heard of a change."""
    deadline = time.monotonic() + SETTLE_TIMEOUT_SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"waited {SETTLE_TIMEOUT_SECONDS} s in vain: {what}"


def need_codec(client: Writer, codec: str) -> None:
    if codec not in client.codecs:
        pytest.skip(f"this client has {codec} only with another package; `make setup-dev` has it")


class WritesAndReads:
    """Records come back as they were written."""

    @pytest.mark.spec("admin:LS-02", "admin:LS-03", "admin:LS-05", "admin:LS-06", "admin:RQ-18")
    @pytest.mark.parametrize("codec", CODECS)
    def test_records_come_back_byte_for_byte(
        self, client: Writer, connection: Connection, topic: str, codec: str
    ) -> None:
        """Keys, values, headers and timestamps survive every codec, which the broker keeps."""
        need_codec(client, codec)
        records = sample_records(without=client.refuses)
        offsets = client.produce(topic, 0, records, codec=codec)
        assert offsets == list(range(len(records)))
        assert client.read(topic, 0, 0, len(records)) == stored_from(0, records)
        stored = batch_headers(fetched(connection, topic, 0).records)
        # Some clients send a batch as it is when compression would not make it smaller.
        assert Codec[codec.upper()] in {header.compression for header in stored}

    @pytest.mark.spec("admin:RQ-05", "admin:RQ-06")
    @pytest.mark.parametrize("acks", [0, 1, -1])
    def test_every_level_of_acknowledgement(self, client: Writer, topic: str, acks: int) -> None:
        """acks=0, 1 and all each store the records in the order of writing."""
        records = numbered_records(20)
        client.produce(topic, 0, records, acks=acks)
        assert client.read(topic, 0, 0, len(records)) == stored_from(0, records)

    @pytest.mark.spec("admin:LS-06")
    def test_reads_from_the_middle(self, client: Writer, topic: str) -> None:
        """A consumer that starts inside a batch gets exactly the records from there on."""
        records = numbered_records(30)
        client.produce(topic, 0, records)
        assert client.read(topic, 0, 17, 13) == stored_from(17, records[17:])


class WritesIdempotently:
    """A producer with an id of its own writes each record once."""

    def test_idempotent_batches_carry_their_producer(
        self, client: Writer, connection: Connection, topic: str
    ) -> None:
        """InitProducerId gives an id; sequences count on from batch to batch (KIP-98)."""
        records = numbered_records(50)
        client.produce(topic, 0, records, idempotent=True)
        assert client.read(topic, 0, 0, len(records)) == stored_from(0, records)
        headers = batch_headers(fetched(connection, topic, 0).records)
        (producer_id,) = {header.producer_id for header in headers}
        assert producer_id >= 0
        assert [header.base_sequence for header in headers] == [
            header.base_offset for header in headers
        ]


class SeeksByTime:
    """ListOffsets by timestamp (KIP-79)."""

    def test_finds_the_first_record_at_or_after_a_time(self, client: Driver, topic: str) -> None:
        """Between two records the later one is found, at a record's time that record."""
        client.produce(topic, 0, numbered_records(10))
        at_seven = FIRST_TIMESTAMP_MS + 7 * TIMESTAMP_STEP_MS
        assert client.offset_for_time(topic, 0, 0) == 0
        assert client.offset_for_time(topic, 0, at_seven) == 7
        assert client.offset_for_time(topic, 0, at_seven + 1) == 8

    def test_finds_nothing_after_the_last_record(self, client: Driver, topic: str) -> None:
        """A time later than every record has no offset."""
        client.produce(topic, 0, numbered_records(10))
        assert client.offset_for_time(topic, 0, PAST_EVERYTHING_MS) is None


class Administers:
    """Topics come, change and go."""

    @pytest.mark.spec("book1:B-05")
    def test_creates_a_topic_with_a_config(self, client: Driver, topic_name: str) -> None:
        """The topic has the partitions asked for; every config is told, set or not (KIP-133)."""
        client.create_topic(topic_name, 3, {**KEEP_FOREVER, "max.message.bytes": "54321"})
        eventually(lambda: client.partition_counts().get(topic_name) == 3, "three partitions")
        config = client.topic_config(topic_name)
        assert config["max.message.bytes"] == "54321"
        assert config["retention.ms"] == "-1"
        assert config["cleanup.policy"] == "delete"
        assert len(config) > 20

    def test_adds_partitions(self, client: Driver, topic_name: str) -> None:
        """CreatePartitions makes a topic wider; the new partitions take records (KIP-195)."""
        client.create_topic(topic_name, 1, KEEP_FOREVER)
        eventually(lambda: client.partition_counts().get(topic_name) == 1, "one partition")
        client.create_partitions(topic_name, 4)
        eventually(lambda: client.partition_counts().get(topic_name) == 4, "four partitions")
        records = numbered_records(3)
        client.produce(topic_name, 3, records)
        assert client.read(topic_name, 3, 0, 3) == stored_from(0, records)

    def test_a_deleted_topic_is_gone(self, client: Driver, topic_name: str) -> None:
        """After DeleteTopics the topic is in no metadata any more."""
        client.create_topic(topic_name, 2, KEEP_FOREVER)
        eventually(lambda: topic_name in client.partition_counts(), "the topic")
        client.produce(topic_name, 1, numbered_records(1))
        client.delete_topic(topic_name)
        eventually(lambda: topic_name not in client.partition_counts(), "its end")


class DeletesRecords:
    """DeleteRecords (KIP-107)."""

    def test_forgets_what_lies_before_an_offset(self, client: RecordDeleter, topic: str) -> None:
        """The first offset moves up; what lies behind it stays as it is."""
        records = numbered_records(10)
        client.produce(topic, 0, records)
        assert client.delete_records(topic, 0, 4) == 4
        assert client.read(topic, 0, 4, 6) == stored_from(4, records[4:])
        assert client.offset_for_time(topic, 0, 0) == 4
