"""`headrace dump-log` on the files of a broker, whole and damaged."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.dump_log.files import dump_file
from headrace.cli.dump_log.mapped import Wanted
from headrace.log import txn_index
from headrace.log.txn_index import AbortedTransaction
from headrace.records.control import EndTxnMarker, build_end_txn_marker
from headrace.testing import Broker
from tests.cli.conftest import Headrace

LOG = "00000000000000000000.log"
INDEX = "00000000000000000000.index"
TIME_INDEX = "00000000000000000000.timeindex"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a broker that wrote a few segments and stopped in order."""
    folder = tmp_path_factory.mktemp("data")
    properties = {"log.segment.bytes": 20_000, "log.index.interval.bytes": 1000}
    with Broker(properties, data=folder) as broker:
        producer = Producer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "enable.idempotence": True,
                "linger.ms": 0,
                "compression.type": "zstd",
            }
        )
        for number in range(100):
            value = b"%d" % number + bytes(range(256)) * 4
            producer.produce("orders", value, b"k%d" % number, headers=[("h", b"1")])
            producer.flush(10)
    return folder


@pytest.fixture
def data(original: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(original, tmp_path / "data"))


def entries(headrace: Headrace, *words: str) -> tuple[int, list[dict[str, object]]]:
    outcome = headrace("dump-log", *words, "-o", "json")
    return outcome.code, [json.loads(line) for line in outcome.out.splitlines()]


def test_batches_are_shown_with_their_headers(headrace: Headrace, data: Path) -> None:
    """One entry per batch, in the order of the file, each where the one before it ends."""
    code, found = entries(headrace, str(data / "orders-0" / LOG), "--verify")
    assert code == 0
    position = 0
    for number, batch in enumerate(found):
        assert batch["kind"] == "batch"
        assert batch["position"] == position
        assert batch["base_offset"] == batch["last_offset"] == number
        assert batch["codec"] == "zstd"
        assert batch["base_sequence"] == number
        assert batch["valid"] is True
        position += int(str(batch["size"]))
    assert position == (data / "orders-0" / LOG).stat().st_size


def test_deep_shows_the_records(headrace: Headrace, data: Path) -> None:
    """Keys, values and headers, also out of compressed batches."""
    log = str(data / "orders-0" / LOG)
    _, found = entries(headrace, log, "--deep", "--value-format", "hex")
    record = found[1]
    assert record["kind"] == "record"
    assert record["offset"] == 0
    assert record["key"] == "k0"
    assert record["value"] == (b"0" + bytes(range(256)) * 4).hex()
    assert record["headers"] == [{"key": "h", "value": "1"}]


def test_a_folder_is_shown_whole(headrace: Headrace, data: Path) -> None:
    """Logs, indexes, snapshots and checkpoints of a partition and of the data folder verify."""
    code, found = entries(headrace, str(data / "orders-0"), str(data), "--verify")
    assert code == 0
    kinds = {str(entry["kind"]) for entry in found}
    assert kinds >= {"batch", "offset", "time", "producer", "epoch", "topic", "owner", "checkpoint"}
    producers = [entry for entry in found if entry["kind"] == "producer"]
    assert producers[-1]["last_sequence"] == 99


def test_a_person_sees_one_line_per_entry(headrace: Headrace, data: Path) -> None:
    """The file's name, then its entries."""
    log = data / "orders-0" / LOG
    first, second, *_ = headrace("dump-log", str(log)).out.splitlines()
    assert first == str(log)
    assert second.startswith("  batch position=0 base_offset=0 last_offset=0 count=1 size=")
    document = headrace("dump-log", str(log), "-o", "yaml").out
    assert document.startswith(f'---\nfile: "{log}"\nkind: batch\n')


def test_files_may_be_separated_by_commas(headrace: Headrace, data: Path) -> None:
    """As Kafka's own tool takes them; shell-expanded lists work as well."""
    folder = data / "orders-0"
    logs = sorted(map(str, folder.glob("*.log")))
    assert len(logs) > 1
    by_comma = headrace("dump-log", ",".join(logs)).out
    assert by_comma == headrace("dump-log", *logs).out
    missing = headrace("dump-log", f"{logs[0]},/no/such/file")
    assert missing.code == 2
    assert "/no/such/file does not exist" in missing.err


