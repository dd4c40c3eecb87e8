"""The error responses of JoinGroup and SyncGroup.

They are the same for every kind of group, and where no group was found.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import Error
from headrace.wire.messages.join_group import JoinGroupResponse
from headrace.wire.messages.sync_group import SyncGroupResponse

UNKNOWN_MEMBER: Final = ""  # the member id of one that has none yet


def join_refused(error: Error, member_id: str = UNKNOWN_MEMBER) -> JoinGroupResponse:
    """The member did not get into a generation."""
    return JoinGroupResponse(
        error_code=error, protocol_name="", leader="", member_id=member_id, members=[]
    )


def sync_refused(error: Error) -> SyncGroupResponse:
    """The member gets no assignment."""
    return SyncGroupResponse(error_code=error, assignment=b"")
