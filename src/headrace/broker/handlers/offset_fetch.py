"""OffsetFetch, v1-v10.

Behaviour: committed offsets of one group, from v8 on of several; offsets that an open transaction
may still change are UNSTABLE_OFFSET_COMMIT for those who ask for stable ones.

Version notes: v2 all partitions, error for the whole · v5 leader epoch · v6 flexible · v7
require_stable (KIP-447) · v8 several groups (KIP-709) · v9 member and epoch (KIP-848) · v10 topic
ids (KIP-516).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.broker.net.portions import Portions
from headrace.coordinator.effects import Caller
from headrace.coordinator.group.effects import GroupEffects
from headrace.coordinator.group.offset_fetch import asked_groups, assembled, refused
from headrace.coordinator.group.shard import GroupShard
from headrace.errors import Error
from headrace.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.net.call import Call


def handle(groups: Groups, request: OffsetFetchRequest, call: Call) -> Answer[OffsetFetchResponse]:
    asked = asked_groups(request, call.version)

    def work(
        index: int, shard: GroupShard, who: Caller[OffsetFetchResponseGroup], now_ms: int
    ) -> GroupEffects:
        return shard.handle_offset_fetch(
            asked[index], who, now_ms, require_stable=request.require_stable
        )

    def refusal(index: int, error: Error) -> OffsetFetchResponseGroup:
        return refused(asked[index], error, call.version)

    def combine(groups: list[OffsetFetchResponseGroup]) -> OffsetFetchResponse:
        return assembled(groups, call.version)

    names = [group.group_id for group in asked]
    return groups.ask_each(names, call, work, refusal, combine)


HANDLER = Handler(
    request=OffsetFetchRequest,
    handle=handle,
    portions=Portions("groups", "groups"),
)
