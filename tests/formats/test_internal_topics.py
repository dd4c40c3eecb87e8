"""Apache Kafka's DumpLogSegments decodes what we write to the internal topics, field by field."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.group import protocol
from headrace.coordinator.group import records as group
from headrace.coordinator.transaction import records as transaction
from headrace.log import LogConfig, Origin, PartitionLog
from headrace.records.builder import BatchBuilder
from headrace.runtime.os_disk import OsDisk
from headrace.types import TopicPartition, uuid_to_text
from headrace.wire.schema import fields_of
from tests.coordinator.state_records import GROUP_RECORDS, NOW_MS, TOPIC_ID, TRANSACTION_RECORDS

PRINTED = re.compile(r"key: (\{.*\}) payload: (.*)$", re.MULTILINE)
Encode = Callable[[StateRecord], tuple[bytes, bytes | None]]


def camel_case(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found.group(1).upper(), name)


def as_json(value: Any, version: int) -> Any:
    """A message as Kafka prints it: tagged fields only where they say something."""
    if is_dataclass(value):
        printed = {}
        declared: type = type(value)
        for field in fields_of(declared):
            content = getattr(value, field.name)
            is_silent = field.tag is not None and content == field.default
            if field.present(version) and (not is_silent or field.nullable(version)):
                printed[camel_case(field.name)] = as_json(content, version)
        return printed
    if isinstance(value, list):
        return [as_json(item, version) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return uuid_to_text(value) if isinstance(value, UUID) else value


def printed_value(record: StateRecord, version: int) -> Any:
    printed = as_json(record.value, version)
    if isinstance(record.value, group.GroupMetadataValue):
        # The tool also decodes what the members of a classic group said to each other.
        for member, shown in zip(record.value.members, printed["members"], strict=True):
            subscription = protocol.decode_subscription(member.subscription)
            shown["subscription"] = as_json(subscription, 3)
            shown["assignment"] = as_json(protocol.decode_assignment(member.assignment), 3)
    return printed


def written(folder: Path, topic: str, encode: Encode, records: Sequence[StateRecord]) -> Path:
    """A log with each of these records followed by its tombstone."""
    path = folder / f"{topic}-0"
    partition = TopicPartition(topic, 0)
    log = PartitionLog.create(
        OsDisk(64), str(path), partition, TOPIC_ID, LogConfig(cleanup_policy=("compact",)), NOW_MS
    )
    builder = BatchBuilder()
    for record in records:
        key, value = encode(record)
        builder.append(key, value, NOW_MS)
        builder.append(key, None, NOW_MS)
    batch = memoryview(builder.build())
    log.append(batch, leader_epoch=0, origin=Origin.COORDINATOR, now_ms=NOW_MS)
    log.close()
    return path


@pytest.mark.parametrize(
    ("topic", "flag", "encode", "records"),
    [
        ("__consumer_offsets", "--offsets-decoder", group.encode_record, GROUP_RECORDS),
        (
            "__transaction_state",
            "--transaction-log-decoder",
            transaction.encode_record,
            TRANSACTION_RECORDS,
        ),
    ],
    ids=["__consumer_offsets", "__transaction_state"],
)
def test_kafka_reads_every_record_type(
    dump_log: Callable[..., str],
    tmp_path: Path,
    topic: str,
    flag: str,
    encode: Encode,
    records: Sequence[StateRecord],
) -> None:
    """Types, versions and all fields, null where we mean null, and tombstones."""
    folder = written(tmp_path, topic, encode, records)
    found = PRINTED.findall(dump_log(folder.glob("*.log"), flag, "--deep-iteration"))
    assert len(found) == 2 * len(records)
    for index, record in enumerate(records):
        key, value = encode(record)
        assert value is not None
        version = int.from_bytes(value[:2], "big")
        printed_key, payload = found[2 * index]
        assert json.loads(printed_key) == {
            "type": str(int.from_bytes(key[:2], "big")),
            "data": as_json(record.key, 0),
        }
        assert json.loads(payload) == {
            "version": str(version),
            "data": printed_value(record, version),
        }
        assert found[2 * index + 1] == (printed_key, "<DELETE>")
