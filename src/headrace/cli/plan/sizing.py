"""How large a cluster must be: the usual formulas for Kafka, with the figures of our broker. Pure.

A load is what is written and read; a machine is what one broker is made of. Every figure comes with
the formula that gave it, so that it can be checked.

A broker is one process with one event loop: it answers requests on one core, and its memory is not
a heap that is given to it but what its partitions and connections take. The records themselves are
in the page cache. The figures below were measured on Linux with Python 3.11 and rounded up; what a
core moves depends on the machine and on the size of batches, so `--broker-rate` replaces it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

MAX_PARTITIONS_PER_BROKER: Final = 4_000
MAX_PARTITIONS_PER_CLUSTER: Final = 200_000
TLS_THROUGHPUT: Final = 69 / 83
"""What encryption leaves of the throughput of a client: 69 of 83 MB/s where it was measured."""
DAY_S: Final = 86_400
PROCESS_BYTES: Final = 64_000_000
"""An idle broker takes 40 MB, one under load some buffers more."""
REPLICA_BYTES: Final = 16_000
"""The process grows by 9 KB for a partition that is there, and more for one that is written to."""
CONNECTIONS: Final = 1_000
CONNECTION_BYTES: Final = 64_000
"""4 KB idle; a client that fetches or produces has a request and an answer in memory."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked of the cluster, growth included."""

    messages_per_second: float
    message_bytes: int
    retention_s: float
    replication_factor: int
    consumers: int  # groups that read everything
    producer_bytes_per_second: int | None  # of one partition; None: not measured
    consumer_bytes_per_second: int | None
    tls: bool = False

    @property
    def bytes_per_second(self) -> float:
        return self.messages_per_second * self.message_bytes


@dataclass(frozen=True, slots=True)
class Machine:
    """What one broker has."""

    disk_bytes: int
    bandwidth_bytes_per_second: int
    disk_bytes_per_second: int
    buffer_s: float
    core_bytes_per_second: int = 200_000_000
    """What a broker moves on its core, records in and out, with batches of the usual size."""


class Need(NamedTuple):
    """One figure and where it comes from."""

    value: float
    formula: str


@dataclass(frozen=True, slots=True)
class Sizing:
    """The answer."""

    partitions: Need
    brokers_by: dict[str, Need]
    brokers: int
    because: str  # of the number of brokers
    disk_per_broker: Need
    process_per_broker: Need
    buffer_per_broker: Need
    network_per_broker: Need


def size(load: Load, machine: Machine, *, partitions: int | None, brokers: int | None) -> Sizing:
    """The cluster for this load; given partitions or brokers are taken, not computed."""
    wanted = Need(partitions, "as given") if partitions else partitions_for(load)
    needs = {
        "replicas": Need(
            load.replication_factor, "a broker holds at most one replica of a partition"
        ),
        "storage": brokers_by_storage(load, machine.disk_bytes),
        "network": brokers_by_network(load, machine.bandwidth_bytes_per_second),
        "disk speed": brokers_by_disk_speed(load, machine.disk_bytes_per_second),
        "CPU": brokers_by_cpu(load, machine.core_bytes_per_second),
        "partitions": Need(
            math.ceil(wanted.value * load.replication_factor / MAX_PARTITIONS_PER_BROKER),
            f"{wanted.value:.0f} partitions x {load.replication_factor} replicas / "
            f"{MAX_PARTITIONS_PER_BROKER:,} on a broker",
        ),
    }
    most = max(needs, key=lambda reason: needs[reason].value)
    count = brokers or math.ceil(needs[most].value)
    return Sizing(
        partitions=wanted,
        brokers_by=needs,
        brokers=count,
        because="as given" if brokers else f"the most of these, by {most}",
        disk_per_broker=disk_per_broker(load, count),
        process_per_broker=process_memory(int(wanted.value) * load.replication_factor / count),
        buffer_per_broker=buffer_memory(
            load.bytes_per_second * load.replication_factor / count, machine.buffer_s
        ),
        network_per_broker=network_per_broker(load, count),
    )


def loads(load: Load) -> dict[str, int]:
    """The four loads of a cluster, in bytes per second: each can be the one that is too much."""
    written = load.bytes_per_second
    return {
        "write": round(written),
        "read": round(written * load.consumers),
        "replication": round(written * (load.replication_factor - 1)),
        "disk": round(written * load.replication_factor),
    }


