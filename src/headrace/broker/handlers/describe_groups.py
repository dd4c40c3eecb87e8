"""DescribeGroups, v0-v6.

Behaviour: state, protocol and members of groups of the classic protocol. An unknown group
is Dead; from v6 on it is GROUP_ID_NOT_FOUND (KIP-1043).

Version notes: v3 authorized operations · v4 static members (KIP-345) · v5 flexible · v6 error
messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker import authorized_operations
from headrace.broker.net.handler import Answer, Handler
from headrace.broker.net.portions import Portions
from headrace.coordinator.group.listing import refused_classic
from headrace.wire.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.net.call import Call


def handle(
    groups: Groups, request: DescribeGroupsRequest, call: Call
) -> Answer[DescribeGroupsResponse]:
    names = request.groups

    def combine(groups: list[DescribedGroup]) -> DescribeGroupsResponse:
        for group in groups:
            if request.include_authorized_operations and not group.error_code:
                group.authorized_operations = authorized_operations.ON_GROUP
        return DescribeGroupsResponse(groups=groups)

    return groups.ask_each(
        names,
        call,
        lambda index, shard, who, now_ms: shard.handle_describe_group(names[index], who, now_ms),
        lambda index, error: refused_classic(names[index], error),
        combine,
    )


HANDLER = Handler(
    request=DescribeGroupsRequest,
    handle=handle,
    portions=Portions("groups", "groups"),
)
