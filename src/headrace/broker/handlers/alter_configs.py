"""AlterConfigs, v0-v2.

Behaviour: the settings given replace all that the resource has; what is not given falls back to the
next level. Deprecated by Kafka in favour of IncrementalAlterConfigs, still used by older clients.

Version notes: v2 flexible.

Not done: broker loggers, whose levels are single things and changed by IncrementalAlterConfigs.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from headrace.broker.membership.config_resources import (
    ResourceType,
    alter_each,
    broker_of,
    unsupported,
)
from headrace.broker.net.handler import Answer, Handler
from headrace.cluster.config_changes import (
    alter_broker,
    alter_client_metrics,
    alter_group,
    alter_topic,
)
from headrace.cluster.image import Change, ClusterImage
from headrace.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call


def handle(
    metadata: Metadata, request: AlterConfigsRequest, call: Call
) -> Answer[AlterConfigsResponse]:
    return _alter(metadata, request)


async def _alter(metadata: Metadata, request: AlterConfigsRequest) -> AlterConfigsResponse:
    outcomes = await alter_each(
        metadata,
        request.resources,
        partial(_decide_one, metadata),
        _outcome,
        validate_only=request.validate_only,
    )
    return AlterConfigsResponse(responses=outcomes)


def _outcome(resource: AlterConfigsResource) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=0,
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _decide_one(metadata: Metadata, image: ClusterImage, resource: AlterConfigsResource) -> Change:
    configs = {config.name: config.value for config in resource.configs}
    if resource.resource_type == ResourceType.TOPIC:
        return alter_topic(image, resource.resource_name, configs)
    if resource.resource_type == ResourceType.BROKER:
        broker_id = broker_of(metadata, resource.resource_name)
        return alter_broker(
            image, broker_id, configs, metadata.settings.config, metadata.settings.passwords
        )
    if resource.resource_type == ResourceType.GROUP:
        return alter_group(image, resource.resource_name, configs, metadata.settings.config)
    if resource.resource_type == ResourceType.CLIENT_METRICS:
        return alter_client_metrics(resource.resource_name, configs)
    raise unsupported(resource.resource_type)


HANDLER = Handler(request=AlterConfigsRequest, handle=handle)
