"""ConsumerGroupDescribe, v0-v1 (KIP-848).

Behaviour: epochs, assignor, members with their current and their target assignment. A group of
another protocol, or none, is GROUP_ID_NOT_FOUND.

Version notes: v1 the protocol of each member (KIP-1099).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker import authorized_operations
from headrace.broker.net.handler import Answer, Handler
from headrace.broker.net.portions import Portions
from headrace.coordinator.group.listing import refused_consumer
from headrace.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.net.call import Call


def handle(
    groups: Groups, request: ConsumerGroupDescribeRequest, call: Call
) -> Answer[ConsumerGroupDescribeResponse]:
    names = request.group_ids

    def combine(groups: list[DescribedGroup]) -> ConsumerGroupDescribeResponse:
        for group in groups:
            if request.include_authorized_operations and not group.error_code:
                group.authorized_operations = authorized_operations.ON_GROUP
        return ConsumerGroupDescribeResponse(groups=groups)

    return groups.ask_each(
        names,
        call,
        lambda index, shard, who, now_ms: shard.handle_consumer_group_describe(
            names[index], who, now_ms
        ),
        lambda index, error: refused_consumer(names[index], error),
        combine,
    )


HANDLER = Handler(
    request=ConsumerGroupDescribeRequest,
    handle=handle,
    portions=Portions("group_ids", "groups"),
)
