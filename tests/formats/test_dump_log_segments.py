"""Apache Kafka's DumpLogSegments reads what our broker leaves on disk, whatever happened to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.records.compression import Codec
from headrace.testing import Broker
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from tests.clients.raw import Connection, batch_of
from tests.clients.records import CODECS, Record, incompressible, numbered_records, sample_records
from tests.clients.requests import create_topic, produced, produced_bytes
from tests.formats.reading import contents_of

SEGMENT_BYTES = 1 << 20
PROPERTIES = {"log.segment.bytes": str(SEGMENT_BYTES), "log.retention.ms": "-1"}
RECORD_LINE = re.compile(r"^\| offset: (\d+) ", re.MULTILINE)
BATCH_LINE = re.compile(r"^baseOffset: \d+ .* isvalid: (\w+)$", re.MULTILINE)


def assert_logs_are_sound(dump_log: Callable[..., str], folder: Path, records: int) -> None:
    """Every segment decodes to the last record, with consecutive offsets and valid CRCs."""
    printed = dump_log(folder.glob("*.log"), "--deep-iteration")
    offsets = [int(offset) for offset in RECORD_LINE.findall(printed)]
    assert offsets == list(range(records))
    assert set(BATCH_LINE.findall(printed)) == {"true"}
    assert_no_complaint(printed)


def assert_indexes_are_sound(dump_log: Callable[..., str], folder: Path) -> None:
    """Each entry of each index leads to the batch that it names."""
    indexes = [*folder.glob("*.index"), *folder.glob("*.timeindex")]
    assert_no_complaint(dump_log(indexes, "--deep-iteration"))
    checked = dump_log(indexes, "--index-sanity-check")
    verdicts = checked.count("passed sanity check.") + checked.count("is empty.")
    assert verdicts == len(indexes), checked


def assert_no_complaint(printed: str) -> None:
    complaints = ("mismatch", "isvalid: false", "out of order", "non-consecutive", "invalid bytes")
    lines = printed.lower().splitlines()
    assert [line for line in lines if any(each in line for each in complaints)] == []


def load(connection: Connection, topic: str, *, rounds: int) -> int:
    """Every codec, large and small batches, a producer with an id; returns the record count."""
    identity = connection.ask(
        InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0), 4
    )
    records = 0
    for number in range(rounds):
        for codec in CODECS:
            records += len(sample_records())
            produced(connection, topic, sample_records(), compression=Codec[codec.upper()])
        batch = batch_of(
            [*numbered_records(20), Record(b"big", incompressible(100_000), 0)],
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            base_sequence=21 * number,
        )
        produced_bytes(connection, topic, batch)
        records += 21
    return records


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A folder with several segments, after a clean stop; and how many records are in it."""
    data = tmp_path_factory.mktemp("loaded")
    with (
        Broker(PROPERTIES, data=data) as broker,
        Connection(broker.bootstrap_servers) as connection,
    ):
        create_topic(connection, "loaded")
        records = load(connection, "loaded", rounds=15)
    return data / "loaded-0", records


def test_rolled_logs(dump_log: Callable[..., str], loaded: tuple[Path, int]) -> None:
    """Segments of all codecs, rolled by size, decode record by record."""
    folder, records = loaded
    assert len(list(folder.glob("*.log"))) > 2
    assert_logs_are_sound(dump_log, folder, records)


def test_rolled_indexes(dump_log: Callable[..., str], loaded: tuple[Path, int]) -> None:
    """Offset and time indexes lead to the batches that they name."""
    folder, _ = loaded
    assert_indexes_are_sound(dump_log, folder)


def test_producer_snapshots(dump_log: Callable[..., str], loaded: tuple[Path, int]) -> None:
    """A snapshot names the producer with its last sequence, in Kafka's own words."""
    folder, _ = loaded
    printed = dump_log(folder.glob("*.snapshot"))
    entries = re.findall(r"producerId: (\d+) producerEpoch: (\d+) .* lastSequence: (\d+)", printed)
    assert entries
    assert max(int(last_sequence) for _, _, last_sequence in entries) == 15 * 21 - 1


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker(PROPERTIES, data=tmp_path / "data") as running:
        yield running


def test_after_a_crash(dump_log: Callable[..., str], broker: Broker) -> None:
    """Killed while it wrote, started again: nothing acknowledged is lost, all files are sound."""
    with Connection(broker.bootstrap_servers) as connection:
        create_topic(connection, "crashed")
        records = load(connection, "crashed", rounds=8)
        before = contents_of(connection, "crashed")
    broker.kill()
    broker.start()
    with Connection(broker.bootstrap_servers) as connection:
        assert contents_of(connection, "crashed") == before
        records += load(connection, "crashed", rounds=2)
    broker.stop()
    folder = broker.data_dir / "crashed-0"
    assert_logs_are_sound(dump_log, folder, records)
    assert_indexes_are_sound(dump_log, folder)


@pytest.mark.parametrize("tail", ["half a batch", "zeros", "garbage"])
def test_after_a_torn_write(dump_log: Callable[..., str], broker: Broker, tail: str) -> None:
    """What a power failure left behind the last whole batch is cut off; writing goes on."""
    with Connection(broker.bootstrap_servers) as connection:
        create_topic(connection, "torn")
        records = load(connection, "torn", rounds=2)
        before = contents_of(connection, "torn")
    broker.kill()
    folder = broker.data_dir / "torn-0"
    last = max(folder.glob("*.log"))
    whole = last.read_bytes()
    torn = {
        "half a batch": bytes(batch_of(numbered_records(50)))[:-100],
        "zeros": bytes(4_096),
        "garbage": incompressible(5_000),
    }[tail]
    last.write_bytes(whole + torn)
    broker.start()
    with Connection(broker.bootstrap_servers) as connection:
        assert contents_of(connection, "torn") == before
        records += load(connection, "torn", rounds=1)
    broker.stop()
    assert_logs_are_sound(dump_log, folder, records)
    assert_indexes_are_sound(dump_log, folder)


@pytest.mark.parametrize("damage", ["removed", "emptied", "garbage"])
def test_after_indexes_were_lost(dump_log: Callable[..., str], broker: Broker, damage: str) -> None:
    """Indexes are made anew from the log where they are missing or make no sense."""
    with Connection(broker.bootstrap_servers) as connection:
        create_topic(connection, "indexes")
        records = load(connection, "indexes", rounds=8)
        before = contents_of(connection, "indexes")
    broker.kill()
    folder = broker.data_dir / "indexes-0"
    for index in [*folder.glob("*.index"), *folder.glob("*.timeindex")]:
        if damage == "removed":
            index.unlink()
        else:
            index.write_bytes(b"" if damage == "emptied" else incompressible(997))
    broker.start()
    with Connection(broker.bootstrap_servers) as connection:
        assert contents_of(connection, "indexes") == before
    broker.stop()
    assert_logs_are_sound(dump_log, folder, records)
    assert_indexes_are_sound(dump_log, folder)
