"""The options of `headrace plan`: goals, then what a broker is made of."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from headrace.cli.plan.advice import Storage

Rate: TypeAlias = Annotated[
    float | None,
    typer.Option("--rate", min=0, help="Messages a second, at the peak.", show_default=False),
]
MessageSize: TypeAlias = Annotated[
    str, typer.Option("--message-size", metavar="SIZE", help="Of one, after compression.")
]
Retention: TypeAlias = Annotated[
    str, typer.Option("--retention", metavar="TIME", help="How long records are kept.")
]
Replicas: TypeAlias = Annotated[int, typer.Option("--replicas", min=1, help="Replication factor.")]
Consumers: TypeAlias = Annotated[
    int, typer.Option("--consumers", min=0, help="Groups that read everything.")
]
Growth: TypeAlias = Annotated[
    float, typer.Option("--growth", min=0, help="Expected growth in percent; is planned for.")
]
ProducerRate: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--producer-rate",
        metavar="SIZE/s",
        help="p: what a producer writes to one partition.",
        show_default=False,
    ),
]
ConsumerRate: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--consumer-rate",
        metavar="SIZE/s",
        help="c: what a consumer reads from one partition.",
        show_default=False,
    ),
]
Partitions: TypeAlias = Annotated[
    int | None,
    typer.Option("--partitions", min=1, help="Instead of max(t/p, t/c).", show_default=False),
]
Brokers: TypeAlias = Annotated[
    int | None,
    typer.Option("--brokers", min=1, help="As many as there are.", show_default=False),
]
Disk: TypeAlias = Annotated[str, typer.Option("--disk", metavar="SIZE", help="Of one broker.")]
DiskSpeed: TypeAlias = Annotated[
    str,
    typer.Option(
        "--disk-speed", metavar="SIZE/s", help="Sequential writes of one broker, all disks."
    ),
]
Network: TypeAlias = Annotated[
    str, typer.Option("--network", metavar="SIZE/s", help="Of one broker.")
]
Memory: TypeAlias = Annotated[str, typer.Option("--memory", metavar="SIZE", help="Of one broker.")]
BufferTime: TypeAlias = Annotated[
    str,
    typer.Option("--buffer-time", metavar="TIME", help="How long writes are buffered: 30s to 1m."),
]
StorageKind: TypeAlias = Annotated[Storage, typer.Option("--storage")]
SharedDisks: TypeAlias = Annotated[
    bool, typer.Option("--shared-disks", help="The system or ZooKeeper uses them too.")
]
DataCentres: TypeAlias = Annotated[
    int, typer.Option("--data-centres", min=1, help="That the cluster spans.")
]
MinInsyncReplicas: TypeAlias = Annotated[int, typer.Option("--min-insync-replicas", min=1)]
Tls: TypeAlias = Annotated[bool, typer.Option("--tls", help="Connections are encrypted.")]
