"""The options of `headrace plan`: goals, then what a broker is made of."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from headrace.cli.parameters import option
from headrace.cli.plan.advice import Storage

Rate: TypeAlias = Annotated[float | None, option("--rate", "Messages per second at peak.", min=0)]
MessageSize: TypeAlias = Annotated[
    str, option("--message-size SIZE", "Size of a message, after compression.")
]
Retention: TypeAlias = Annotated[str, option("--retention TIME", "How long records are kept.")]
Replicas: TypeAlias = Annotated[int, option("--replicas", "Replication factor.", min=1)]
Consumers: TypeAlias = Annotated[
    int, option("--consumers", "Consumer groups that read every message.", min=0)
]
Growth: TypeAlias = Annotated[
    float, option("--growth", "Expected growth in percent, added to --rate.", min=0)
]
ProducerRate: TypeAlias = Annotated[
    str | None, option("--producer-rate SIZE/s", "p: throughput of a producer into one partition.")
]
ConsumerRate: TypeAlias = Annotated[
    str | None, option("--consumer-rate SIZE/s", "c: throughput of a consumer from one partition.")
]
Partitions: TypeAlias = Annotated[
    int | None, option("--partitions", "Use this number instead of max(t/p, t/c).", min=1)
]
Brokers: TypeAlias = Annotated[
    int | None, option("--brokers", "Use this number of brokers instead of computing it.", min=1)
]
Disk: TypeAlias = Annotated[str, option("--disk SIZE", "Disk space of one broker.")]
DiskSpeed: TypeAlias = Annotated[
    str, option("--disk-speed SIZE/s", "Sequential write speed of all disks of one broker.")
]
Network: TypeAlias = Annotated[str, option("--network SIZE/s", "Network bandwidth of one broker.")]
BrokerRate: TypeAlias = Annotated[
    str,
    option(
        "--broker-rate SIZE/s",
        "What one broker moves on its core, records in and out; headrace bench measures it.",
    ),
]
Memory: TypeAlias = Annotated[str, option("--memory SIZE", "Memory of one broker's machine.")]
BufferTime: TypeAlias = Annotated[
    str, option("--buffer-time TIME", "How long writes stay in the page cache: 30s to 1m.")
]
StorageKind: TypeAlias = Annotated[Storage, option("--storage", "Kind of disks.")]
SharedDisks: TypeAlias = Annotated[
    bool, option("--shared-disks", "The operating system or ZooKeeper use the same disks.")
]
DataCentres: TypeAlias = Annotated[
    int, option("--data-centres", "Data centres that the cluster spans.", min=1)
]
MinInsyncReplicas: TypeAlias = Annotated[
    int, option("--min-insync-replicas", "min.insync.replicas of the topics.", min=1)
]
Tls: TypeAlias = Annotated[bool, option("--tls", "Connections are encrypted.")]
