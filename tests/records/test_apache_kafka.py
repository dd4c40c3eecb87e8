"""Apache Kafka's own DumpLogSegments reads every kind of batch that this package builds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headrace.records.batch import HEADER_SIZE, BatchHeader, TimestampType, restamp, split_batches
from headrace.records.builder import rebuild_batch
from headrace.records.compression import Codec
from headrace.records.control import EndTxnMarker, build_end_txn_marker
from headrace.records.recompress import recompress
from tests.records.samples import NOW_MS, RECORDS, batch_of, opened, read_all

BATCH_LINE = re.compile(
    r"^baseOffset: (\d+) lastOffset: (\d+) count: (\d+) baseSequence: (-?\d+) lastSequence: (-?\d+)"
    r" producerId: (-?\d+) producerEpoch: (-?\d+) partitionLeaderEpoch: (-?\d+)"
    r" isTransactional: (\w+) isControl: (\w+) deleteHorizonMs: OptionalLong(\S+)"
    r" position: \d+ (\w+): (\d+) size: (\d+) magic: 2 compresscodec: (\w+) crc: (\d+)"
    r" isvalid: (\w+)$",
    re.MULTILINE,
)
RECORD_LINE = re.compile(
    r"^\| offset: (\d+) \w+: (-?\d+) keySize: (-?\d+) valueSize: (-?\d+) .*?headerKeys: \[(.*?)\]",
    re.MULTILINE,
)


def segment() -> bytes:
    """One batch of each kind, with offsets that follow each other."""
    batches: list[bytes] = []

    def next_offset() -> int:
        return opened(batches[-1])[0].next_offset if batches else 0

    for number, codec in enumerate(Codec):
        producer = {"producer_id": 7, "producer_epoch": 2, "base_sequence": 5 * number}
        batches.append(
            batch_of(
                RECORDS,
                compression=codec,
                transactional=True,
                base_offset=next_offset(),
                leader_epoch=3,
                **producer,
            )
        )
    for level in (1, 17):
        options = {"compression": Codec.LZ4, "level": level, "base_offset": next_offset()}
        batches.append(batch_of(RECORDS * 20, **options))
    marker = EndTxnMarker(commit=False, coordinator_epoch=9)
    batches.append(
        build_end_txn_marker(
            marker, producer_id=7, producer_epoch=2, timestamp=NOW_MS, base_offset=next_offset()
        )
    )
    plain = batch_of(RECORDS, base_offset=next_offset())
    header, view = opened(plain)
    batches.append(recompress(header, view[HEADER_SIZE:], Codec.SNAPPY))
    plain = batch_of(RECORDS, base_offset=next_offset())
    stamped = restamp(
        memoryview(plain), timestamp_type=TimestampType.LOG_APPEND_TIME, max_timestamp=NOW_MS + 10
    )
    batches.append(stamped + plain[HEADER_SIZE:])
    plain = batch_of(RECORDS, base_offset=next_offset(), compression=Codec.ZSTD)
    kept = read_all(plain)[1:3]
    batches.append(rebuild_batch(opened(plain)[0], kept, delete_horizon_ms=NOW_MS + 1))
    plain = batch_of(
        RECORDS, base_offset=next_offset(), producer_id=8, producer_epoch=0, base_sequence=0
    )
    batches.append(rebuild_batch(opened(plain)[0], []))
    return b"".join(batches)


def as_printed(header: BatchHeader) -> tuple[str, ...]:
    """The header as the groups of `BATCH_LINE` should find it."""
    horizon = header.delete_horizon_ms
    created = header.timestamp_type is TimestampType.CREATE_TIME
    values = (
        header.base_offset,
        header.last_offset,
        header.record_count,
        header.base_sequence,
        header.last_sequence,
        header.producer_id,
        header.producer_epoch,
        header.partition_leader_epoch,
        "true" if header.is_transactional else "false",
        "true" if header.is_control else "false",
        ".empty" if horizon is None else f"[{horizon}]",
        "CreateTime" if created else "LogAppendTime",
        header.max_timestamp,
        header.size,
        header.compression.name.lower(),
        header.crc,
        "true",
    )
    return tuple(str(value) for value in values)


@pytest.mark.timeout(600)  # the first run may fetch Apache Kafka
@pytest.mark.spec("admin:LS-25")
def test_apache_kafka_reads_our_batches(kafka_classpath: str, tmp_path: Path) -> None:
    """Every field of every header, every record and each CRC as Apache Kafka sees them."""
    from tests.kafka.apache_kafka import java_command
    from tests.kafka.toolchain import run

    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(segment())
    tool = ["org.apache.kafka.tools.DumpLogSegments", "--deep-iteration", "--print-data-log"]
    printed = run(java_command(kafka_classpath, *tool, "--files", path)).decode()

    batches = list(split_batches(memoryview(path.read_bytes())))
    assert BATCH_LINE.findall(printed) == [as_printed(header) for header, _ in batches]
    assert RECORD_LINE.findall(printed) == [
        (
            str(record.offset),
            str(record.timestamp),
            str(-1 if record.key is None else len(record.key)),
            str(-1 if record.value is None else len(record.value)),
            ",".join(name for name, _ in record.headers),
        )
        for _, view in batches
        for record in read_all(bytes(view))
    ]
    assert "endTxnMarker: ABORT coordinatorEpoch: 9" in printed
