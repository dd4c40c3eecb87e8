"""IncrementalAlterConfigs, v0-v1.

Behaviour: sets, deletes, appends to or subtracts from single settings of a topic, of a group
(KIP-848), of a client metrics subscription (KIP-714), of one broker, or of all brokers (the empty
name); deleting exposes the next level (KIP-339). A resource that occurs twice is refused.
Passwords are stored encrypted, and rejected if the broker has no `password.encoder.secret`.
`validate_only` answers as if. The levels of a broker's loggers are changed by that broker alone and
until it stops (KIP-412).

Version notes: v1 flexible.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from headrace.broker.membership.config_resources import (
    ResourceType,
    alter_each,
    broker_of,
    unsupported,
)
from headrace.broker.net.handler import Answer, Handler
from headrace.broker.watching.log_levels import alter_loggers, check_own_loggers
from headrace.cluster.config_changes import (
    ConfigOp,
    incremental_alter_broker,
    incremental_alter_client_metrics,
    incremental_alter_group,
    incremental_alter_topic,
)
from headrace.cluster.image import Change, ClusterImage
from headrace.errors import ClientFault
from headrace.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call
    from headrace.broker.net.reporter import Reporter

_LOGGER: Final = ResourceType.BROKER_LOGGER


def handle(
    metadata: Metadata, reporter: Reporter, request: IncrementalAlterConfigsRequest, call: Call
) -> Answer[IncrementalAlterConfigsResponse]:
    return _alter(metadata, reporter, request)


async def _alter(
    metadata: Metadata, reporter: Reporter, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    loggers = [each for each in request.resources if each.resource_type == _LOGGER]
    outcomes = await alter_each(
        metadata,
        [each for each in request.resources if each.resource_type != _LOGGER],
        partial(_decide_one, metadata),
        _outcome,
        validate_only=request.validate_only,
    )
    for resource in loggers:
        outcome = _outcome(resource)
        try:
            check_own_loggers(metadata.broker_id, resource.resource_name)
            alter_loggers(_ops(resource), validate_only=request.validate_only)
        except ClientFault as fault:
            outcome.error_code, outcome.error_message = fault.error, fault.message
        outcomes.append(outcome)
    reporter.follow_request_log()
    return IncrementalAlterConfigsResponse(responses=outcomes)


def _outcome(resource: AlterConfigsResource) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=0,
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _decide_one(metadata: Metadata, image: ClusterImage, resource: AlterConfigsResource) -> Change:
    ops = _ops(resource)
    if resource.resource_type == ResourceType.TOPIC:
        return incremental_alter_topic(image, resource.resource_name, ops)
    if resource.resource_type == ResourceType.BROKER:
        broker_id = broker_of(metadata, resource.resource_name)
        return incremental_alter_broker(
            image, broker_id, ops, metadata.settings.config, metadata.settings.passwords
        )
    if resource.resource_type == ResourceType.GROUP:
        return incremental_alter_group(image, resource.resource_name, ops, metadata.settings.config)
    if resource.resource_type == ResourceType.CLIENT_METRICS:
        return incremental_alter_client_metrics(image, resource.resource_name, ops)
    raise unsupported(resource.resource_type)


def _ops(resource: AlterConfigsResource) -> list[ConfigOp]:
    return [
        ConfigOp(config.name, config.config_operation, config.value) for config in resource.configs
    ]


HANDLER = Handler(request=IncrementalAlterConfigsRequest, handle=handle)
