"""Answers that wait with a member which owns nothing for what others have yet to release.

Only a member can begin an exchange with its coordinator. When its partitions become free, it would
hear of it with its next heartbeat, which Java's clients send a tenth of a second after the last
answer at the earliest, whatever they are told. So that answer is kept back until another member has
moved, for a moment at most; then the request is handled again, as if it had just arrived. Members
that own something are always answered at once: they may have offsets to commit behind it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from headrace.coordinator.effects import Caller
from headrace.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

LONGEST_HOLD_MS: Final = 1_000


class HeldHeartbeat(NamedTuple):
    """A heartbeat that has no answer yet, and when it gets one in any case."""

    request: ConsumerGroupHeartbeatRequest
    caller: Caller[ConsumerGroupHeartbeatResponse]
    until_ms: int
