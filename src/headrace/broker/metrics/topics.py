"""Metrics of what goes in and out of topics (kafka.server:type=BrokerTopicMetrics).

A sample without the label `topic` is the sum over all topics, also over those that are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from headrace.broker.metrics.declaration import COUNTER, Metric, Reading, Sources


def _traffic(attribute: str) -> Callable[[Sources], Iterable[Reading]]:
    def read(sources: Sources) -> Iterator[Reading]:
        storage = sources.broker.storage
        everything = getattr(storage.nameless_traffic, attribute)
        for topic, traffic in storage.traffic.items():
            value = getattr(traffic, attribute)
            everything += value
            yield (topic,), value
        yield ("",), everything

    return read


_DECLARED: Final = (
    ("messagesin", "messages_in", "MessagesIn", "Records that were appended to led partitions."),
    ("bytesin", "bytes_in", "BytesIn", "Bytes of batches as they are appended, compressed."),
    ("bytesout", "bytes_out", "BytesOut", "Bytes of batches that consumers were sent."),
    (
        "bytesrejected",
        "bytes_rejected",
        "BytesRejected",
        "Bytes of batches that were refused, whatever for.",
    ),
    (
        "replicationbytesin",
        "replication_bytes_in",
        "ReplicationBytesIn",
        "Bytes of batches that were copied from leaders.",
    ),
    (
        "replicationbytesout",
        "replication_bytes_out",
        "ReplicationBytesOut",
        "Bytes of batches that followers were sent.",
    ),
    (
        "totalproducerequests",
        "produce_requests",
        "TotalProduceRequests",
        "Partitions that produce requests named.",
    ),
    (
        "failedproducerequests",
        "failed_produce_requests",
        "FailedProduceRequests",
        "Partitions of produce requests whose records were refused at once, whatever for.",
    ),
    (
        "totalfetchrequests",
        "fetch_requests",
        "TotalFetchRequests",
        "Reads of partitions for fetch requests; one that had to wait reads again.",
    ),
    (
        "failedfetchrequests",
        "failed_fetch_requests",
        "FailedFetchRequests",
        "Reads of partitions for fetch requests that were refused.",
    ),
)

TOPIC_METRICS: Final = tuple(
    Metric(
        f"kafka_server_brokertopicmetrics_{name}_total",
        COUNTER,
        meaning,
        _traffic(attribute),
        ("topic",),
        f"kafka.server:type=BrokerTopicMetrics,name={mbean}PerSec,topic=",
    )
    for name, attribute, mbean, meaning in _DECLARED
)
