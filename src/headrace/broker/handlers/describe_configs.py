"""DescribeConfigs, v1-v4.

Behaviour: every setting of a topic, a group, a client metrics subscription or this broker with the
value in force and where it comes from, defaults included; the empty broker name describes the
dynamic settings of all brokers. A group's settings are given whether or not there is such a group,
a subscription's too. A broker's loggers are given with their levels. Only the names asked for, when
names are given. Passwords are null. A broker can only be described by itself.

Version notes: v1 synonyms (KIP-226) · v3 type and documentation · v4 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.membership.config_resources import ResourceType, broker_of, unsupported
from headrace.broker.net.handler import Answer, Handler
from headrace.broker.net.portions import Portions
from headrace.broker.watching.log_levels import check_own_loggers, describe_loggers
from headrace.cluster.config_owners import (
    ALL_BROKERS,
    ConfigOwner,
    OwnerKind,
    group_owner,
    topic_owner,
)
from headrace.cluster.configs import (
    ConfigEntry,
    describe_broker,
    describe_client_metrics,
    describe_cluster_default,
    describe_group,
    describe_topic,
)
from headrace.cluster.topic_names import check_name
from headrace.errors import ClientFault, Error
from headrace.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call


def handle(
    metadata: Metadata, request: DescribeConfigsRequest, call: Call
) -> Answer[DescribeConfigsResponse]:
    results = []
    for resource in request.resources:
        result = DescribeConfigsResult(
            error_code=0,
            error_message=None,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            configs=[],
        )
        try:
            result.configs = [_shown(entry, request) for entry in _describe(metadata, resource)]
        except ClientFault as fault:
            result.error_code, result.error_message = fault.error, fault.message
        results.append(result)
    return DescribeConfigsResponse(results=results)


def _describe(metadata: Metadata, resource: DescribeConfigsResource) -> list[ConfigEntry]:
    image = metadata.image
    name = resource.resource_name
    names = resource.configuration_keys or None
    if resource.resource_type == ResourceType.TOPIC:
        check_name(name)
        if name not in image.topics:
            raise ClientFault(
                Error.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
            )
        return describe_topic(image.config_of(topic_owner(name)), metadata.settings.config, names)
    if resource.resource_type == ResourceType.BROKER:
        broker_id = broker_of(metadata, name)
        if broker_id is None:
            return describe_cluster_default(image.config_of(ALL_BROKERS), names)
        if broker_id != metadata.broker_id:
            raise ClientFault(
                Error.INVALID_REQUEST,
                f"Ask broker {broker_id} itself; this is {metadata.broker_id}.",
            )
        return describe_broker(metadata.settings.config, names)
    if resource.resource_type == ResourceType.GROUP:
        if not name:
            raise ClientFault(Error.INVALID_REQUEST, "A group's name is not empty.")
        return describe_group(image.config_of(group_owner(name)), metadata.settings.config, names)
    if resource.resource_type == ResourceType.CLIENT_METRICS:
        if not name:
            raise ClientFault(Error.INVALID_REQUEST, "A subscription's name is not empty.")
        owner = ConfigOwner(OwnerKind.CLIENT_METRICS, name)
        return describe_client_metrics(image.config_of(owner), names)
    if resource.resource_type == ResourceType.BROKER_LOGGER:
        check_own_loggers(metadata.broker_id, name)
        return describe_loggers(names)
    raise unsupported(resource.resource_type)


def _shown(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=other.name, value=other.value, source=other.source)
            for other in entry.synonyms
        ]
        if request.include_synonyms
        else [],
        config_type=entry.type,
        documentation=entry.documentation if request.include_documentation else None,
    )


HANDLER = Handler(
    request=DescribeConfigsRequest,
    handle=handle,
    portions=Portions("resources", "results"),
)
