"""ListConfigResources, v0-v1 (KIP-1142).

Behaviour: the names of everything that has settings: topics, brokers, client metrics subscriptions,
and those groups that have some of their own; v0 asks for client metrics only. An unknown resource
type is UNSUPPORTED_VERSION.

Version notes: v1 any resource type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.broker.membership.config_resources import ResourceType
from headrace.broker.net.handler import Answer, Handler
from headrace.cluster.config_owners import OwnerKind
from headrace.errors import Error
from headrace.wire.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call

_KNOWN: Final = tuple(ResourceType)


def handle(
    metadata: Metadata, request: ListConfigResourcesRequest, call: Call
) -> Answer[ListConfigResourcesResponse]:
    asked = set(request.resource_types) or set(_KNOWN)
    if call.version == 0:
        asked = {ResourceType.CLIENT_METRICS}
    if asked - set(_KNOWN):
        return ListConfigResourcesResponse(
            error_code=Error.UNSUPPORTED_VERSION, config_resources=[]
        )
    image = metadata.image
    found: list[tuple[str, ResourceType]] = []
    if ResourceType.TOPIC in asked:
        found += [(name, ResourceType.TOPIC) for name in sorted(image.topics)]
    for kind, owners in (
        (ResourceType.GROUP, OwnerKind.GROUP),
        (ResourceType.CLIENT_METRICS, OwnerKind.CLIENT_METRICS),
    ):
        if kind in asked:
            found += [(name, kind) for name in sorted(image.configs[owners])]
    for kind in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        if kind in asked:
            found += [(str(broker_id), kind) for broker_id in sorted(image.brokers)]
    return ListConfigResourcesResponse(
        error_code=0,
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind) for name, kind in found
        ],
    )


HANDLER = Handler(request=ListConfigResourcesRequest, handle=handle)
