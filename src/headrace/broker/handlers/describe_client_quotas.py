"""DescribeClientQuotas, v0-v1 (KIP-546).

Behaviour: the entities with quotas whose parts match all components of the filter; `strict` leaves
out entities with further parts. No components and not strict means all. An unknown type is
UNSUPPORTED_VERSION, everything else that is wrong with a filter INVALID_REQUEST.

Version notes: v1 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.cluster.client_quotas import Component, describe
from headrace.errors import ClientFault
from headrace.wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call


def handle(
    metadata: Metadata, request: DescribeClientQuotasRequest, call: Call
) -> Answer[DescribeClientQuotasResponse]:
    asked = [
        Component(each.entity_type, each.match_type, each.match) for each in request.components
    ]
    try:
        found = list(describe(metadata.image, asked, is_strict=request.strict))
    except ClientFault as fault:
        return DescribeClientQuotasResponse(
            error_code=fault.error, error_message=fault.message, entries=None
        )
    return DescribeClientQuotasResponse(
        error_code=0,
        error_message=None,
        entries=[
            EntryData(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
                values=[ValueData(key=key, value=value) for key, value in values.items()],
            )
            for entity, values in found
        ],
    )


HANDLER = Handler(request=DescribeClientQuotasRequest, handle=handle)
