"""Share coordinators of this broker, on `__share_group_state`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Never, TypeAlias, assert_never

from headrace.broker.groups.coordinators import Coordinators, TopicPlan, TopicsView
from headrace.cluster.image import Change, TopicDeleted
from headrace.coordinator.host import Host
from headrace.coordinator.share.records import FORMATS, ShareRecord
from headrace.coordinator.share.shard import ShareSettings, ShareShard

if TYPE_CHECKING:
    from headrace.broker.machine import Machine
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.storage.storage import Storage
    from headrace.replica.partition import Partition


Shares: TypeAlias = Coordinators[ShareShard, ShareRecord, Never]
ShareHost: TypeAlias = Host[ShareShard, ShareRecord, Never]


def build_shares(metadata: Metadata, storage: Storage, machine: Machine) -> Shares:
    config = metadata.settings.config
    settings = ShareSettings(
        updates_per_snapshot=config.get_int(
            "share.coordinator.snapshot.update.records.per.snapshot"
        )
    )
    topics = TopicsView(metadata)

    def new_shard(_partition: Partition) -> ShareShard:
        return ShareShard(settings, topics)

    shares: Shares = Coordinators(
        FORMATS,
        TopicPlan(
            partition_count=config.get_int("share.coordinator.state.topic.num.partitions"),
            replication_factor_key="share.coordinator.state.topic.replication.factor",
            configs={
                "cleanup.policy": "delete",
                "compression.type": "producer",
                "min.insync.replicas": str(config.get_int("share.coordinator.state.topic.min.isr")),
                "retention.ms": "-1",
                "segment.bytes": str(config.get_int("share.coordinator.state.topic.segment.bytes")),
            },
            commit_timeout_key="share.coordinator.write.timeout.ms",
        ),
        metadata,
        storage,
        machine,
        new_shard=new_shard,
        send=lambda _host, nothing: assert_never(nothing),
    )

    def on_changes(changes: Sequence[Change]) -> None:
        gone = {each.topic.id for each in changes if isinstance(each, TopicDeleted)}
        if gone:
            now_ms = shares.now_ms()
            for host in shares.active():
                shares.perform(host, host.shard.on_topics_deleted(gone), now_ms)

    metadata.watchers.append(on_changes)
    return shares


def prune(hosts: Iterable[ShareHost]) -> None:
    """Delete what snapshots have made redundant.

    Only where everything is committed: a snapshot that a new leader never saw replaces nothing.
    """
    for host in hosts:
        partition = host.partition
        log = partition.log
        needed_from = host.shard.redundancy.needed_from
        if log.log_start_offset < needed_from and partition.high_watermark == log.log_end_offset:
            log.delete_records_before(needed_from)
