"""ListGroups, v0-v5.

Behaviour: every group of this broker, filtered by state and type; COORDINATOR_LOAD_IN_PROGRESS
while some of them are not loaded yet.

Version notes: v3 flexible · v4 states (KIP-518) · v5 types (KIP-848): classic,
consumer, share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.coordinator.group.listing import listed_groups
from headrace.coordinator.host import HostState
from headrace.errors import Error
from headrace.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.net.call import Call


def handle(groups: Groups, request: ListGroupsRequest, call: Call) -> Answer[ListGroupsResponse]:
    hosts = groups.hosts.values()
    error = Error.NONE
    if any(host.state is HostState.LOADING for host in hosts):
        error = Error.COORDINATOR_LOAD_IN_PROGRESS
    found = [
        group
        for host in groups.active()
        for group in listed_groups(
            host.shard.groups.values(), request.states_filter, request.types_filter
        )
    ]
    return ListGroupsResponse(error_code=error, groups=found)


HANDLER = Handler(request=ListGroupsRequest, handle=handle)
