"""Transaction coordinators of this broker, on `__transaction_state`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from headrace.broker.groups.coordinators import Coordinators, TopicPlan
from headrace.coordinator.effects import TransactionMarkers
from headrace.coordinator.host import Host
from headrace.coordinator.transaction.records import FORMATS, TransactionRecord
from headrace.coordinator.transaction.settings import TransactionSettings
from headrace.coordinator.transaction.shard import TransactionShard

if TYPE_CHECKING:
    from headrace.broker.machine import Machine
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.storage.storage import Storage
    from headrace.broker.transactions.markers import Markers
    from headrace.broker.transactions.producer_ids import ProducerIds
    from headrace.replica.partition import Partition


Transactions: TypeAlias = Coordinators[TransactionShard, TransactionRecord, TransactionMarkers]
TransactionHost: TypeAlias = Host[TransactionShard, TransactionRecord, TransactionMarkers]


def build_transactions(
    metadata: Metadata,
    storage: Storage,
    machine: Machine,
    producer_ids: ProducerIds,
    markers: Markers,
) -> Transactions:
    config = metadata.settings.config
    level = metadata.image.feature_level("transaction.version")
    settings = config.read(TransactionSettings, transaction_version=level)

    def new_shard(partition: Partition) -> TransactionShard:
        return TransactionShard(settings, partition.leadership.leader_epoch, producer_ids.take)

    return Coordinators(
        FORMATS,
        TopicPlan(
            partition_count=config.get_int("transaction.state.log.num.partitions"),
            replication_factor_key="transaction.state.log.replication.factor",
            configs={
                "cleanup.policy": "compact",
                "compression.type": "uncompressed",
                "min.insync.replicas": str(config.get_int("transaction.state.log.min.isr")),
                "segment.bytes": str(config.get_int("transaction.state.log.segment.bytes")),
                "unclean.leader.election.enable": "false",
            },
        ),
        metadata,
        storage,
        machine,
        new_shard=new_shard,
        send=markers.send,
    )
