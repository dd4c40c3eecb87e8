"""Group coordinators of this broker, on `__consumer_offsets`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.broker.groups.coordinators import Coordinators, TopicPlan, TopicsView
from headrace.cluster.image import (
    BrokerConfigChanged,
    Change,
    PartitionsAdded,
    TopicCreated,
    TopicDeleted,
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
    config = metadata.config
    topics = TopicsView(metadata)

    def new_shard(_partition: Partition) -> GroupShard:
        return GroupShard(
            read_settings(metadata.config),
            topics,
            machine.new_id,
            overrides=lambda group: metadata.image.group_configs.get(group, {}),
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
        if any(isinstance(each, BrokerConfigChanged) for each in changes):
            settings = read_settings(metadata.config)
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
    names = (
        "group_min_session_timeout_ms",
        "group_max_session_timeout_ms",
        "group_max_size",
        "group_initial_rebalance_delay_ms",
        "group_consumer_session_timeout_ms",
        "group_consumer_min_session_timeout_ms",
        "group_consumer_max_session_timeout_ms",
        "group_consumer_heartbeat_interval_ms",
        "group_consumer_min_heartbeat_interval_ms",
        "group_consumer_max_heartbeat_interval_ms",
        "group_consumer_assignment_interval_ms",
        "group_consumer_min_assignment_interval_ms",
        "group_consumer_max_assignment_interval_ms",
        "group_consumer_max_size",
        "group_share_session_timeout_ms",
        "group_share_min_session_timeout_ms",
        "group_share_max_session_timeout_ms",
        "group_share_heartbeat_interval_ms",
        "group_share_min_heartbeat_interval_ms",
        "group_share_max_heartbeat_interval_ms",
        "group_share_assignment_interval_ms",
        "group_share_min_assignment_interval_ms",
        "group_share_max_assignment_interval_ms",
        "group_share_max_size",
        "offset_metadata_max_bytes",
        "offsets_retention_check_interval_ms",
    )
    numbers = {name: config.get_int(name.replace("_", ".")) for name in names}
    return GroupSettings(
        **numbers,
        group_consumer_assignors=tuple(config.get_list("group.consumer.assignors")),
        group_consumer_migration_policy=str(config.get("group.consumer.migration.policy")).lower(),
        group_coordinator_rebalance_protocols=frozenset(
            config.get_list("group.coordinator.rebalance.protocols")
        ),
        offsets_retention_ms=config.get_int("offsets.retention.minutes") * _MINUTE_MS,
    )