def partitions_for(load: Load) -> Need:
    """max(t/p, t/c): enough for the slower side, at least one; TLS makes both slower."""
    left = TLS_THROUGHPUT if load.tls else 1
    rates = {
        "p": load.producer_bytes_per_second,
        "c": load.consumer_bytes_per_second,
    }
    known = {name: load.bytes_per_second / (rate * left) for name, rate in rates.items() if rate}
    needed = max(1, math.ceil(max(known.values(), default=1) - 1e-9))
    shown = ", ".join(f"t/{name} = {value:.1f}" for name, value in known.items())
    return Need(needed, f"max({shown})" if known else "one, as p and c are not given")


def brokers_by_storage(load: Load, disk_bytes: int) -> Need:
    """Messages a day x size x days x replication factor / disk of a broker."""
    per_day = load.messages_per_second * DAY_S
    days = load.retention_s / DAY_S
    stored = per_day * load.message_bytes * days * load.replication_factor
    return Need(
        math.ceil(stored / disk_bytes - 1e-9),
        f"{per_day:,.0f} a day x {load.message_bytes:,} B x {days:g} days x "
        f"{load.replication_factor} replicas / {disk_bytes:,} B",
    )


def brokers_by_network(load: Load, bandwidth_bytes_per_second: int) -> Need:
    """Messages a second x size x consumers / bandwidth of a broker."""
    read = load.bytes_per_second * load.consumers
    return Need(
        math.ceil(read / bandwidth_bytes_per_second - 1e-9),
        f"{load.messages_per_second:,.0f}/s x {load.message_bytes:,} B x {load.consumers} "
        f"consumers / {bandwidth_bytes_per_second:,} B/s",
    )


def brokers_by_disk_speed(load: Load, disk_bytes_per_second: int) -> Need:
    """Messages a second x size x replication factor / what a broker's disks write in sequence."""
    written = load.bytes_per_second * load.replication_factor
    return Need(
        math.ceil(written / disk_bytes_per_second - 1e-9),
        f"{load.messages_per_second:,.0f}/s x {load.message_bytes:,} B x "
        f"{load.replication_factor} replicas / {disk_bytes_per_second:,} B/s",
    )


def brokers_by_cpu(load: Load, core_bytes_per_second: int) -> Need:
    """Records in and out of all brokers / what a broker moves on its core."""
    return Need(
        math.ceil(_moved(load) / core_bytes_per_second - 1e-9),
        f"{_moved(load):,.0f} B/s in and out / {core_bytes_per_second:,} B/s on a broker's core",
    )


def process_memory(replicas: float) -> Need:
    """What the process of a broker takes beside the page cache."""
    return Need(
        PROCESS_BYTES + replicas * REPLICA_BYTES + CONNECTIONS * CONNECTION_BYTES,
        f"{PROCESS_BYTES:,} B + {math.ceil(replicas):,} replicas x {REPLICA_BYTES:,} B + "
        f"{CONNECTIONS:,} connections x {CONNECTION_BYTES:,} B",
    )


def disk_per_broker(load: Load, brokers: int) -> Need:
    """(Message size x write throughput x retention x replication factor) / brokers."""
    stored = load.bytes_per_second * load.retention_s * load.replication_factor
    return Need(
        stored / brokers,
        f"{load.message_bytes:,} B x {load.messages_per_second:,.0f}/s x "
        f"{load.retention_s:,.0f} s x {load.replication_factor} / {brokers} brokers",
    )


def buffer_memory(bytes_per_second: float, buffer_s: float) -> Need:
    """Throughput x buffer time: what the page cache holds until the disk has it."""
    return Need(
        bytes_per_second * buffer_s, f"{bytes_per_second:,.0f} B/s x {buffer_s:g} s of buffer"
    )


def network_per_broker(load: Load, brokers: int) -> Need:
    """What a broker receives and sends: records, copies to followers, records to readers."""
    copies = load.replication_factor - 1
    return Need(
        _moved(load) / brokers,
        f"(1 written + 2 x {copies} copied + {load.consumers} read) x "
        f"{load.bytes_per_second:,.0f} B/s / {brokers} brokers",
    )


def _moved(load: Load) -> float:
    """Bytes a second in and out of all brokers: written, copied (sent and received), read."""
    return load.bytes_per_second * (1 + 2 * (load.replication_factor - 1) + load.consumers)
