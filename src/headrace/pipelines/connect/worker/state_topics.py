"""The three topics of a cluster's state: made as they must be, rejected as they must not be.

All are compacted, because each key's newest record counts and none may be lost; the one for
settings has one partition, because their order is history.
"""

from __future__ import annotations

import logging
from typing import Final

from headrace.admin.client import Admin
from headrace.admin.faults import Refused
from headrace.admin.settings import topic_settings
from headrace.client.settings import ClientSettings
from headrace.errors import Error
from headrace.pipelines.connect.config.worker import StateTopic, StateTopicKind, WorkerConfig
from headrace.pipelines.connect.faults import ConfigException, ConnectException

_LOG: Final = logging.getLogger(__name__)
_POLICY: Final = "cleanup.policy"
_COMPACT: Final = "compact"
_WHAT: Final[dict[StateTopicKind, str]] = {
    "config": "connector configurations",
    "offset": "source connector offsets",
    "status": "connector and task statuses",
}


def ensure_topics(client: ClientSettings, settings: WorkerConfig) -> str:
    """Make those that are missing and check the others; returns the id of the Kafka cluster."""
    with Admin(client) as admin:
        for kind in _WHAT:
            ensure_topic(admin, kind, settings.state_topic(kind))
        return admin.describe_cluster().cluster_id or ""


def ensure_topic(admin: Admin, kind: StateTopicKind, topic: StateTopic) -> None:
    """One of them; ConfigException if it is there and cannot be what it is for."""
    found = admin.cluster.topics([topic.name]).get(topic.name)
    if found is None:
        _create(admin, topic)
        return
    if kind == "config" and len(found.partitions) != 1:
        raise ConfigException(
            f"Topic '{topic.name}' supplied via the 'config.storage.topic' property is required to "
            "have a single partition in order to guarantee consistency of connector "
            f"configurations, but found {len(found.partitions)} partitions."
        )
    _check_policy(admin, kind, topic.name)


def _create(admin: Admin, topic: StateTopic) -> None:
    settings: dict[str, str | None] = {**topic.settings, _POLICY: _COMPACT}
    try:
        admin.create(topic.name, topic.partitions, topic.replication_factor, {}, settings)
    except Refused as fault:
        # Workers of a new cluster start at the same time, and one is the first.
        if fault.error is not Error.TOPIC_ALREADY_EXISTS:
            raise ConnectException(
                f"the topic {topic.name} cannot be created with {topic.partitions} partitions and "
                f"{topic.replication_factor} replicas: {fault}. Correct the worker's settings "
                "*.storage.partitions and *.storage.replication.factor, or create it"
            ) from fault
    admin.cluster.forget(topic.name)
    admin.cluster.topic(topic.name)


def _check_policy(admin: Admin, kind: StateTopicKind, name: str) -> None:
    try:
        listed = topic_settings(admin, [name])[name]
    except Refused as fault:
        _LOG.info("the cleanup policy of %s is not known: %s", name, fault)
        return
    policy = next((each.value or "" for each in listed if each.name == _POLICY), _COMPACT)
    if {part.strip() for part in policy.split(",")} == {_COMPACT}:
        return
    what, key = _WHAT[kind], f"{kind}.storage.topic"
    raise ConfigException(
        f"Topic '{name}' supplied via the '{key}' property is required to have "
        f"'{_POLICY}={_COMPACT}' to guarantee consistency and durability of {what}, but found the "
        f"topic currently has '{_POLICY}={policy}'. Continuing would likely result in eventually "
        f"losing {what} and problems restarting this Connect cluster in the future. Change the "
        f"'{key}' property in the Connect worker configurations to use a topic with "
        f"'{_POLICY}={_COMPACT}'."
    )
