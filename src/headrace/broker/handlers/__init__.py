"""One module per API, named as its message module. What is listed here is what is served.

`bound` gives each the parts of the broker that it works with, and no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.broker.handlers import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_client_quotas,
    alter_configs,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    alter_share_group_offsets,
    api_versions,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_share_group_offsets,
    delete_share_group_state,
    delete_topics,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_share_group_offsets,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    elect_leaders,
    end_txn,
    fetch,
    find_coordinator,
    get_telemetry_subscriptions,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    initialize_share_group_state,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    push_telemetry,
    read_share_group_state,
    read_share_group_state_summary,
    share_acknowledge,
    share_fetch,
    share_group_describe,
    share_group_heartbeat,
    sync_group,
    txn_offset_commit,
    update_features,
    write_share_group_state,
    write_txn_markers,
)
from headrace.broker.handlers import metadata as metadata_api
from headrace.broker.net.handler import AnyHandler, Bound
from headrace.broker.transactions.admission import Admission

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

MODULES: Final = (
    produce,
    fetch,
    list_offsets,
    metadata_api,
    offset_commit,
    offset_fetch,
    find_coordinator,
    join_group,
    heartbeat,
    leave_group,
    sync_group,
    describe_groups,
    list_groups,
    api_versions,
    create_topics,
    delete_topics,
    delete_records,
    init_producer_id,
    offset_for_leader_epoch,
    add_partitions_to_txn,
    add_offsets_to_txn,
    end_txn,
    write_txn_markers,
    txn_offset_commit,
    describe_configs,
    alter_configs,
    alter_replica_log_dirs,
    describe_log_dirs,
    create_partitions,
    delete_groups,
    elect_leaders,
    incremental_alter_configs,
    alter_partition_reassignments,
    list_partition_reassignments,
    offset_delete,
    describe_client_quotas,
    alter_client_quotas,
    describe_user_scram_credentials,
    update_features,
    describe_cluster,
    describe_producers,
    describe_transactions,
    list_transactions,
    consumer_group_heartbeat,
    consumer_group_describe,
    get_telemetry_subscriptions,
    push_telemetry,
    list_config_resources,
    describe_topic_partitions,
    share_group_heartbeat,
    share_group_describe,
    share_fetch,
    share_acknowledge,
    initialize_share_group_state,
    read_share_group_state,
    write_share_group_state,
    delete_share_group_state,
    read_share_group_state_summary,
    describe_share_group_offsets,
    alter_share_group_offsets,
    delete_share_group_offsets,
)
HANDLERS: Final[tuple[AnyHandler, ...]] = tuple(module.HANDLER for module in MODULES)


def bound(broker: Broker) -> list[Bound]:
    """Every handler, with what it needs."""
    rooms = (_data, _groups, _transactions, _sharing, _administration)
    return [each for room in rooms for each in room(broker)]


def _data(broker: Broker) -> list[Bound]:
    metadata = broker.metadata
    storage = broker.storage
    quotas = broker.quotas
    clock = broker.clock
    transactions = broker.transactions
    return [
        produce.HANDLER.bind(
            produce.Parts(
                metadata,
                storage,
                Admission(metadata, storage, transactions, broker.remote_transactions),
                broker.inspections,
                broker.reporter,
                clock,
                broker.loop,
            )
        ),
        fetch.HANDLER.bind(
            fetch.Parts(
                metadata,
                storage,
                quotas,
                broker.fetch_sessions,
                broker.isr,
                broker.throttle,
                broker.reporter,
                clock,
                broker.loop,
                broker.max_fetch_bytes,
            )
        ),
        list_offsets.HANDLER.bind(storage, broker.inspections),
        metadata_api.HANDLER.bind(metadata_api.Parts(metadata, storage, quotas, broker.machine)),
        offset_for_leader_epoch.HANDLER.bind(storage),
        delete_records.HANDLER.bind(metadata, storage, clock),
        describe_producers.HANDLER.bind(storage),
        describe_topic_partitions.HANDLER.bind(metadata, storage),
    ]


def _groups(broker: Broker) -> list[Bound]:
    metadata = broker.metadata
    groups = broker.groups
    transactions = broker.transactions
    shares = broker.share_states.coordinators
    return [
        offset_commit.HANDLER.bind(groups),
        offset_fetch.HANDLER.bind(groups),
        find_coordinator.HANDLER.bind(metadata, groups, transactions, shares),
        join_group.HANDLER.bind(groups),
        heartbeat.HANDLER.bind(groups),
        leave_group.HANDLER.bind(groups),
        sync_group.HANDLER.bind(groups),
        describe_groups.HANDLER.bind(groups),
        list_groups.HANDLER.bind(groups),
        delete_groups.HANDLER.bind(groups),
        offset_delete.HANDLER.bind(groups),
        consumer_group_heartbeat.HANDLER.bind(metadata, groups),
        consumer_group_describe.HANDLER.bind(groups),
    ]


def _transactions(broker: Broker) -> list[Bound]:
    metadata = broker.metadata
    storage = broker.storage
    groups = broker.groups
    transactions = broker.transactions
    return [
        init_producer_id.HANDLER.bind(transactions, broker.producer_ids),
        add_partitions_to_txn.HANDLER.bind(metadata, transactions),
        add_offsets_to_txn.HANDLER.bind(groups, transactions),
        end_txn.HANDLER.bind(transactions),
        write_txn_markers.HANDLER.bind(storage, broker.markers),
        txn_offset_commit.HANDLER.bind(
            txn_offset_commit.Parts(metadata, groups, transactions, broker.remote_transactions)
        ),
        describe_transactions.HANDLER.bind(transactions),
        list_transactions.HANDLER.bind(transactions),
    ]


def _sharing(broker: Broker) -> list[Bound]:
    metadata = broker.metadata
    storage = broker.storage
    quotas = broker.quotas
    clock = broker.clock
    groups = broker.groups
    shares = broker.share_states.coordinators
    return [
        share_group_heartbeat.HANDLER.bind(metadata, groups),
        share_group_describe.HANDLER.bind(metadata, groups),
        share_fetch.HANDLER.bind(
            share_fetch.Parts(
                metadata,
                storage,
                quotas,
                broker.share_partitions,
                broker.share_sessions,
                clock,
                broker.loop,
                broker.max_fetch_bytes,
            )
        ),
        share_acknowledge.HANDLER.bind(metadata, broker.share_partitions, broker.share_sessions),
        initialize_share_group_state.HANDLER.bind(shares),
        read_share_group_state.HANDLER.bind(shares),
        write_share_group_state.HANDLER.bind(shares),
        delete_share_group_state.HANDLER.bind(shares),
        read_share_group_state_summary.HANDLER.bind(shares),
        describe_share_group_offsets.HANDLER.bind(
            metadata, storage, groups, broker.share_states, broker.peers
        ),
        alter_share_group_offsets.HANDLER.bind(metadata, groups),
        delete_share_group_offsets.HANDLER.bind(metadata, groups),
    ]


def _administration(broker: Broker) -> list[Bound]:
    metadata = broker.metadata
    storage = broker.storage
    quotas = broker.quotas
    clock = broker.clock
    return [
        api_versions.HANDLER.bind(metadata, HANDLERS),
        create_topics.HANDLER.bind(metadata, quotas, broker.machine),
        delete_topics.HANDLER.bind(metadata, quotas),
        describe_configs.HANDLER.bind(metadata),
        alter_configs.HANDLER.bind(metadata),
        alter_replica_log_dirs.HANDLER.bind(broker.moves),
        describe_log_dirs.HANDLER.bind(storage, broker.moves),
        create_partitions.HANDLER.bind(metadata, quotas),
        elect_leaders.HANDLER.bind(metadata),
        incremental_alter_configs.HANDLER.bind(metadata, broker.reporter),
        alter_partition_reassignments.HANDLER.bind(metadata),
        list_partition_reassignments.HANDLER.bind(metadata),
        describe_client_quotas.HANDLER.bind(metadata),
        alter_client_quotas.HANDLER.bind(metadata),
        describe_user_scram_credentials.HANDLER.bind(metadata),
        update_features.HANDLER.bind(metadata),
        describe_cluster.HANDLER.bind(metadata),
        get_telemetry_subscriptions.HANDLER.bind(metadata, broker.telemetry, broker.machine),
        push_telemetry.HANDLER.bind(metadata, broker.telemetry, broker.inspections, clock),
        list_config_resources.HANDLER.bind(metadata),
    ]
