"""JSON Schemas of the resources, for the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

STRING: Final = {"type": "string"}
INTEGER: Final = {"type": "integer"}
BOOLEAN: Final = {"type": "boolean"}
TEXT_OR_NULL: Final = {"type": ["string", "null"]}
INTEGERS: Final = {"type": "array", "items": INTEGER}
RELATED: Final = {
    "type": "object",
    "required": ["related"],
    "properties": {"related": STRING},
}
ANY: Final[dict[str, Any]] = {}
INT32: Final = {"type": "integer", "minimum": 0, "maximum": 0x7FFFFFFF}
INT64: Final = {"type": "integer", "minimum": 0, "maximum": (1 << 63) - 1}


def array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def struct(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """An object whose first fields are always there."""
    return {
        "type": "object",
        "required": list(required),
        "properties": required | (optional or {}),
    }


def resource(kind: str, **fields: dict[str, Any]) -> dict[str, Any]:
    metadata = struct({"self": STRING}, {"resource_name": STRING})
    return struct({"kind": {"const": kind}, "metadata": metadata, "cluster_id": STRING} | fields)


def listing(item: dict[str, Any]) -> dict[str, Any]:
    kind = item["properties"]["kind"]["const"]
    metadata = struct({"self": STRING, "next": TEXT_OR_NULL})
    return struct({"kind": {"const": f"{kind}List"}, "metadata": metadata, "data": array(item)})


ERROR: Final = struct({"error_code": INTEGER, "message": STRING})
CLUSTER: Final = resource(
    "KafkaCluster",
    controller=RELATED,
    acls=RELATED,
    brokers=RELATED,
    broker_configs=RELATED,
    consumer_groups=RELATED,
    topics=RELATED,
    partition_reassignments=RELATED,
)
BROKER: Final = resource(
    "KafkaBroker",
    broker_id=INTEGER,
    host=STRING,
    port=INTEGER,
    rack=TEXT_OR_NULL,
    configs=RELATED,
    partition_replicas=RELATED,
)
TOPIC: Final = resource(
    "KafkaTopic",
    topic_name=STRING,
    is_internal=BOOLEAN,
    replication_factor=INTEGER,
    partitions_count=INTEGER,
    partitions=RELATED,
    configs=RELATED,
    partition_reassignments=RELATED,
    authorized_operations=array(STRING),
)
PARTITION: Final = resource(
    "KafkaPartition",
    topic_name=STRING,
    partition_id=INTEGER,
    leader={"anyOf": [RELATED, {"type": "null"}]},
    replicas=RELATED,
    reassignment=RELATED,
)
REPLICA: Final = resource(
    "KafkaReplica",
    topic_name=STRING,
    partition_id=INTEGER,
    broker_id=INTEGER,
    is_leader=BOOLEAN,
    is_in_sync=BOOLEAN,
    broker=RELATED,
)
REASSIGNMENT: Final = resource(
    "KafkaReassignment",
    topic_name=STRING,
    partition_id=INTEGER,
    adding_replicas=INTEGERS,
    removing_replicas=INTEGERS,
    replicas=RELATED,
)
_SYNONYM: Final = struct({"name": STRING, "value": TEXT_OR_NULL, "source": STRING})


def config(kind: str, **owner: dict[str, Any]) -> dict[str, Any]:
    return resource(
        kind,
        **owner,
        name=STRING,
        value=TEXT_OR_NULL,
        is_default=BOOLEAN,
        is_read_only=BOOLEAN,
        is_sensitive=BOOLEAN,
        source=STRING,
        synonyms=array(_SYNONYM),
    )


CONSUMER_GROUP: Final = resource(
    "KafkaConsumerGroup",
    consumer_group_id=STRING,
    is_simple=BOOLEAN,
    partition_assignor=STRING,
    state=STRING,
    type=STRING,
    is_mixed_consumer_group=BOOLEAN,
    coordinator=RELATED,
    consumers=RELATED,
    lag_summary=RELATED,
)
CONSUMER: Final = resource(
    "KafkaConsumer",
    consumer_group_id=STRING,
    consumer_id=STRING,
    instance_id=TEXT_OR_NULL,
    client_id=STRING,
    assignments=RELATED,
)
ASSIGNMENT: Final = resource(
    "KafkaConsumerAssignment",
    consumer_group_id=STRING,
    consumer_id=STRING,
    topic_name=STRING,
    partition_id=INTEGER,
    partition=RELATED,
    lag=RELATED,
)
LAG: Final = resource(
    "KafkaConsumerLag",
    consumer_group_id=STRING,
    topic_name=STRING,
    partition_id=INTEGER,
    consumer_id=STRING,
    instance_id=TEXT_OR_NULL,
    client_id=STRING,
    current_offset=INTEGER,
    log_end_offset=INTEGER,
    lag=INTEGER,
)
LAG_SUMMARY: Final = resource(
    "KafkaConsumerGroupLagSummary",
    consumer_group_id=STRING,
    max_lag_consumer_id=STRING,
    max_lag_instance_id=TEXT_OR_NULL,
    max_lag_client_id=STRING,
    max_lag_topic_name=STRING,
    max_lag_partition_id=INTEGER,
    max_lag=INTEGER,
    total_lag=INTEGER,
    max_lag_consumer=RELATED,
    max_lag_partition=RELATED,
)
