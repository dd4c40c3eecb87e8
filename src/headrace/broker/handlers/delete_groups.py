"""DeleteGroups, v0-v2.

Behaviour: forgets empty groups with their offsets; NON_EMPTY_GROUP while a group has members,
GROUP_ID_NOT_FOUND if it does not exist. Of a share group the states of its partitions go first; if
they cannot be deleted the group stays, and the error is returned.

Version notes: v2 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.broker.net.portions import Portions
from headrace.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.net.call import Call


def handle(
    groups: Groups, request: DeleteGroupsRequest, call: Call
) -> Answer[DeleteGroupsResponse]:
    names = list(dict.fromkeys(request.groups_names))

    return groups.ask_each(
        names,
        call,
        lambda index, shard, who, now_ms: shard.handle_delete_group(names[index], who, now_ms),
        lambda index, error: DeletableGroupResult(group_id=names[index], error_code=error),
        lambda results: DeleteGroupsResponse(results=results),
    )


HANDLER = Handler(
    request=DeleteGroupsRequest,
    handle=handle,
    portions=Portions("groups_names", "results", is_set=True),
)
