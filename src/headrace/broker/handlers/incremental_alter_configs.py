"""IncrementalAlterConfigs, v0-v1.

Behaviour: sets, deletes, appends to or subtracts from single settings of a topic, of a group
(KIP-848), of one broker, or of all brokers (the empty name); deleting exposes the next level
(KIP-339). A resource that occurs twice is refused. `validate_only` answers as if.

Version notes: v1 flexible.

Not done: broker loggers, client metrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.config_resources import (
    ResourceType,
    alter_each,
    broker_of,
    unsupported,
)
from headrace.broker.dispatch import Answer, Handler
from headrace.cluster.config_changes import (
    ConfigOp,
    incremental_alter_broker,
    incremental_alter_group,
    incremental_alter_topic,
)
from headrace.cluster.image import Change, ClusterImage
from headrace.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.connection import Call


def handle(broker: Broker, request: IncrementalAlterConfigsRequest, call: Call) -> Answer:
    return _alter(broker, request)


async def _alter(
    broker: Broker, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    outcomes = await alter_each(
        broker,
        request.resources,
        _decide_one,
        _outcome,
        validate_only=request.validate_only,
    )
    return IncrementalAlterConfigsResponse(responses=outcomes)


def _outcome(resource: AlterConfigsResource) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=0,
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _decide_one(broker: Broker, image: ClusterImage, resource: AlterConfigsResource) -> Change:
    ops = [
        ConfigOp(config.name, config.config_operation, config.value) for config in resource.configs
    ]
    if resource.resource_type == ResourceType.TOPIC:
        return incremental_alter_topic(image, resource.resource_name, ops)
    if resource.resource_type == ResourceType.BROKER:
        broker_id = broker_of(broker, resource.resource_name)
        return incremental_alter_broker(image, broker_id, ops, broker.config)
    if resource.resource_type == ResourceType.GROUP:
        return incremental_alter_group(image, resource.resource_name, ops, broker.config)
    raise unsupported(resource.resource_type)


HANDLER = Handler(key=44, versions=(0, 1), request=IncrementalAlterConfigsRequest, handle=handle)
