"""Metrics of logs on disks: offsets, sizes, flushes, directories, compaction (kafka.log)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from headrace.broker.metrics.cluster import summary_of
from headrace.broker.metrics.declaration import (
    COUNTER,
    GAUGE,
    SUMMARY,
    Metric,
    Reading,
    Sources,
    one,
)
from headrace.log.append import COMPACT
from headrace.log.compaction import measure

if TYPE_CHECKING:
    from headrace.log import PartitionLog

_OF_PARTITION: Final = ("topic", "partition")
_OF_DIRECTORY: Final = ("logDirectory",)


def _of_logs(read: Callable[[PartitionLog], int]) -> Callable[[Sources], Iterable[Reading]]:
    def readings(sources: Sources) -> Iterator[Reading]:
        for partition in list(sources.broker.storage.partitions.values()):
            if not partition.offline_reason:
                topic, index = partition.topic_partition
                yield (topic, str(index)), read(partition.log)

    return readings


def _offline_directories(sources: Sources) -> int:
    return sum(not directory.online for directory in sources.broker.storage.directories)


def _is_offline(sources: Sources) -> Iterator[Reading]:
    for directory in sources.broker.storage.directories:
        yield (directory.path,), not directory.online


def _max_dirty_percent(sources: Sources) -> int:
    now_ms = sources.broker.clock.now_ms()
    ratios = [
        measure(partition.log, now_ms).dirty_ratio
        for partition in sources.broker.storage.partitions.values()
        if COMPACT in partition.log.config.cleanup_policy and not partition.offline_reason
    ]
    return int(100 * max(ratios, default=0.0))


def _recopy_percent(sources: Sources) -> int:
    tally = sources.cleaner.tally
    return int(100 * tally.bytes_written / tally.bytes_read) if tally.bytes_read else 0


def _uncleanable(sources: Sources) -> Iterator[Reading]:
    given_up = sources.cleaner.uncleanable
    for directory in sources.broker.storage.directories:
        yield (directory.path,), len(given_up.keys() & directory.logs.keys())


def _since_last_run_ms(sources: Sources) -> int:
    last_ms = sources.cleaner.tally.last_ms
    return sources.broker.clock.now_ms() - last_ms if last_ms else -1


def _log(name: str) -> str:
    return f"kafka.log:type=Log,name={name},topic=,partition="


_CLEANER: Final = "kafka.log:type=LogCleaner,name="
_CLEANER_MANAGER: Final = "kafka.log:type=LogCleanerManager,name="

FILE_METRICS: Final = (
    Metric(
        "kafka_log_log_logendoffset",
        GAUGE,
        "The offset that the next record of a replica gets.",
        _of_logs(lambda log: log.log_end_offset),
        _OF_PARTITION,
        _log("LogEndOffset"),
    ),
    Metric(
        "kafka_log_log_logstartoffset",
        GAUGE,
        "The first offset of a replica.",
        _of_logs(lambda log: log.log_start_offset),
        _OF_PARTITION,
        _log("LogStartOffset"),
    ),
    Metric(
        "kafka_log_log_size",
        GAUGE,
        "Bytes of the segments of a replica.",
        _of_logs(lambda log: log.size_bytes),
        _OF_PARTITION,
        _log("Size"),
    ),
    Metric(
        "kafka_log_log_numlogsegments",
        GAUGE,
        "Segments of a replica.",
        _of_logs(lambda log: len(log.segments)),
        _OF_PARTITION,
        _log("NumLogSegments"),
    ),
    Metric(
        "kafka_log_logflushstats_logflushrateandtimems",
        SUMMARY,
        "Flushes to stable storage and how long each took. Milliseconds.",
        lambda sources: [((), summary_of(sources.broker.storage.flush_times))],
        mbean="kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs",
    ),
    Metric(
        "kafka_log_logmanager_offlinelogdirectorycount",
        GAUGE,
        "Data folders that have failed.",
        one(_offline_directories),
        mbean="kafka.log:type=LogManager,name=OfflineLogDirectoryCount",
    ),
    Metric(
        "kafka_log_logmanager_logdirectoryoffline",
        GAUGE,
        "1 if a data folder has failed.",
        _is_offline,
        _OF_DIRECTORY,
        "kafka.log:type=LogManager,name=LogDirectoryOffline,logDirectory=",
    ),
    Metric(
        "kafka_log_logcleanermanager_max_dirty_percent",
        GAUGE,
        "The dirtiest compacted log: how much of it was written since it was last compacted.",
        one(_max_dirty_percent),
        mbean=f"{_CLEANER_MANAGER}max-dirty-percent",
    ),
    Metric(
        "kafka_log_logcleanermanager_uncleanable_partitions_count",
        GAUGE,
        "Logs whose compaction failed; they grow.",
        _uncleanable,
        _OF_DIRECTORY,
        f"{_CLEANER_MANAGER}uncleanable-partitions-count,logDirectory=",
    ),
    Metric(
        "kafka_log_logcleanermanager_time_since_last_run_ms",
        GAUGE,
        "Time since a log was compacted; -1 if none was.",
        one(_since_last_run_ms),
        mbean=f"{_CLEANER_MANAGER}time-since-last-run-ms",
    ),
    Metric(
        "kafka_log_logcleaner_cleaner_recopy_percent",
        GAUGE,
        "How much of what the cleaner read it had to write again.",
        one(_recopy_percent),
        mbean=f"{_CLEANER}cleaner-recopy-percent",
    ),
    Metric(
        "kafka_log_logcleaner_max_clean_time_secs",
        GAUGE,
        "The longest compaction of a log.",
        one(lambda sources: sources.cleaner.tally.longest_s),
        mbean=f"{_CLEANER}max-clean-time-secs",
    ),
    Metric(
        "headrace_log_cleanings_total",
        COUNTER,
        "Compactions of logs.",
        one(lambda sources: sources.cleaner.tally.cleanings),
    ),
)
