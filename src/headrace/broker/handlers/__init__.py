"""One module per API, named as its message module. What is registered here is what is served."""

from __future__ import annotations

from headrace.broker.dispatch import Handler
from headrace.broker.handlers import (
    alter_configs,
    api_versions,
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_log_dirs,
    describe_topic_partitions,
    fetch,
    find_coordinator,
    incremental_alter_configs,
    init_producer_id,
    list_config_resources,
    list_offsets,
    metadata,
    offset_for_leader_epoch,
    produce,
)

MODULES = (
    produce,
    fetch,
    list_offsets,
    metadata,
    find_coordinator,
    api_versions,
    create_topics,
    delete_topics,
    delete_records,
    init_producer_id,
    offset_for_leader_epoch,
    describe_configs,
    alter_configs,
    describe_log_dirs,
    create_partitions,
    incremental_alter_configs,
    describe_cluster,
    list_config_resources,
    describe_topic_partitions,
)

HANDLERS: tuple[Handler, ...] = tuple(module.HANDLER for module in MODULES)
