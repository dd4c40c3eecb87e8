"""CreateTopics (key 19): new topics, placed by the broker or by hand."""

from __future__ import annotations

from headrace.types import ZERO_UUID

from ..schema import request, response, struct, tagged, v
from ..types import Bool, Int8, Int16, Int32, Uuid


@request(key=19, versions="2-7", flexible=5)
class CreateTopicsRequest:
    """Topics to create, or only to check.

    v4 -1 partitions or replicas take the broker's default (KIP-464) · v5 flexible · v6 may be
    throttled (KIP-599) · v7 topic ids in the answer (KIP-516)
    """

    topics: list[CreatableTopic]
    timeout_ms: Int32 = 60000
    validate_only: Bool = False


@struct
class CreatableTopic:
    """One topic; with assignments, the counts are -1."""

    name: str
    num_partitions: Int32
    replication_factor: Int16
    assignments: list[CreatableReplicaAssignment] = v(default=[])
    configs: list[CreatableTopicConfig] = v(default=[])


@struct
class CreatableReplicaAssignment:
    """The brokers of one partition, the preferred leader first."""

    partition_index: Int32
    broker_ids: list[Int32]


@struct
class CreatableTopicConfig:
    """A setting of the new topic."""

    name: str
    value: str | None


@response(key=19, versions="2-7", flexible=5)
class CreateTopicsResponse:
    """The outcome per topic.

    v5 flexible, shape and settings of the topic (KIP-525) · v7 topic id (KIP-516)
    """

    throttle_time_ms: Int32 = 0
    topics: list[CreatableTopicResult]


@struct
class CreatableTopicResult:
    """The outcome for one topic.

    `topic_config_error_code` says why `configs` is null: the caller may not see the settings.
    """

    name: str
    topic_id: Uuid = v(7, default=ZERO_UUID)
    error_code: Int16
    error_message: str | None = None
    topic_config_error_code: Int16 = tagged(0, since=5, default=0)
    num_partitions: Int32 = v(5, default=-1)
    replication_factor: Int16 = v(5, default=-1)
    configs: list[CreatableTopicConfigs] | None = v(5, default=None)


@struct
class CreatableTopicConfigs:
    """A setting of the topic as it was created."""

    name: str
    value: str | None
    read_only: Bool
    config_source: Int8 = -1
    is_sensitive: Bool
