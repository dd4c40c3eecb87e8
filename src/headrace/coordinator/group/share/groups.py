"""The share groups of one partition of `__consumer_offsets`: who answers which request.

Share groups live in the shard among the others, because a group id means one group, of one kind.
A share group never becomes another kind of group, nor the other way round; it begins with its first
member, or when somebody says where it shall begin, and stays until it is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from headrace.coordinator.effects import Caller, Effects
from headrace.coordinator.group.effects import GroupEffects, ShareStatesBegin, ShareStatesChange
from headrace.coordinator.group.modern.member import JOIN_EPOCH
from headrace.coordinator.group.records import GroupRecord
from headrace.coordinator.group.settings import GroupSettings
from headrace.coordinator.group.share import heartbeat, initialization, offsets
from headrace.coordinator.group.share.group import ShareGroup
from headrace.coordinator.group.share_records import ShareGroupKey, ShareGroupMetadataKey
from headrace.coordinator.timers import Timers
from headrace.coordinator.topics import Topics
from headrace.errors import ClientFault, Error
from headrace.types import SharePartitionKey
from headrace.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
)
from headrace.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
)
from headrace.wire.messages.share_group_describe import DescribedGroup
from headrace.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

if TYPE_CHECKING:
    from headrace.coordinator.group.listing import Group


class ShareGroups:
    """The share groups among all groups of a shard."""

    def __init__(
        self,
        groups: dict[str, Group],
        settings_of: Callable[[str], GroupSettings],
        timers: Timers,
        topics: Topics,
    ) -> None:
        self._groups = groups
        self._settings_of = settings_of
        self._timers = timers
        self._topics = topics

    def replay(self, key: ShareGroupKey, record: GroupRecord) -> None:
        """Apply a record of a share group."""
        group = self._groups.get(key.group_id)
        if not isinstance(group, ShareGroup):
            if record.value is None:
                return
            group = self._groups[key.group_id] = self._new_group(key.group_id)
        group.replay(record)
        if isinstance(key, ShareGroupMetadataKey) and record.value is None:
            group.abandon(Error.NONE)
            del self._groups[key.group_id]

    def _new_group(self, group_id: str) -> ShareGroup:
        return ShareGroup(group_id, self._settings_of(group_id), self._timers, self._topics)

    # -- members -------------------------------------------------------------------------------

    def handle_heartbeat(
        self,
        request: ShareGroupHeartbeatRequest,
        caller: Caller[ShareGroupHeartbeatResponse],
        now_ms: int,
    ) -> GroupEffects:
        """ShareGroupHeartbeat. A share group begins with its first member."""
        try:
            heartbeat.check_request(request)
            group = self._group_of_member(request)
            group.settings = self._settings_of(request.group_id)
            effects = heartbeat.handle_heartbeat(group, request, caller, now_ms)
        except ClientFault as fault:
            response = ShareGroupHeartbeatResponse(
                error_code=fault.error,
                error_message=fault.message or None,
                member_epoch=0,
                heartbeat_interval_ms=0,
            )
            return Effects(replies=[caller.reply(response)])
        self._groups[request.group_id] = group
        return effects

    def _group_of_member(self, request: ShareGroupHeartbeatRequest) -> ShareGroup:
        if request.member_epoch > JOIN_EPOCH and request.group_id not in self._groups:
            why = f"Share group {request.group_id} not found."
            raise ClientFault(Error.GROUP_ID_NOT_FOUND, why)
        return self._group(request.group_id, create=request.member_epoch == JOIN_EPOCH)

    def _group(self, group_id: str, *, create: bool) -> ShareGroup:
        """The share group of this id; a ClientFault if it is another kind of group, or none."""
        group = self._groups.get(group_id)
        if isinstance(group, ShareGroup):
            return group
        if group is not None:
            raise ClientFault(Error.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a share group.")
        if not create:
            raise ClientFault(Error.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return self._new_group(group_id)

    # -- administration ------------------------------------------------------------------------

    def handle_describe(
        self, group_id: str, caller: Caller[DescribedGroup], now_ms: int
    ) -> GroupEffects:
        """ShareGroupDescribe, of one group; the answer is its part of the response."""
        try:
            if not group_id:
                raise ClientFault(Error.INVALID_GROUP_ID)
            answer = self._group(group_id, create=False).describe()
        except ClientFault as fault:
            answer = refused_description(group_id, fault.error, fault.message or None)
        return Effects(replies=[caller.reply(answer)])

    def handle_alter_offsets(
        self,
        request: AlterShareGroupOffsetsRequest,
        caller: Caller[AlterShareGroupOffsetsResponse],
        now_ms: int,
    ) -> GroupEffects:
        """AlterShareGroupOffsets; a group that does not exist yet begins there."""
        try:
            group = self._empty_group(request.group_id, create=True)
            effects = offsets.alter_offsets(group, request, caller)
        except ClientFault as fault:
            response = AlterShareGroupOffsetsResponse(
                error_code=fault.error, error_message=fault.message or None, responses=[]
            )
            return Effects(replies=[caller.reply(response)])
        if effects.records:
            self._groups[request.group_id] = group
        return effects

    def handle_delete_offsets(
        self,
        request: DeleteShareGroupOffsetsRequest,
        caller: Caller[DeleteShareGroupOffsetsResponse],
        now_ms: int,
    ) -> GroupEffects:
        """DeleteShareGroupOffsets."""
        try:
            group = self._empty_group(request.group_id, create=False)
            return offsets.delete_offsets(group, request, caller)
        except ClientFault as fault:
            response = DeleteShareGroupOffsetsResponse(
                error_code=fault.error, error_message=fault.message or None, responses=[]
            )
            return Effects(replies=[caller.reply(response)])

    def _empty_group(self, group_id: str, *, create: bool) -> ShareGroup:
        if not group_id:
            raise ClientFault(Error.INVALID_GROUP_ID)
        group = self._group(group_id, create=create)
        if not group.is_empty:
            raise ClientFault(Error.NON_EMPTY_GROUP, f"Group {group_id} is not empty.")
        return group

    # -- what the share coordinator has done -----------------------------------------------------

    def on_states_changed(
        self, change: ShareStatesChange, outcomes: Mapping[SharePartitionKey, Error], now_ms: int
    ) -> GroupEffects:
        """What was asked for has happened, or has failed: write it, and answer whoever waits."""
        group = self._groups.get(change.group_id)
        if not isinstance(group, ShareGroup):
            # Only a group without states, or whose states are gone, can have ended meanwhile.
            return Effects(replies=[] if change.reply is None else [change.reply])
        if isinstance(change, ShareStatesBegin):
            effects = initialization.on_begun(group, change, outcomes, now_ms)
            if change.reply is not None:
                offsets.note_alter_outcomes(group.group_id, change.reply.response, outcomes)
                effects.replies.append(change.reply)
            return effects
        return offsets.on_ended(group, change, outcomes)


def refused_description(group_id: str, error: Error, message: str | None = None) -> DescribedGroup:
    """A group that cannot be shown."""
    return DescribedGroup(
        error_code=error,
        error_message=message,
        group_id=group_id,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=[],
    )
