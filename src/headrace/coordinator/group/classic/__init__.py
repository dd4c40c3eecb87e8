"""The classic group protocol: clients assign, the coordinator keeps generations apart."""

from headrace.coordinator.group.classic.group import ClassicGroup
from headrace.coordinator.group.classic.heartbeat import check_offset_commit, handle_heartbeat
from headrace.coordinator.group.classic.join import handle_join
from headrace.coordinator.group.classic.leave import handle_leave
from headrace.coordinator.group.classic.member import ClassicMember
from headrace.coordinator.group.classic.state import ClassicState
from headrace.coordinator.group.classic.sync import handle_sync

__all__ = [
    "ClassicGroup",
    "ClassicMember",
    "ClassicState",
    "check_offset_commit",
    "handle_heartbeat",
    "handle_join",
    "handle_leave",
    "handle_sync",
]
