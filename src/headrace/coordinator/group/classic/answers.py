"""What members of a classic group are told: the responses to JoinGroup and SyncGroup.

Nothing here decides anything; versions matter only where a field changed its meaning.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.coordinator.effects import Caller, Reply
from headrace.coordinator.group.classic.member import ClassicMember
from headrace.errors import Error
from headrace.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from headrace.wire.messages.sync_group import SyncGroupResponse

UNKNOWN_MEMBER = ""  # the member id of one that has none yet
NO_GENERATION = -1


def join_error(
    caller: Caller[JoinGroupResponse], error: Error, member_id: str = UNKNOWN_MEMBER
) -> Reply[JoinGroupResponse]:
    """The member did not get into a generation."""
    return Reply(
        caller.ticket,
        JoinGroupResponse(
            error_code=error,
            generation_id=NO_GENERATION,
            protocol_name="",
            leader="",
            member_id=member_id,
            members=[],
        ),
    )


def sync_error(caller: Caller[SyncGroupResponse], error: Error) -> Reply[SyncGroupResponse]:
    """The member gets no assignment."""
    return Reply(caller.ticket, SyncGroupResponse(error_code=error, assignment=b""))


def listed_members(
    members: Iterable[ClassicMember], protocol_name: str
) -> list[JoinGroupResponseMember]:
    """The members as their leader needs to see them to assign work."""
    return [
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            metadata=member.metadata(protocol_name),
        )
        for member in members
    ]
