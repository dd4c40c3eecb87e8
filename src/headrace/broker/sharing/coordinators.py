"""Share coordinators of this broker, on `__share_group_state`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.broker.groups.coordinators import Coordinators, TopicsView
from headrace.cluster.image import Change, TopicDeleted
from headrace.cluster.topic_names import SHARE_GROUP_STATE
from headrace.coordinator.effects import ProducerIdentity, TransactionMarkers
from headrace.coordinator.host import Host, InternalTopic
from headrace.coordinator.share.records import decode_record, encode_record
from headrace.coordinator.share.shard import ShareSettings, ShareShard
from headrace.errors import InvariantViolated

if TYPE_CHECKING:
    from headrace.broker.machine import Machine
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.storage.storage import Storage
    from headrace.replica.partition import Partition


def _end_transaction(_shard: ShareShard, _producer: ProducerIdentity, _commit: bool) -> None:
    """Nobody writes to this topic in a transaction; a marker that is here means nothing."""


Shares: TypeAlias = Coordinators[ShareShard]

STATE: Final[InternalTopic[ShareShard]] = InternalTopic(
    SHARE_GROUP_STATE,
    encode_record,
    decode_record,
    lambda shard, record, offset, _transaction: shard.replay(record, offset),
    _end_transaction,
)


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

    def send(_host: Host[ShareShard], _markers: TransactionMarkers) -> None:
        raise InvariantViolated("share coordinators end no transactions")

    shares = Coordinators(
        STATE,
        metadata,
        storage,
        machine,
        partition_count=config.get_int("share.coordinator.state.topic.num.partitions"),
        topic_configs={
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "min.insync.replicas": str(config.get_int("share.coordinator.state.topic.min.isr")),
            "retention.ms": "-1",
            "segment.bytes": str(config.get_int("share.coordinator.state.topic.segment.bytes")),
        },
        new_shard=new_shard,
        send=send,
        commit_timeout_key="share.coordinator.write.timeout.ms",
    )

    def on_changes(changes: Sequence[Change]) -> None:
        gone = {each.topic.id for each in changes if isinstance(each, TopicDeleted)}
        if gone:
            now_ms = shares.now_ms()
            for host in shares.active():
                shares.perform(host, host.shard.on_topics_deleted(gone), now_ms)

    metadata.watchers.append(on_changes)
    return shares


def prune(hosts: Iterable[Host[ShareShard]]) -> None:
    """Delete what snapshots have made redundant.

    Only where everything is committed: a snapshot that a new leader never saw replaces nothing.
    """
    for host in hosts:
        partition = host.partition
        log = partition.log
        needed_from = host.shard.redundancy.needed_from
        if log.log_start_offset < needed_from and partition.high_watermark == log.log_end_offset:
            log.delete_records_before(needed_from)
