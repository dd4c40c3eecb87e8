"""Group coordinators of this broker, on `__consumer_offsets`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.broker.groups.coordinators import Coordinators, TopicPlan, TopicsView
from headrace.cluster.image import (
    Change,
    PartitionsAdded,
    TopicCreated,
    TopicDeleted,
    changes_broker_configs,
)
from headrace.coordinator.group.effects import ShareStatesChange
from headrace.coordinator.group.records import FORMATS, GroupRecord
from headrace.coordinator.group.settings import GroupSettings
from headrace.coordinator.group.shard import GroupShard
from headrace.coordinator.host import Host

if TYPE_CHECKING:
    from headrace.broker.machine import Machine
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.storage.storage import Storage
    from headrace.cluster.broker_config import BrokerConfig
    from headrace.replica.partition import Partition

_MINUTE_MS: Final = 60_000

Groups: TypeAlias = Coordinators[GroupShard, GroupRecord, ShareStatesChange]
GroupHost: TypeAlias = Host[GroupShard, GroupRecord, ShareStatesChange]


def build_groups(
    metadata: Metadata,
    storage: Storage,
    machine: Machine,
    change_share_states: Callable[[Groups, GroupHost, ShareStatesChange], None],
) -> Groups:
    config = metadata.settings.config
    topics = TopicsView(metadata)

    def new_shard(_partition: Partition) -> GroupShard:
        return GroupShard(
            read_settings(metadata.settings.config),
            topics,
            machine.new_id,
            overrides=metadata.settings.own_group_config,
        )

    groups: Groups = Coordinators(
        FORMATS,
        TopicPlan(
            partition_count=config.get_int("offsets.topic.num.partitions"),
            replication_factor_key="offsets.topic.replication.factor",
            configs={
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": str(config.get_int("offsets.topic.segment.bytes")),
            },
        ),
        metadata,
        storage,
        machine,
        new_shard=new_shard,
        send=lambda host, change: change_share_states(groups, host, change),
    )

    def on_changes(changes: Sequence[Change]) -> None:
        if changes_broker_configs(changes):
            settings = read_settings(metadata.settings.config)
            for host in groups.active():
                host.shard.settings = settings
        if any(isinstance(each, TopicCreated | TopicDeleted | PartitionsAdded) for each in changes):
            now_ms = groups.now_ms()
            for host in groups.active():
                groups.perform(host, host.shard.on_topics_changed(now_ms), now_ms)

    metadata.watchers.append(on_changes)
    return groups


def read_settings(config: BrokerConfig) -> GroupSettings:
    """The broker's settings as the group coordinator knows them."""
    return config.read(
        GroupSettings,
        group_consumer_migration_policy=config.get_str("group.consumer.migration.policy").lower(),
        offsets_retention_ms=config.get_int("offsets.retention.minutes") * _MINUTE_MS,
    )
