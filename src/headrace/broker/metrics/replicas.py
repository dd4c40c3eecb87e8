"""Metrics of replicas, of who waits on them, and of copying (ReplicaManager, Partition …)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from headrace.broker.metrics.declaration import COUNTER, GAUGE, Metric, Reading, Sources, one
from headrace.coordinator.group.classic import ClassicState

if TYPE_CHECKING:
    from headrace.replica.partition import Partition


def _partitions(sources: Sources) -> Iterable[Partition]:
    return sources.broker.storage.partitions.values()


def _count(condition: Callable[[Partition], bool]) -> Callable[[Sources], Iterable[Reading]]:
    return one(lambda sources: sum(map(condition, _partitions(sources))))


def is_under_replicated(partition: Partition) -> bool:
    leadership = partition.leadership
    return partition.is_leader and len(leadership.isr) < len(leadership.replicas)


def _isr_margin(partition: Partition) -> int:
    """How many in-sync replicas there are beyond `min.insync.replicas`."""
    return len(partition.leadership.isr) - partition.log.config.min_insync_replicas


def _is_under_min_isr(partition: Partition) -> bool:
    return partition.is_leader and _isr_margin(partition) < 0


def _is_at_min_isr(partition: Partition) -> bool:
    return partition.is_leader and _isr_margin(partition) == 0


def _offline_replicas(sources: Sources) -> int:
    storage = sources.broker.storage
    failed = sum(bool(partition.offline_reason) for partition in storage.partitions.values())
    return failed + len(storage.unserved.keys() - storage.partitions.keys())


def _reassigning(sources: Sources) -> int:
    image = sources.broker.metadata.image
    return sum(
        bool(partition.adding or partition.removing)
        for topic in image.topics.values()
        for partition in topic.partitions
        if partition.leader == sources.broker.id
    )


def _of_leaders(read: Callable[[Partition], int]) -> Callable[[Sources], Iterable[Reading]]:
    """A number of every partition that is led here."""

    def readings(sources: Sources) -> Iterator[Reading]:
        for partition in list(_partitions(sources)):
            if partition.is_leader and not partition.offline_reason:
                topic, index = partition.topic_partition
                yield (topic, str(index)), read(partition)

    return readings


def _of_isr(attribute: str) -> Callable[[Sources], Iterable[Reading]]:
    return one(lambda sources: 0 if sources.role is None else getattr(sources.role.isr, attribute))


# -- who waits -------------------------------------------------------------------------------------


def _purgatories(sources: Sources) -> Iterator[Reading]:
    fetches = produces = 0
    for partition in _partitions(sources):
        fetches += len(partition.fetch_waiters) + len(partition.replica_waiters)
        produces += len(partition.commit_waiters.entries) + len(partition.flush_waiters.entries)
    yield ("Fetch",), fetches
    yield ("Produce",), produces
    yield ("Rebalance",), _rebalances(sources)


def _delayed(sources: Sources) -> Iterator[Reading]:
    fetches = {
        id(waiter)
        for partition in _partitions(sources)
        for waiter in (*partition.fetch_waiters, *partition.replica_waiters)
    }
    produces = {
        id(waiter)
        for partition in _partitions(sources)
        for _, waiter in (*partition.commit_waiters.entries, *partition.flush_waiters.entries)
        if not waiter.released
    }
    yield ("Fetch",), len(fetches)
    yield ("Produce",), len(produces)
    yield ("Rebalance",), _rebalances(sources)


def _rebalances(sources: Sources) -> int:
    return sum(
        group.state is ClassicState.PREPARING_REBALANCE
        for host in sources.broker.groups.active()
        for group in host.shard.groups.values()
    )


# -- copying ---------------------------------------------------------------------------------------


def _follower_lag(sources: Sources) -> Iterator[Reading]:
    for partition in list(_partitions(sources)):
        leader = partition.leadership.leader
        if not partition.is_leader and leader >= 0 and not partition.offline_reason:
            topic, index = partition.topic_partition
            behind = max(partition.leader_high_watermark - partition.log.log_end_offset, 0)
            yield (f"ReplicaFetcherThread-0-{leader}", topic, str(index)), behind


def _max_lag(sources: Sources) -> Iterator[Reading]:
    lags = [lag for _, lag in _follower_lag(sources) if isinstance(lag, int)]
    yield ("Replica",), max(lags, default=0)


def _manager(name: str) -> str:
    return f"kafka.server:type=ReplicaManager,name={name}"


def _partition(name: str) -> str:
    return f"kafka.cluster:type=Partition,name={name},topic=,partition="


_SESSIONS: Final = "kafka.server:type=FetchSessionCache,name="
_PURGATORY: Final = "kafka.server:type=DelayedOperationPurgatory,name="
_OF_PARTITION: Final = ("topic", "partition")

REPLICA_METRICS: Final = (
    Metric(
        "kafka_server_replicamanager_underreplicatedpartitions",
        GAUGE,
        "Partitions led here with fewer in-sync replicas than replicas. Should be 0.",
        _count(is_under_replicated),
        mbean=_manager("UnderReplicatedPartitions"),
    ),
    Metric(
        "kafka_server_replicamanager_underminisrpartitioncount",
        GAUGE,
        "Partitions led here with fewer in-sync replicas than `min.insync.replicas`: acks=all is "
        "refused.",
        _count(_is_under_min_isr),
        mbean=_manager("UnderMinIsrPartitionCount"),
    ),
    Metric(
        "kafka_server_replicamanager_atminisrpartitioncount",
        GAUGE,
        "Partitions led here that cannot lose another in-sync replica without refusing acks=all.",
        _count(_is_at_min_isr),
        mbean=_manager("AtMinIsrPartitionCount"),
    ),
    Metric(
        "kafka_server_replicamanager_partitioncount",
        GAUGE,
        "Replicas on this broker. Should be even across brokers.",
        one(lambda sources: len(sources.broker.storage.partitions)),
        mbean=_manager("PartitionCount"),
    ),
    Metric(
        "kafka_server_replicamanager_leadercount",
        GAUGE,
        "Partitions led by this broker. Should be even across brokers.",
        _count(lambda partition: partition.is_leader),
        mbean=_manager("LeaderCount"),
    ),
    Metric(
        "kafka_server_replicamanager_offlinereplicacount",
        GAUGE,
        "Replicas that should be here and cannot be served: a disk failed, or they are damaged.",
        one(_offline_replicas),
        mbean=_manager("OfflineReplicaCount"),
    ),
    Metric(
        "kafka_server_replicamanager_reassigningpartitions",
        GAUGE,
        "Partitions led here that move to other brokers.",
        one(_reassigning),
        mbean=_manager("ReassigningPartitions"),
    ),
    Metric(
        "kafka_server_replicamanager_produceridcount",
        GAUGE,
        "Producers that the partitions here remember.",
        one(lambda s: sum(len(partition.log.producers) for partition in _partitions(s))),
        mbean=_manager("ProducerIdCount"),
    ),
    Metric(
        "kafka_server_replicamanager_isrshrinks_total",
        COUNTER,
        "How often a follower was taken out of the in-sync replicas of a partition led here.",
        _of_isr("shrinks"),
        mbean=_manager("IsrShrinksPerSec"),
    ),
    Metric(
        "kafka_server_replicamanager_isrexpands_total",
        COUNTER,
        "How often a follower was let in among the in-sync replicas of a partition led here.",
        _of_isr("expands"),
        mbean=_manager("IsrExpandsPerSec"),
    ),
    Metric(
        "kafka_server_replicamanager_failedisrupdates_total",
        COUNTER,
        "Changes of in-sync replicas that could not be made.",
        _of_isr("failed_updates"),
        mbean=_manager("FailedIsrUpdatesPerSec"),
    ),
    Metric(
        "kafka_server_delayedoperationpurgatory_purgatorysize",
        GAUGE,
        "Requests that wait, counted once for each partition that they wait on.",
        _purgatories,
        ("delayedOperation",),
        f"{_PURGATORY}PurgatorySize,delayedOperation=",
    ),
    Metric(
        "kafka_server_delayedoperationpurgatory_numdelayedoperations",
        GAUGE,
        "Requests that wait.",
        _delayed,
        ("delayedOperation",),
        f"{_PURGATORY}NumDelayedOperations,delayedOperation=",
    ),
    Metric(
        "kafka_server_fetcherlagmetrics_consumerlag",
        GAUGE,
        "Committed records that a follower here did not have when its leader last answered.",
        _follower_lag,
        ("clientId", "topic", "partition"),
        "kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=,topic=,partition=",
    ),
    Metric(
        "kafka_server_replicafetchermanager_maxlag",
        GAUGE,
        "The largest lag of a follower here.",
        _max_lag,
        ("clientId",),
        "kafka.server:type=ReplicaFetcherManager,name=MaxLag,clientId=Replica",
    ),
    Metric(
        "kafka_server_fetchsessioncache_numincrementalfetchsessions",
        GAUGE,
        "Fetch sessions.",
        one(lambda sources: len(sources.broker.fetch_sessions)),
        mbean=f"{_SESSIONS}NumIncrementalFetchSessions",
    ),
    Metric(
        "kafka_server_fetchsessioncache_numincrementalfetchpartitionscached",
        GAUGE,
        "Partitions that fetch sessions remember.",
        one(lambda sources: sources.broker.fetch_sessions.partitions_cached),
        mbean=f"{_SESSIONS}NumIncrementalFetchPartitionsCached",
    ),
    Metric(
        "kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total",
        COUNTER,
        "Fetch sessions that made room for others.",
        one(lambda sources: sources.broker.fetch_sessions.evictions),
        mbean=f"{_SESSIONS}IncrementalFetchSessionEvictionsPerSec",
    ),
    Metric(
        "kafka_cluster_partition_underreplicated",
        GAUGE,
        "1 if a partition led here has fewer in-sync replicas than replicas.",
        _of_leaders(is_under_replicated),
        _OF_PARTITION,
        _partition("UnderReplicated"),
    ),
    Metric(
        "kafka_cluster_partition_insyncreplicascount",
        GAUGE,
        "In-sync replicas of a partition led here.",
        _of_leaders(lambda partition: len(partition.leadership.isr)),
        _OF_PARTITION,
        _partition("InSyncReplicasCount"),
    ),
    Metric(
        "kafka_cluster_partition_replicascount",
        GAUGE,
        "Replicas of a partition led here.",
        _of_leaders(lambda partition: len(partition.leadership.replicas)),
        _OF_PARTITION,
        _partition("ReplicasCount"),
    ),
    Metric(
        "kafka_cluster_partition_underminisr",
        GAUGE,
        "1 if a partition led here refuses acks=all.",
        _of_leaders(_is_under_min_isr),
        _OF_PARTITION,
        _partition("UnderMinIsr"),
    ),
    Metric(
        "kafka_cluster_partition_atminisr",
        GAUGE,
        "1 if a partition led here cannot lose another in-sync replica.",
        _of_leaders(_is_at_min_isr),
        _OF_PARTITION,
        _partition("AtMinIsr"),
    ),
    Metric(
        "kafka_cluster_partition_laststableoffsetlag",
        GAUGE,
        "Records between the last stable offset and the high watermark: open transactions.",
        _of_leaders(lambda each: each.log.high_watermark - each.log.last_stable_offset),
        _OF_PARTITION,
        _partition("LastStableOffsetLag"),
    ),
)
