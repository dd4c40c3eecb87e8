"""Metrics of the process, by the names of every Prometheus client, and of the broker's life."""

from __future__ import annotations

import gc
import os
import platform
import resource
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Final

import headrace
from headrace.broker.metrics.declaration import COUNTER, GAUGE, Metric, Reading, Sources, one

_PAGE_BYTES: Final = resource.getpagesize()
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_START_FIELD: Final = 19  # of /proc/self/stat, behind the name, which may hold spaces
_STATM: Final = Path("/proc/self/statm")


def _memory_pages(field: int) -> int:
    return int(_STATM.read_text().split()[field])


def _start_time_s() -> float:
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[_START_FIELD])
    booted = next(
        int(line.split()[1])
        for line in Path("/proc/stat").read_text().splitlines()
        if line.startswith("btime")
    )
    return booted + ticks / _TICKS_PER_S


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd")) - 1  # one of them is the listing's own


def _disk_bytes(field: str) -> int:
    """What the process had read from or written to disks; not everywhere may it be known."""
    try:
        text = Path("/proc/self/io").read_text()
    except OSError:
        return 0
    return int(text.partition(f"{field}: ")[2].partition("\n")[0] or 0)


def _collections(_: Sources) -> Iterator[Reading]:
    for generation, stats in enumerate(gc.get_stats()):
        yield (str(generation),), stats["collections"]


def _app_info(sources: Sources) -> Iterator[Reading]:
    broker = sources.broker
    yield (str(broker.id), broker.metadata.image.cluster_id, headrace.__version__), 1


def _python_info(_: Sources) -> Iterator[Reading]:
    yield (platform.python_implementation(), platform.python_version()), 1


_SERVER: Final = "kafka.server:type=KafkaServer,name="

PROCESS_METRICS: Final = (
    Metric(
        "kafka_server_kafkaserver_brokerstate",
        GAUGE,
        "Where the broker is in its life: 3 running, 6 handing over, 7 shutting down.",
        one(lambda sources: sources.state),
        mbean=f"{_SERVER}BrokerState",
    ),
    Metric(
        "kafka_server_kafkaserver_linux_disk_read_bytes",
        GAUGE,
        "Bytes that this process had read from disks.",
        one(lambda _: _disk_bytes("read_bytes")),
        mbean=f"{_SERVER}linux-disk-read-bytes",
    ),
    Metric(
        "kafka_server_kafkaserver_linux_disk_write_bytes",
        GAUGE,
        "Bytes that this process had written to disks.",
        one(lambda _: _disk_bytes("\nwrite_bytes")),
        mbean=f"{_SERVER}linux-disk-write-bytes",
    ),
    Metric(
        "kafka_server_app_info",
        GAUGE,
        "1; the labels say which broker of which cluster this is, and its version.",
        _app_info,
        ("broker_id", "cluster_id", "version"),
        "kafka.server:type=app-info,id=",
    ),
    Metric(
        "kafka_server_app_info_starttimems",
        GAUGE,
        "When the broker was started, in milliseconds since 1970.",
        lambda sources: [((str(sources.broker.id),), sources.started_ms)],
        ("id",),
        "kafka.server:type=app-info,id=:start-time-ms",
    ),
    Metric(
        "process_cpu_seconds_total",
        COUNTER,
        "Total user and system CPU time spent in seconds.",
        one(lambda _: process_time()),
    ),
    Metric(
        "process_resident_memory_bytes",
        GAUGE,
        "Resident memory size in bytes.",
        one(lambda _: _memory_pages(1) * _PAGE_BYTES),
    ),
    Metric(
        "process_virtual_memory_bytes",
        GAUGE,
        "Virtual memory size in bytes.",
        one(lambda _: _memory_pages(0) * _PAGE_BYTES),
    ),
    Metric(
        "process_start_time_seconds",
        GAUGE,
        "Start time of the process since unix epoch in seconds.",
        one(lambda _: _start_time_s()),
    ),
    Metric(
        "process_open_fds",
        GAUGE,
        "Number of open file descriptors.",
        one(lambda _: _open_files()),
    ),
    Metric(
        "process_max_fds",
        GAUGE,
        "Maximum number of open file descriptors.",
        one(lambda _: resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
    ),
    Metric(
        "python_gc_collections_total",
        COUNTER,
        "Number of times this generation was collected.",
        _collections,
        ("generation",),
    ),
    Metric(
        "python_info",
        GAUGE,
        "1; the labels say which Python this is.",
        _python_info,
        ("implementation", "version"),
    ),
)
