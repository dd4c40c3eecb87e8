"""The topic that holds the schemas: made as it must be, refused as it must not be.

One partition, because its order is the order of the registry's history; compacted and never
deleted from, because a schema that retention took is data that nobody can read any more. The
module runs once, at the start, and knows nothing of what is in the topic.
"""

from __future__ import annotations

import logging
from typing import Final

from headrace.client.cluster import Cluster
from headrace.client.faults import BrokerRefused
from headrace.client.retrying import PASSING
from headrace.errors import ConfigError, Error
from headrace.registry.settings import RegistrySettings
from headrace.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from headrace.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from headrace.wire.messages.metadata import MetadataRequest, MetadataResponse

_LOG: Final = logging.getLogger(__name__)

_TOPIC: Final = 2
_POLICY: Final = "cleanup.policy"
_COMPACT: Final = "compact"


def ensure_topic(cluster: Cluster, settings: RegistrySettings, topic: str) -> None:
    """Create the topic, or check the one that is there."""
    found = cluster.topics([topic]).get(topic)
    if found is None:
        _create(cluster, settings, topic)
        return
    if len(found.partitions) != 1:
        raise ConfigError(
            f"the topic {topic} has {len(found.partitions)} partitions where 1 is needed: "
            "schemas would be read in the wrong order. Set kafkastore.topic to another name, or "
            "copy its records into a topic with one partition"
        )
    _check_policy(cluster, settings, topic)


def cluster_id(cluster: Cluster) -> str:
    """How the cluster calls itself; empty where it has no name."""
    deadline = cluster.deadline("asking for the id of the cluster")
    while True:
        connection = cluster.any_broker(within=deadline)
        try:
            answer: MetadataResponse = cluster.call(
                connection, MetadataRequest(topics=[]), deadline
            )
            return answer.cluster_id or ""
        except PASSING as error:
            deadline.rest(error)


def _create(cluster: Cluster, settings: RegistrySettings, topic: str) -> None:
    """With as many replicas as wanted, or as the cluster has brokers for."""
    replicas = settings.topic_replication_factor
    while True:
        code, detail = _create_once(cluster, settings, topic, replicas)
        if code in (Error.NONE, Error.TOPIC_ALREADY_EXISTS):
            break
        if code != Error.INVALID_REPLICATION_FACTOR or replicas <= 1:
            raise BrokerRefused(code, f"creating the topic {topic}", detail)
        replicas -= 1
    if 0 < replicas < settings.topic_replication_factor:
        _LOG.warning(
            "the topic %s has %d replicas, fewer than kafkastore.topic.replication.factor=%d: "
            "the cluster has no more brokers",
            topic,
            replicas,
            settings.topic_replication_factor,
        )
    cluster.forget(topic)
    cluster.topic(topic)


def _create_once(
    cluster: Cluster, settings: RegistrySettings, topic: str, replicas: int
) -> tuple[int, str | None]:
    deadline = cluster.deadline(f"creating the topic {topic}")
    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=topic,
                num_partitions=1,
                replication_factor=replicas,
                configs=[CreatableTopicConfig(name=_POLICY, value=_COMPACT)],
            )
        ],
        timeout_ms=settings.timeout_ms,
    )
    while True:
        connection = cluster.any_broker(within=deadline)
        try:
            (result,) = cluster.call(connection, request, deadline).topics
            if result.error_code in (Error.NOT_CONTROLLER, Error.REQUEST_TIMED_OUT):
                raise BrokerRefused(result.error_code, f"creating the topic {topic}")
            return result.error_code, result.error_message
        except PASSING as error:
            deadline.rest(error)


def _check_policy(cluster: Cluster, settings: RegistrySettings, topic: str) -> None:
    policy = _policy(cluster, topic)
    if policy is None or policy == _COMPACT:
        return
    trouble = (
        f"the topic {topic} has {_POLICY}={policy} where {_COMPACT} is needed: retention "
        "would delete schemas that records still refer to"
    )
    if settings.topic_skip_validation:
        _LOG.warning("%s (kafkastore.topic.skip.validation=true)", trouble)
        return
    raise ConfigError(
        f"{trouble}. Run `kafka-configs --bootstrap-server … --alter --topic {topic} "
        f"--add-config {_POLICY}={_COMPACT}`, or set kafkastore.topic.skip.validation=true"
    )


def _policy(cluster: Cluster, topic: str) -> str | None:
    """The policy; None where this client may not see it."""
    what = f"reading the settings of {topic}"
    deadline = cluster.deadline(what)
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=_TOPIC, resource_name=topic, configuration_keys=[_POLICY]
            )
        ]
    )
    while True:
        connection = cluster.any_broker(within=deadline)
        try:
            answer: DescribeConfigsResponse = cluster.call(connection, request, deadline)
            (found,) = answer.results
            if found.error_code == Error.TOPIC_AUTHORIZATION_FAILED:
                _LOG.warning("%s is not allowed: its %s is taken on trust", what, _POLICY)
                return None
            if found.error_code:
                raise BrokerRefused(found.error_code, what, found.error_message)
            return next((config.value for config in found.configs if config.name == _POLICY), None)
        except PASSING as error:
            deadline.rest(error)
