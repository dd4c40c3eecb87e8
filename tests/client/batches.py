"""Clusters, topics and batches as the tests of the client need them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from headrace.client.cluster import Cluster
from headrace.client.fetching import FetchedSlice, PartitionFetcher
from headrace.client.producing import RecordsPayload
from headrace.client.settings import client_settings
from headrace.records.batch import BatchHeader, split_batches
from headrace.records.builder import encode_record
from headrace.records.compression import Codec, compress
from headrace.records.record import iterate
from headrace.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from headrace.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

# Recent, because segments are rolled and deleted by the times of their records.
TIMESTAMP = int(time.time() * 1000) - 60_000


def cluster_of(bootstrap: str, **properties: str) -> Cluster:
    """A cluster; properties with underscores for dots."""
    settings, unknown = client_settings(
        {
            "bootstrap.servers": bootstrap,
            "request.timeout.ms": "10000",
            "default.api.timeout.ms": "20000",
            "retry.backoff.ms": "10",
            **{name.replace("_", "."): value for name, value in properties.items()},
        }
    )
    assert unknown == ()
    return Cluster(settings)


def create_topic(cluster: Cluster, name: str, partitions: int, config: dict[str, str]) -> str:
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        assignments=[],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in config.items()],
    )
    response = cluster.any_broker().call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))
    assert response.topics[0].error_code == 0, response.topics[0].error_message
    # A topic is known, and served, a moment after it is made.
    while name not in cluster.topics([name]):
        pass
    for number in range(partitions):
        cluster.leader(name, number)
    return name


def delete_topic(cluster: Cluster, name: str) -> None:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=10_000)
    assert cluster.any_broker().call(request).responses[0].error_code == 0


def payload(
    values: Sequence[bytes], *, codec: Codec = Codec.NONE, timestamp: int = TIMESTAMP
) -> RecordsPayload:
    """Records without keys, one millisecond apart."""
    records = b"".join(
        encode_record(number, number, None, value) for number, value in enumerate(values)
    )
    return RecordsPayload(
        compress(codec, records), codec, len(values), timestamp, timestamp + len(values) - 1
    )


def batches_of(fetched: FetchedSlice) -> list[tuple[BatchHeader, memoryview]]:
    return list(split_batches(fetched.records, allow_partial_tail=True))


def values_of(batches: Iterable[tuple[BatchHeader, memoryview]]) -> list[bytes]:
    """The values of all records that are not control records."""
    return [
        record.value or b""
        for header, view in batches
        if not header.is_control
        for record in iterate(header, view)
    ]


def read_values(fetcher: PartitionFetcher, offset: int, end: int) -> list[bytes]:
    """Everything between two offsets that a reader without transactions sees."""
    values = []
    while offset < end:
        batches = batches_of(fetcher.fetch(offset))
        assert batches, f"nothing at offset {offset}"
        values += values_of(batches)
        offset = batches[-1][0].next_offset
    return values
