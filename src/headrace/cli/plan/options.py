"""The options of `headrace plan`: goals, then what a broker is made of."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from headrace.cli.plan.advice import Storage

Rate: TypeAlias = Annotated[
    float | None,
    typer.Option("--rate", min=0, help="Messages per second at peak.", show_default=False),
]
MessageSize: TypeAlias = Annotated[
    str,
    typer.Option("--message-size", metavar="SIZE", help="Size of a message, after compression."),
]
Retention: TypeAlias = Annotated[
    str, typer.Option("--retention", metavar="TIME", help="How long records are kept.")
]
Replicas: TypeAlias = Annotated[int, typer.Option("--replicas", min=1, help="Replication factor.")]
Consumers: TypeAlias = Annotated[
    int, typer.Option("--consumers", min=0, help="Consumer groups that read every message.")
]
Growth: TypeAlias = Annotated[
    float, typer.Option("--growth", min=0, help="Expected growth in percent, added to --rate.")
]
ProducerRate: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--producer-rate",
        metavar="SIZE/s",
        help="p: throughput of a producer into one partition.",
        show_default=False,
    ),
]
ConsumerRate: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--consumer-rate",
        metavar="SIZE/s",
        help="c: throughput of a consumer from one partition.",
        show_default=False,
    ),
]
Partitions: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--partitions", min=1, help="Use this number instead of max(t/p, t/c).", show_default=False
    ),
]
Brokers: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--brokers",
        min=1,
        help="Use this number of brokers instead of computing it.",
        show_default=False,
    ),
]
Disk: TypeAlias = Annotated[
    str, typer.Option("--disk", metavar="SIZE", help="Disk space of one broker.")
]
DiskSpeed: TypeAlias = Annotated[
    str,
    typer.Option(
        "--disk-speed", metavar="SIZE/s", help="Sequential write speed of all disks of one broker."
    ),
]
Network: TypeAlias = Annotated[
    str, typer.Option("--network", metavar="SIZE/s", help="Network bandwidth of one broker.")
]
BrokerRate: TypeAlias = Annotated[
    str,
    typer.Option(
        "--broker-rate",
        metavar="SIZE/s",
        help="What one broker moves on its core, records in and out; headrace bench measures it.",
    ),
]
Memory: TypeAlias = Annotated[
    str, typer.Option("--memory", metavar="SIZE", help="Memory of one broker's machine.")
]
BufferTime: TypeAlias = Annotated[
    str,
    typer.Option(
        "--buffer-time", metavar="TIME", help="How long writes stay in the page cache: 30s to 1m."
    ),
]
StorageKind: TypeAlias = Annotated[Storage, typer.Option("--storage", help="Kind of disks.")]
SharedDisks: TypeAlias = Annotated[
    bool,
    typer.Option("--shared-disks", help="The operating system or ZooKeeper use the same disks."),
]
DataCentres: TypeAlias = Annotated[
    int, typer.Option("--data-centres", min=1, help="Data centres that the cluster spans.")
]
MinInsyncReplicas: TypeAlias = Annotated[
    int, typer.Option("--min-insync-replicas", min=1, help="min.insync.replicas of the topics.")
]
Tls: TypeAlias = Annotated[bool, typer.Option("--tls", help="Connections are encrypted.")]
