"""Requests as the tests of single APIs need them, with only what matters there spelled out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from headrace.errors import Error
from headrace.types import ZERO_UUID
from headrace.wire.messages import (
    create_topics,
    delete_topics,
    fetch,
    list_offsets,
    metadata,
    produce,
)
from tests.clients.raw import Connection, batch_of
from tests.clients.records import KEEP_FOREVER, Record

PRODUCE_VERSION = 12
FETCH_VERSION = 16
LIST_OFFSETS_VERSION = 7
METADATA_VERSION = 12
CREATE_TOPICS_VERSION = 7
TIMEOUT_MS = 15_000
ALL = -1
LATEST, EARLIEST = -1, -2


def produce_request(
    topic: str,
    records: memoryview | None,
    *,
    partition: int = 0,
    acks: int = ALL,
    topic_id: UUID = ZERO_UUID,
    transactional_id: str | None = None,
) -> produce.ProduceRequest:
    data = produce.PartitionProduceData(index=partition, records=records)
    return produce.ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=TIMEOUT_MS,
        topic_data=[produce.TopicProduceData(name=topic, topic_id=topic_id, partition_data=[data])],
    )


def fetch_request(
    topic: str,
    offset: int,
    *,
    partition: int = 0,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 25,
    partition_max_bytes: int = 1 << 20,
    topic_id: UUID = ZERO_UUID,
    current_leader_epoch: int = -1,
    session_id: int = 0,
    session_epoch: int = -1,
) -> fetch.FetchRequest:
    wanted = fetch.FetchPartition(
        partition=partition,
        fetch_offset=offset,
        partition_max_bytes=partition_max_bytes,
        current_leader_epoch=current_leader_epoch,
    )
    return fetch.FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=[fetch.FetchTopic(topic=topic, topic_id=topic_id, partitions=[wanted])],
    )


def list_offsets_request(
    topic: str, timestamp: int, *, partition: int = 0, current_leader_epoch: int = -1
) -> list_offsets.ListOffsetsRequest:
    wanted = list_offsets.ListOffsetsPartition(
        partition_index=partition, timestamp=timestamp, current_leader_epoch=current_leader_epoch
    )
    topics = [list_offsets.ListOffsetsTopic(name=topic, partitions=[wanted])]
    return list_offsets.ListOffsetsRequest(replica_id=-1, topics=topics, timeout_ms=TIMEOUT_MS)


def metadata_request(
    *names: str, topic_ids: Sequence[UUID] = (), auto_create: bool = False
) -> metadata.MetadataRequest:
    by_name = [metadata.MetadataRequestTopic(name=name) for name in names]
    by_id = [metadata.MetadataRequestTopic(name=None, topic_id=each) for each in topic_ids]
    return metadata.MetadataRequest(topics=by_name + by_id, allow_auto_topic_creation=auto_create)


def create_topics_request(
    name: str,
    *,
    partitions: int = 1,
    replication_factor: int = -1,
    config: Mapping[str, str | None] | None = None,
    assignments: Mapping[int, list[int]] | None = None,
    validate_only: bool = False,
) -> create_topics.CreateTopicsRequest:
    topic = create_topics.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        assignments=[
            create_topics.CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in (assignments or {}).items()
        ],
        configs=[
            create_topics.CreatableTopicConfig(name=key, value=value)
            for key, value in (config or {}).items()
        ],
    )
    return create_topics.CreateTopicsRequest(
        topics=[topic], timeout_ms=TIMEOUT_MS, validate_only=validate_only
    )


def produced(connection: Connection, topic: str, records: Sequence[Record], **options: Any) -> Any:
    """Write one batch with acks=all, which must succeed; the partition's part of the answer."""
    result = produced_bytes(connection, topic, batch_of(records, **options))
    assert result.error_code == Error.NONE, Error(result.error_code).name
    return result


def produced_bytes(
    connection: Connection,
    topic: str,
    records: memoryview | None,
    *,
    partition: int = 0,
    acks: int = ALL,
    version: int = PRODUCE_VERSION,
) -> Any:
    """Write these bytes; the partition's part of the answer, whatever it says."""
    request = produce_request(topic, records, partition=partition, acks=acks)
    ((result,),) = [
        topic.partition_responses for topic in connection.ask(request, version).responses
    ]
    return result


def fetched(connection: Connection, topic: str, offset: int, **options: Any) -> Any:
    """Read from one partition; its part of the answer. `version` may be given, below 13."""
    version = options.pop("version", 12)
    response = connection.ask(fetch_request(topic, offset, **options), version)
    assert response.error_code == Error.NONE, Error(response.error_code).name
    ((result,),) = [topic.partitions for topic in response.responses]
    return result


def offset_at(connection: Connection, topic: str, timestamp: int, **options: Any) -> Any:
    """ListOffsets for one partition; its part of the answer."""
    version = options.pop("version", LIST_OFFSETS_VERSION)
    response = connection.ask(list_offsets_request(topic, timestamp, **options), version)
    ((result,),) = [topic.partitions for topic in response.topics]
    return result


def topic_id_of(connection: Connection, topic: str) -> UUID:
    """The id that the broker gave to a topic."""
    (found,) = connection.ask(metadata_request(topic), METADATA_VERSION).topics
    topic_id: UUID = found.topic_id
    return topic_id


def create_topic(
    connection: Connection,
    topic: str,
    *,
    partitions: int = 1,
    config: Mapping[str, str | None] | None = None,
) -> None:
    """Create a topic and wait until the broker leads all of its partitions."""
    wanted = {**KEEP_FOREVER, **(config or {})}
    request = create_topics_request(topic, partitions=partitions, config=wanted)
    (created,) = connection.ask(request, CREATE_TOPICS_VERSION).topics
    assert created.error_code == Error.NONE, created.error_message
    await_topic(connection, topic, partitions)


def await_topic(connection: Connection, topic: str, partitions: int) -> None:
    """Wait until the broker leads every partition of a new topic.

    A controller may answer before every broker knows; a client asks again, and so does this.
    """
    waiting = list(range(partitions))
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while waiting:
        found = offset_at(connection, topic, LATEST, partition=waiting[-1])
        if found.error_code == Error.NONE:
            waiting.pop()
        assert time.monotonic() < deadline, f"partition {waiting[-1]} of {topic} has no leader"


def delete_topic(connection: Connection, topic: str) -> None:
    """Delete a topic and wait until metadata no longer shows it."""
    request = delete_topics.DeleteTopicsRequest(topic_names=[topic], timeout_ms=TIMEOUT_MS)
    (deleted,) = connection.ask(request, 5).responses
    assert deleted.error_code == Error.NONE, deleted.error_message
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while True:
        (found,) = connection.ask(metadata_request(topic), METADATA_VERSION).topics
        if found.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION:
            return
        assert time.monotonic() < deadline, f"{topic} is still there"
