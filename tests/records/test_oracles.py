"""Batches of two other implementations, aiokafka and kafka-python, against ours, both ways."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from hypothesis import given

from headrace.errors import ClientFault, Error
from headrace.records.batch import TimestampType, check_batch, check_from_client, split_batches
from headrace.records.builder import build_batch
from headrace.records.compression import Codec
from headrace.records.record import Record
from tests.records.samples import RECORDS, codecs, dated_record_lists, opened, patient, read_all

with warnings.catch_warnings():
    # kafka-python reads its message schemas in a way that Python 3.11 calls deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch
    from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

# aiokafka takes a first timestamp of -1 for one that it has not seen yet, so none are tried here.
# kafka-python finds no snappy, lz4 and zstd modules here; aiokafka has all through cramjam.
BUILDERS = [(AiokafkaBuilder, codec) for codec in Codec] + [
    (KafkaPythonBuilder, codec) for codec in (Codec.NONE, Codec.GZIP)
]
READERS = [(AiokafkaBatch, codec) for codec in Codec] + [
    (KafkaPythonBatch, codec) for codec in (Codec.NONE, Codec.GZIP)
]


def built_by(builder_class: Any, records: list[Record], codec: Codec, **fields: int) -> bytes:
    fields = {"producer_id": -1, "producer_epoch": -1, "base_sequence": -1} | fields
    builder = builder_class(
        magic=2,
        compression_type=int(codec),
        is_transactional=0,
        batch_size=2**24,
        **fields,
    )
    for index, record in enumerate(records):
        builder.append(
            index,
            timestamp=record.timestamp,
            key=record.key,
            value=record.value,
            headers=record.headers,
        )
    return bytes(builder.build())


def read_by(batch_class: Any, batch: bytes) -> list[Record]:
    reader = batch_class(batch)
    assert reader.validate_crc()
    return [Record(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in reader]


@pytest.mark.parametrize(("builder", "codec"), BUILDERS)
def test_their_batches_are_ours(builder: Any, codec: Codec) -> None:
    """What other clients build passes our checks and has the same records and fields."""
    batch = built_by(builder, RECORDS, codec, producer_id=12, producer_epoch=3, base_sequence=40)
    header, view = opened(batch)
    check_batch(view, header)
    check_from_client(header)
    assert read_all(batch) == RECORDS
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (12, 3, 40)


@pytest.mark.parametrize("builder", [AiokafkaBuilder, KafkaPythonBuilder])
@patient
@given(records=dated_record_lists)
def test_same_bytes(builder: Any, records: list[Record]) -> None:
    """Without compression our batch is theirs, byte for byte from the magic on."""
    theirs = built_by(builder, records, Codec.NONE)
    ours = build_batch(records)
    assert (ours[:12], ours[16:]) == (theirs[:12], theirs[16:])


@pytest.mark.parametrize(("reader", "codec"), READERS)
def test_our_batches_are_theirs(reader: Any, codec: Codec) -> None:
    """What we build is read back by other clients, for every codec that they have."""
    batch = build_batch(
        RECORDS,
        compression=codec,
        producer_id=12,
        producer_epoch=3,
        base_sequence=40,
        transactional=True,
        base_offset=1000,
    )
    expected = [Record(1000 + r.offset, r.timestamp, r.key, r.value, r.headers) for r in RECORDS]
    assert read_by(reader, batch) == expected
    parsed = reader(batch)
    assert parsed.is_transactional
    assert not parsed.is_control_batch
    assert (parsed.producer_id, parsed.producer_epoch, parsed.base_sequence) == (12, 3, 40)
    assert parsed.next_offset == 1005
    assert parsed.compression_type == codec


@pytest.mark.parametrize("reader", [AiokafkaBatch, KafkaPythonBatch])
def test_log_append_time_means_the_same(reader: Any) -> None:
    """With LogAppendTime every record shows the batch's largest timestamp."""
    batch = build_batch(RECORDS, timestamp_type=TimestampType.LOG_APPEND_TIME)
    assert read_by(reader, batch) == read_all(batch)


@patient
@given(records=dated_record_lists, codec=codecs)
def test_any_records(records: list[Record], codec: Codec) -> None:
    """aiokafka and we agree on any records in any codec, in both directions."""
    assert read_by(AiokafkaBatch, build_batch(records, compression=codec)) == read_all(
        built_by(AiokafkaBuilder, records, codec)
    )


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("compression", [0, 1])
@pytest.mark.parametrize("value", [b"hi", b"v" * 500])
def test_old_messages_are_never_misread(magic: int, compression: int, value: bytes) -> None:
    """Real messages of format v0 and v1, long or short, are UNSUPPORTED_FOR_MESSAGE_FORMAT."""
    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=compression, batch_size=2**20)
    builder.append(0, timestamp=1, key=None, value=value)
    with pytest.raises(ClientFault) as caught:
        list(split_batches(memoryview(builder.build())))
    assert caught.value.error is Error.UNSUPPORTED_FOR_MESSAGE_FORMAT
