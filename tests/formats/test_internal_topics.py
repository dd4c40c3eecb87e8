"""Internal topics: Apache Kafka reads what we write, field by field, and we what it writes."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.group import records as group
from headrace.coordinator.share import records as share
from headrace.coordinator.transaction import records as transaction
from headrace.errors import Error
from headrace.log import Origin, PartitionLog
from headrace.records.batch import split_batches
from headrace.records.builder import BatchBuilder
from headrace.records.record import Record, iterate
from headrace.runtime.os_disk import OsDisk
from headrace.types import TopicPartition, uuid_to_text
from headrace.wire import consumer_protocol as protocol
from headrace.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from headrace.wire.messages.end_txn import EndTxnRequest
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from headrace.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from headrace.wire.schema import fields_of
from tests.clients.raw import Connection
from tests.clients.requests import create_topic
from tests.coordinator.group_requests import (
    commit_request,
    heartbeat_request,
    join_request,
    txn_commit_request,
)
from tests.coordinator.share.share_records import SHARE_RECORDS
from tests.coordinator.state_records import GROUP_RECORDS, NOW_MS, TOPIC_ID, TRANSACTION_RECORDS
from tests.kafka.apache_kafka import ApacheKafka
from tests.settings import log_config

PRINTED = re.compile(r"key: (\{.*\}) payload: (.*)$", re.MULTILINE)
Encode = Callable[[StateRecord[Any, Any]], tuple[bytes, bytes | None]]


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


def printed_value(record: StateRecord[Any, Any], version: int) -> Any:
    printed = as_json(record.value, version)
    if isinstance(record.value, group.GroupMetadataValue):
        # The tool also decodes what the members of a classic group said to each other.
        for member, shown in zip(record.value.members, printed["members"], strict=True):
            subscription = protocol.decode_subscription(member.subscription)
            shown["subscription"] = as_json(subscription, 3)
            shown["assignment"] = as_json(protocol.decode_assignment(member.assignment), 3)
    return printed


def written(
    folder: Path, topic: str, encode: Encode, records: Sequence[StateRecord[Any, Any]]
) -> Path:
    """A log with each of these records followed by its tombstone."""
    path = folder / f"{topic}-0"
    partition = TopicPartition(topic, 0)
    log = PartitionLog.create(
        OsDisk(64), str(path), partition, TOPIC_ID, log_config(cleanup_policy=("compact",)), NOW_MS
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
        (
            "__share_group_state",
            "--share-group-state-decoder",
            share.encode_record,
            SHARE_RECORDS,
        ),
    ],
    ids=["__consumer_offsets", "__transaction_state", "__share_group_state"],
)
def test_kafka_reads_every_record_type(
    dump_log: Callable[..., str],
    tmp_path: Path,
    topic: str,
    flag: str,
    encode: Encode,
    records: Sequence[StateRecord[Any, Any]],
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


TRANSACTIONAL_ID = "formats"


def succeeded(
    connection: Connection,
    request: Any,
    version: int,
    part: Callable[[Any], Any] = lambda answer: answer,
) -> Any:
    """Ask until some part of the answer has no error; coordinators begin in the background."""
    deadline = time.monotonic() + 60
    while (answer := part(connection.ask(request, version))).error_code != Error.NONE:
        assert time.monotonic() < deadline, Error(answer.error_code).name
    return answer


def find_coordinator(connection: Connection, key: str, key_type: int) -> None:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
    succeeded(connection, request, 4, lambda answer: answer.coordinators[0])


def write_offsets(connection: Connection) -> None:
    """Offsets of an own age, without one, and in a transaction that commits."""
    find_coordinator(connection, "simple", 0)
    for version, retention_time_ms in ((2, 86_400_000), (9, -1)):
        request = commit_request("simple", version, retention_time_ms=retention_time_ms)
        succeeded(connection, request, version, lambda answer: answer.topics[0].partitions[0])
    find_coordinator(connection, TRANSACTIONAL_ID, 1)
    beginning = InitProducerIdRequest(
        transactional_id=TRANSACTIONAL_ID, transaction_timeout_ms=60_000
    )
    identity = succeeded(connection, beginning, 4)
    producer: dict[str, Any] = {
        "transactional_id": TRANSACTIONAL_ID,
        "producer_id": identity.producer_id,
        "producer_epoch": identity.producer_epoch,
    }
    succeeded(connection, AddOffsetsToTxnRequest(group_id="simple", **producer), 3)
    committing = replace(txn_commit_request("simple", 7, producer_id=0), **producer)
    succeeded(connection, committing, 3, lambda answer: answer.topics[0].partitions[0])
    succeeded(connection, EndTxnRequest(committed=True, **producer), 3)


def write_groups(connection: Connection) -> None:
    """A classic group with a consumer of the new protocol for a while; a regular expression."""
    joined = succeeded(connection, join_request("both"), 3)
    assignments = [SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"")]
    sync = SyncGroupRequest(
        group_id="both", generation_id=1, member_id=joined.member_id, assignments=assignments
    )
    succeeded(connection, sync, 3)
    for epoch in (0, -1):
        succeeded(connection, heartbeat_request("both", "modern", epoch), 1)
    matching = heartbeat_request(
        "regex", subscribed_topic_names=None, subscribed_topic_regex="ord.*"
    )
    epoch = succeeded(connection, matching, 1).member_epoch
    deadline = time.monotonic() + 60
    # The expression is resolved in the background; who matches gets partitions.
    while not connection.ask(heartbeat_request("regex", "m1", epoch), 1).assignment:
        assert time.monotonic() < deadline


def records_in(folder: Path) -> Iterator[Record]:
    for path in sorted(folder.glob("*.log")):
        for header, batch in split_batches(memoryview(path.read_bytes()), allow_partial_tail=True):
            if not header.is_control:
                yield from iterate(header, batch)


@pytest.mark.slow
def test_kafkas_own_records_come_back_byte_for_byte(
    kafka_broker: Callable[..., ApacheKafka],
) -> None:
    """What Apache Kafka wrote is read, and written again as it was: types, versions, every tag."""
    kafka = kafka_broker()
    with Connection(kafka.bootstrap_servers) as connection:
        create_topic(connection, "orders")
        write_offsets(connection)
        write_groups(connection)
    kafka.stop()
    seen: dict[str, set[str]] = {}
    for topic, records in (("__consumer_offsets", group), ("__transaction_state", transaction)):
        for record in records_in(kafka.log_dir / f"{topic}-0"):
            decoded = records.decode_record(record.key, record.value)
            assert decoded is not None
            assert records.encode_record(decoded) == (record.key, record.value)
            kind = "tombstone" if decoded.value is None else "value"
            seen.setdefault(type(decoded.key).__name__, set()).add(kind)
    both = {"value", "tombstone"}
    assert seen == {
        "OffsetCommitKey": {"value"},
        "GroupMetadataKey": both,
        "ConsumerGroupMetadataKey": both,
        "ConsumerGroupPartitionMetadataKey": {"tombstone"},
        "ConsumerGroupMemberMetadataKey": both,
        "ConsumerGroupTargetAssignmentMetadataKey": both,
        "ConsumerGroupTargetAssignmentMemberKey": both,
        "ConsumerGroupCurrentMemberAssignmentKey": both,
        "ConsumerGroupRegularExpressionKey": {"value"},
        "TransactionLogKey": {"value"},
    }