def damage(path: Path, position: int, new: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[position : position + len(new)] = new
    path.write_bytes(content)


def faults(found: list[dict[str, object]]) -> list[str]:
    return [str(entry["fault"]) for entry in found if "fault" in entry]


def test_a_flipped_byte_is_found_by_the_crc(headrace: Headrace, data: Path) -> None:
    """Exit code 1; the batches after the damaged one are still shown."""
    log = data / "orders-0" / LOG
    damage(log, 100, b"\xff")
    code, found = entries(headrace, str(log), "--verify")
    assert code == 1
    (fault,) = faults(found)
    assert "CRC" in fault
    assert "fault" in found[0]
    assert len(found) > 5


def test_a_torn_tail_is_told(headrace: Headrace, data: Path) -> None:
    """A crash leaves half a batch; half a header; zeros."""
    log = data / "orders-0" / LOG
    content = log.read_bytes()
    log.write_bytes(content[:-1])
    assert "it is torn" in faults(entries(headrace, str(log))[1])[0]
    log.write_bytes(content + b"\0\1\2")
    assert "3 bytes at the end are not a batch" in faults(entries(headrace, str(log))[1])[0]
    log.write_bytes(content + bytes(200))
    code, found = entries(headrace, str(log), "--verify")
    assert code == 0
    assert found[-1] | {"file": ""} == {
        "file": "", "kind": "free", "position": len(content), "size": 200,
    }  # fmt: skip


def test_a_wrong_index_entry_is_found(headrace: Headrace, data: Path) -> None:
    """Entries are held against the batches of the log beside them."""
    folder = data / "orders-0"
    damage(folder / INDEX, 7, b"\x01")
    assert "no batch begins at this position" in faults(
        entries(headrace, str(folder / INDEX), "--verify")[1]
    )
    second = sorted(folder.glob("*.index"))[1]
    damage(second, 3, b"\x7f")
    assert faults(entries(headrace, str(second), "--verify")[1])[0].startswith("the batch there")
    damage(folder / TIME_INDEX, 7, b"\x01")
    assert (
        "the newest record of its batch"
        in faults(entries(headrace, str(folder / TIME_INDEX), "--verify")[1])[0]
    )


def test_a_damaged_small_file_is_told(headrace: Headrace, data: Path) -> None:
    """Snapshots by their CRC, checkpoints by their shape."""
    snapshot = sorted((data / "orders-0").glob("*.snapshot"))[-1]
    damage(snapshot, 12, b"\xff")
    assert "CRC" in faults(entries(headrace, str(snapshot))[1])[0]
    checkpoint = data / "recovery-point-offset-checkpoint"
    checkpoint.write_text("0\n5\norders 0 1\n")
    assert "5 entries announced" in faults(entries(headrace, str(checkpoint))[1])[0]


def test_markers_and_aborted_transactions_are_shown(headrace: Headrace, tmp_path: Path) -> None:
    """Control batches by what they say, the transaction index by its offsets."""
    marker = EndTxnMarker(commit=False, coordinator_epoch=7)
    log = tmp_path / LOG
    log.write_bytes(
        build_end_txn_marker(marker, producer_id=5, producer_epoch=0, timestamp=1, leader_epoch=0)
    )
    _, (batch, record) = entries(headrace, str(log), "--deep", "--verify")
    assert batch["control"] is True
    assert (record["marker"], record["coordinator_epoch"]) == ("abort", 7)
    index = tmp_path / "00000000000000000000.txnindex"
    index.write_bytes(txn_index.encode(AbortedTransaction(5, 0, 1, 2)))
    _, (aborted,) = entries(headrace, str(index))
    assert (aborted["producer_id"], aborted["last_stable_offset"]) == (5, 2)


def test_a_file_that_is_none_of_ours_is_told(headrace: Headrace, tmp_path: Path) -> None:
    """By its name, before anything is read."""
    stranger = tmp_path / "notes.txt"
    stranger.write_text("hello")
    code, found = entries(headrace, str(stranger))
    assert code == 1
    assert faults(found) == ["no file of a data folder has such a name"]


def test_files_are_not_changed(headrace: Headrace, data: Path) -> None:
    """Looking is all that it does, also with --verify."""
    before = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    headrace("dump-log", str(data / "orders-0"), str(data), "--verify", "--deep")
    assert before == {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}


NAMES = [LOG, INDEX, TIME_INDEX, "00000000000000000007.snapshot", "00000000000000000000.txnindex",
         "leader-epoch-checkpoint", "recovery-point-offset-checkpoint", "partition.metadata",
         "meta.properties"]  # fmt: skip


@pytest.fixture(scope="module")
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@given(name=st.sampled_from(NAMES), content=st.binary(max_size=400))
def test_any_bytes_give_entries_and_never_an_exception(
    scratch: Path, name: str, content: bytes
) -> None:
    """Whatever a disk returns, each look ends with entries or faults."""
    path = scratch / name
    path.write_bytes(content)
    for entry in dump_file(path, Wanted(deep=True, verify=True)):
        json.dumps(entry)


@given(position=st.integers(0, 3000), value=st.integers(0, 255))
def test_any_flipped_byte_of_a_log_is_survived(
    original: Path, scratch: Path, position: int, value: int
) -> None:
    """Damage inside a real segment never hides the batches before it."""
    content = bytearray((original / "orders-0" / LOG).read_bytes()[:4000])
    content[position] = value
    path = scratch / LOG
    path.write_bytes(content)
    found = list(dump_file(path, Wanted(deep=True, verify=True)))
    assert found
