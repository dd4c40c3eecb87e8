"""ConsumerGroupHeartbeat, v0-v1 (KIP-848).

Behaviour: the whole consumer protocol in one request: joining, leaving, subscriptions, what the
member owns; the answer carries its epoch and, when it changes, its assignment.

An assignment that answers a subscription leaves a moment after it was decided. librdkafka (2.15)
never joins again if one arrives while it unsubscribes, and a broker that answers within a
millisecond meets that moment often; Apache Kafka takes this long anyway.

Version notes: v1 member ids made by the client, subscriptions by regular expression.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from headrace.broker.net.handler import Answer, Handler
from headrace.errors import Error
from headrace.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

if TYPE_CHECKING:
    from headrace.broker.groups.groups import Groups
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call

_ASSIGNMENT_DELAY_S: Final = 0.002


def handle(
    metadata: Metadata, groups: Groups, request: ConsumerGroupHeartbeatRequest, call: Call
) -> Answer[ConsumerGroupHeartbeatResponse]:
    if metadata.image.feature_level("group.version") < 1:
        return _refused(Error.UNSUPPORTED_VERSION)
    answer = groups.ask(
        request.group_id,
        call,
        lambda shard, who, now_ms: shard.handle_consumer_group_heartbeat(request, who, now_ms),
        _refused,
    )
    subscribes = request.subscribed_topic_names is not None
    if (
        subscribes
        and isinstance(answer, ConsumerGroupHeartbeatResponse)
        and answer.assignment is not None
    ):
        return _held_back(answer)
    return answer


async def _held_back(answer: ConsumerGroupHeartbeatResponse) -> ConsumerGroupHeartbeatResponse:
    await asyncio.sleep(_ASSIGNMENT_DELAY_S)
    return answer


def _refused(error: Error) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error, member_epoch=0, heartbeat_interval_ms=0)


HANDLER = Handler(request=ConsumerGroupHeartbeatRequest, handle=handle)
