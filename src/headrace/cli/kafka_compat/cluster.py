"""`kafka-cluster`: the id of a cluster, its endpoints, and brokers that shall be forgotten.

Only a KRaft cluster remembers a broker that is gone. One that keeps its brokers in ZooKeeper, as
ours does, forgets it with its session; to `unregister` it answers that there is no such API.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headrace.admin.client import Admin
from headrace.admin.faults import Refused
from headrace.admin.views import BrokerView
from headrace.cli.kafka_compat.administering import Told, as_whole_number
from headrace.cli.kafka_compat.arguments import read_command
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.tool import Tool, Work, on_cluster
from headrace.client.connection import Unsupported

_LEAST_WIDTH: Final = 10


def _plan(given: Given) -> Work:
    if given.has("--bootstrap-controller"):
        raise Told("this cluster has no controllers of its own; give --bootstrap-server")
    servers = given.text("--bootstrap-server")
    if not servers:
        raise Told("one of the arguments --bootstrap-server --bootstrap-controller is required")
    return on_cluster(given, servers, _WORK[given.command], given.text("--config"))


def _cluster_id(admin: Admin, given: Given) -> None:
    print(f"Cluster ID: {admin.describe_cluster().cluster_id}")


def _unregister(admin: Admin, given: Given) -> None:
    from headrace.wire.messages.unregister_broker import UnregisterBrokerRequest

    broker_id = as_whole_number(given, "--id")
    if broker_id is None:
        raise Told("argument --id/-i is required")
    try:
        answer = admin.ask(UnregisterBrokerRequest(broker_id=broker_id))
    except Unsupported:
        print("The target cluster does not support the broker unregistration API.")
        return
    if answer.error_code:
        raise Refused(answer.error_code, answer.error_message)
    print(f"Broker {broker_id} is no longer registered.")


def _list_endpoints(admin: Admin, given: Given) -> None:
    fenced = given.has("--include-fenced-brokers")
    for line in endpoint_lines(admin.describe_cluster(include_fenced=fenced).brokers):
        print(line)


def endpoint_lines(brokers: Sequence[BrokerView]) -> list[str]:
    """A head and a line for each broker, in columns as wide as Kafka's tool makes them."""
    host_width = max((len(each.host) for each in brokers), default=_LEAST_WIDTH)
    racks = [each.rack for each in brokers if each.rack is not None]
    rack_width = max(map(len, racks), default=_LEAST_WIDTH)
    rows = [("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE")]
    rows += [
        (
            str(each.id),
            each.host,
            str(each.port),
            each.rack or "null",
            "fenced" if each.is_fenced else "unfenced",
            "broker",
        )
        for each in brokers
    ]
    widths = (10, host_width, 10, rack_width, 10, 15)
    return [
        " ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in rows
    ]


_WORK: Final = {
    "cluster-id": _cluster_id,
    "unregister": _unregister,
    "list-endpoints": _list_endpoints,
}


run: Final = Tool(
    "kafka-cluster",
    flags("--bootstrap-server= --bootstrap-controller= --config= --id= --include-fenced-brokers"),
    "cluster-id --bootstrap-server localhost:9092",
    _plan,
    read=read_command,
    commands={
        "cluster-id": (),
        "unregister": ("--id",),
        "list-endpoints": ("--include-fenced-brokers",),
    },
    short={
        "-b": "--bootstrap-server",
        "-C": "--bootstrap-controller",
        "-c": "--config",
        "-i": "--id",
        "-h": "--help",
    },
)
