"""Folders that Apache Kafka 4.3 wrote are served by our broker as they are."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from tests.clients.drivers.librdkafka import Librdkafka
from tests.clients.drivers.program import ForeignClient
from tests.clients.raw import Connection, batch_of
from tests.clients.records import (
    CODECS,
    Record,
    incompressible,
    numbered_records,
    sample_records,
)
from tests.clients.requests import create_topic, produced_bytes
from tests.formats.reading import Contents, contents_of, values_of
from tests.formats.test_dump_log_segments import assert_indexes_are_sound, assert_no_complaint
from tests.kafka.apache_kafka import ApacheKafka

PARTITIONS = [
    *((f"codec-{codec}", 0) for codec in CODECS),
    ("segments", 0),
    ("transactions", 0),
    ("producer", 0),
]
OUR_PROPERTIES = {"log.retention.ms": "-1"}

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Written:
    """What Apache Kafka wrote: its folder, what a reader of it saw, and a producer's identity."""

    log_dir: Path
    contents: dict[str, Contents]
    producer: Any


def idempotent_batch(producer: Any, sequence: int) -> memoryview:
    return batch_of(
        numbered_records(3),
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=sequence,
    )


def write_transactions(java: ForeignClient) -> None:
    """Committed, aborted, committed, aborted: three records each."""
    transactions = []
    for number in range(4):
        text = f"transaction {number}".encode()
        records = [Record(b"", text, 1_700_000_000_000 + number).to_json()] * 3
        transactions.append({"records": records, "commit": number % 2 == 0})
    java.call(
        "write_in_transactions",
        topic="transactions",
        partition=0,
        transactional_id="formats",
        transactions=transactions,
    )


def write_all(kafka: ApacheKafka, connection: Connection, java: ForeignClient) -> Any:
    librdkafka = Librdkafka(kafka.bootstrap_servers)
    for codec in CODECS:
        topic = f"codec-{codec}"
        create_topic(connection, topic)
        for idempotent in (False, True):
            librdkafka.produce(topic, 0, sample_records(), codec=codec, idempotent=idempotent)
    create_topic(connection, "segments", config={"segment.bytes": str(1 << 20)})
    big = [Record(b"", incompressible(200_000), 1_700_000_000_000 + step) for step in range(20)]
    java.produce("segments", 0, big, idempotent=True)
    create_topic(connection, "transactions")
    write_transactions(java)
    create_topic(connection, "producer")
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
    producer = connection.ask(request, 4)
    for sequence in (0, 3, 6):
        batch = idempotent_batch(producer, sequence)
        assert produced_bytes(connection, "producer", batch).error_code == Error.NONE
    return producer


@pytest.fixture(scope="module", params=["stopped", "killed"])
def written(
    request: pytest.FixtureRequest,
    kafka_broker: Callable[..., ApacheKafka],
    java: ForeignClient,
) -> Written:
    """Everything that the tests below need, written by one Apache Kafka that then ended."""
    kafka = kafka_broker()
    java.bootstrap = kafka.bootstrap_servers
    with Connection(kafka.bootstrap_servers) as connection:
        producer = write_all(kafka, connection, java)
        contents = {topic: contents_of(connection, topic) for topic, _ in PARTITIONS}
    kafka.stop(kill=request.param == "killed")
    return Written(kafka.log_dir, contents, producer)


@pytest.fixture
def adopted(written: Written, tmp_path: Path) -> Iterator[Broker]:
    """Our broker on a copy of Kafka's partition folders."""
    data = tmp_path / "data"
    for topic, partition in PARTITIONS:
        folder = f"{topic}-{partition}"
        shutil.copytree(written.log_dir / folder, data / folder)
    with Broker(OUR_PROPERTIES, data=data) as broker:
        yield broker


def test_every_partition_is_served_unchanged(written: Written, adopted: Broker) -> None:
    """Byte for byte the same batches, ends, offsets by time and aborted transactions."""
    assert written.contents["transactions"].aborted
    with Connection(adopted.bootstrap_servers) as connection:
        for topic, _ in PARTITIONS:
            assert contents_of(connection, topic) == written.contents[topic], topic


def test_committed_records_are_told_from_aborted_ones(adopted: Broker, java: ForeignClient) -> None:
    """A Java consumer with read_committed gets the two committed transactions only."""
    java.bootstrap = adopted.bootstrap_servers
    where = {"topic": "transactions", "partition": 0, "offset": 0}
    committed = java.call("read", **where, count=6, isolation="read_committed")
    everything = java.call("read", **where, count=12)
    assert len({fields["value"] for fields in committed}) == 2
    assert len({fields["value"] for fields in everything}) == 4


def test_an_idempotent_producer_goes_on(written: Written, adopted: Broker) -> None:
    """Its last batches are still known: a retry is not appended, a gap is refused."""
    with Connection(adopted.bootstrap_servers) as connection:

        def send(sequence: int) -> tuple[int, int]:
            batch = idempotent_batch(written.producer, sequence)
            result = produced_bytes(connection, "producer", batch)
            return (result.error_code, result.base_offset)

        assert send(6) == (Error.NONE, 6)
        assert send(3) == (Error.NONE, 3)
        assert send(12)[0] == Error.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert send(9) == (Error.NONE, 9)


def test_what_we_add_is_read_by_kafkas_tools(
    written: Written, adopted: Broker, dump_log: Callable[..., str]
) -> None:
    """After appends of ours the whole folder, Kafka's part and ours, is sound."""
    with Connection(adopted.bootstrap_servers) as connection:
        for topic in ("segments", "transactions"):
            for _ in range(3):
                batch = batch_of(numbered_records(10))
                assert produced_bytes(connection, topic, batch).error_code == Error.NONE
        contents = contents_of(connection, "segments")
    adopted.stop()
    values = values_of(contents.batches)
    assert len(values) == 20 + 30
    for topic in ("segments", "transactions"):
        folder = adopted.data_dir / f"{topic}-0"
        assert_no_complaint(dump_log(folder.glob("*.log"), "--deep-iteration"))
        assert_indexes_are_sound(dump_log, folder)


def test_lost_indexes_of_transactions_are_made_anew(
    written: Written, tmp_path: Path, dump_log: Callable[..., str]
) -> None:
    """Our transaction index of Kafka's log says what Kafka's own said."""
    theirs = written.log_dir / "transactions-0"
    data = tmp_path / "data"
    shutil.copytree(theirs, data / "transactions-0")
    for pattern in ("*.txnindex", "*.index", "*.timeindex", "*.snapshot"):
        for path in (data / "transactions-0").glob(pattern):
            path.unlink()
    with Broker(OUR_PROPERTIES, data=data) as broker:
        with Connection(broker.bootstrap_servers) as connection:
            assert contents_of(connection, "transactions") == written.contents["transactions"]
        broker.stop()
    ours = data / "transactions-0"

    def entries(folder: Path) -> list[str]:
        printed = dump_log(folder.glob("*.txnindex"))
        return [line for line in printed.splitlines() if "producerId" in line]

    assert entries(ours) == entries(theirs) != []
    assert_indexes_are_sound(dump_log, ours)
