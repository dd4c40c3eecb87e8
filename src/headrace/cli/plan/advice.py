"""What is risky about a plan, and the machine that is recommended for a broker. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from headrace.cli.plan.sizing import (
    MAX_PARTITIONS_PER_BROKER,
    MAX_PARTITIONS_PER_CLUSTER,
    Load,
    Machine,
    Sizing,
)
from headrace.cli.sizes import show_bytes

GB: Final = 1_000_000_000
SYSTEM: Final = 1 * GB
ACCEPTABLE_RAM: Final = 32 * GB
GOOD_RAM: Final = 64 * GB
MANY_PARTITIONS: Final = 1_000

BROKER_HARDWARE: Final = {
    "cores": "4: one for requests, the others for compaction, fsync and TLS; with more cores, run "
    "several brokers on the machine",
    "memory": "64 GB: less than 1 GB for the broker, 1 GB for the system, the rest is page cache",
    "disks": "12 of 1 TB for records alone, each its own log.dirs or all in RAID 10",
    "file_system": "XFS or ext4, mounted noatime",
    "network": "1 or 10 Gbit/s, all brokers in one data centre",
}
ZOOKEEPER_HARDWARE: Final = {
    "cores": "2 to 4",
    "memory": "8 GB",
    "disks": "512 GB SSD for the transaction log, 2 TB RAID 10 for snapshots",
}


class Storage(StrEnum):
    """What `--storage` takes."""

    SSD = "ssd"
    HDD = "hdd"
    RAID5 = "raid5"
    RAID10 = "raid10"
    NAS = "nas"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What no formula asks for, and operations suffer from."""

    ram_bytes: int
    storage: Storage
    data_centres: int
    shared_disks: bool
    min_insync_replicas: int


def warnings(load: Load, machine: Machine, sizing: Sizing, around: Circumstances) -> Iterator[str]:
    """One sentence for each risk: what it is and what to do."""
    yield from _of_replicas(load, sizing, around)
    yield from _of_partitions(load, sizing)
    yield from _of_machines(machine, sizing, around)
    if load.tls:
        yield (
            "TLS costs CPU: where it was measured, CPU of a producer rose from 12 to 28 % and "
            "of its broker from 30 to 48 %; a sixth of the throughput is planned for"
        )


def _of_replicas(load: Load, sizing: Sizing, around: Circumstances) -> Iterator[str]:
    if load.replication_factor > sizing.brokers:
        yield (
            f"{load.replication_factor} replicas do not fit on {sizing.brokers} brokers: a broker "
            "holds one replica of a partition at most"
        )
    if load.replication_factor == 1:
        yield (
            "one replica: records that are not on disk yet are lost with the machine; "
            "use a replication factor of 3"
        )
    elif around.min_insync_replicas >= load.replication_factor:
        yield (
            f"min.insync.replicas={around.min_insync_replicas} of {load.replication_factor} "
            "replicas: the first broker that fails stops the producers"
        )
    if around.data_centres > 1:
        yield (
            f"one cluster over {around.data_centres} data centres: their network is neither fast "
            "nor reliable enough; run a cluster in each and mirror"
        )


def _of_partitions(load: Load, sizing: Sizing) -> Iterator[str]:
    count = int(sizing.partitions.value)
    replicas = count * load.replication_factor
    if replicas > MAX_PARTITIONS_PER_BROKER * sizing.brokers:
        yield (
            f"{replicas:,} replicas on {sizing.brokers} brokers: more than "
            f"{MAX_PARTITIONS_PER_BROKER:,} on each; add brokers"
        )
    if replicas > MAX_PARTITIONS_PER_CLUSTER:
        yield (
            f"{replicas:,} replicas: more than the {MAX_PARTITIONS_PER_CLUSTER:,} that a cluster "
            "can hold; use several clusters"
        )
    if count >= MANY_PARTITIONS:
        yield (
            f"{count:,} partitions cost open files, time to elect leaders, latency of replication "
            "and memory of clients; measure p and c and see whether fewer do"
        )
    if load.producer_bytes_per_second is None or load.consumer_bytes_per_second is None:
        yield (
            "the throughput of one partition is not given: measure it with headrace bench and "
            "give --producer-rate and --consumer-rate"
        )


def _of_machines(machine: Machine, sizing: Sizing, around: Circumstances) -> Iterator[str]:
    if around.ram_bytes < ACCEPTABLE_RAM:
        yield (
            f"{show_bytes(around.ram_bytes)} of memory: below 32 GB little page cache is left, and "
            "consumers that lag read from disk"
        )
    elif around.ram_bytes < GOOD_RAM:
        yield f"{show_bytes(around.ram_bytes)} of memory is acceptable; 64 GB cache more of the log"
    cache = around.ram_bytes - sizing.process_per_broker.value - SYSTEM
    if sizing.buffer_per_broker.value > cache:
        yield (
            f"{show_bytes(sizing.buffer_per_broker.value)} of buffer do not fit into "
            f"{show_bytes(max(cache, 0))} of page cache; add memory or brokers"
        )
    if sizing.disk_per_broker.value > machine.disk_bytes:
        yield (
            f"{show_bytes(sizing.disk_per_broker.value)} on each broker do not fit on its "
            f"{show_bytes(machine.disk_bytes)}; add disks or brokers, or keep records shorter"
        )
    if sizing.network_per_broker.value > machine.bandwidth_bytes_per_second:
        yield (
            f"{show_bytes(sizing.network_per_broker.value)}/s with the copies exceed the "
            f"{show_bytes(machine.bandwidth_bytes_per_second)}/s of a broker; add brokers"
        )
    if sizing.brokers_by["CPU"].value > sizing.brokers:
        yield (
            f"{sizing.brokers} brokers move less than the load asks for: "
            f"{sizing.brokers_by['CPU'].value:.0f} cores are needed, and a broker uses one; "
            "add brokers, or measure --broker-rate with headrace bench"
        )
    if around.storage is Storage.NAS:
        yield "network storage: every write waits for the network; use local disks"
    elif around.storage is Storage.RAID5:
        yield "RAID 5 writes slowly; use RAID 10, or one log directory on each disk"
    if around.shared_disks:
        yield "disks shared with the system, ZooKeeper or logs: give records disks of their own"


def tolerated_failures(load: Load, around: Circumstances) -> tuple[int, int]:
    """How many brokers may fail before producers with acks=all stop, and before records go."""
    writing = max(load.replication_factor - around.min_insync_replicas, 0)
    return writing, load.replication_factor - 1
