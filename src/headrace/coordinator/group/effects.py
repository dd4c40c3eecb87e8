"""What a group coordinator wants to happen: records of its groups, and changes of share states.

The durable state of a share partition belongs to a share coordinator. A group asks it to begin or
to end such a state with a send; the group's shard is told the outcome and replies then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from headrace.coordinator.effects import Effects, Reply
from headrace.coordinator.group.records import GroupRecord
from headrace.errors import Error
from headrace.types import SharePartitionKey
from headrace.wire.messages.alter_share_group_offsets import AlterShareGroupOffsetsResponse
from headrace.wire.messages.delete_groups import DeletableGroupResult
from headrace.wire.messages.delete_share_group_offsets import DeleteShareGroupOffsetsResponse


class ShareStatesBegin(NamedTuple):
    """Share partitions of a group whose durable state is to be initialized, or reset to
    another offset.

    A higher `state_epoch` overrules every lower one. An offset of -1 leaves it to the setting
    share.auto.offset.reset.
    """

    group_id: str
    state_epoch: int
    start_offsets: Mapping[SharePartitionKey, int]
    reply: Reply[AlterShareGroupOffsetsResponse] | None = None

    def refuse(self, error: Error, /) -> None:
        if self.reply is not None:
            self.reply.refuse(error)


class ShareStatesEnd(NamedTuple):
    """Share partitions of a group whose durable state is to be forgotten, perhaps with it."""

    group_id: str
    partitions: frozenset[SharePartitionKey]
    reply: Reply[DeleteShareGroupOffsetsResponse] | Reply[DeletableGroupResult] | None = None

    def refuse(self, error: Error, /) -> None:
        if self.reply is not None:
            self.reply.refuse(error)


ShareStatesChange: TypeAlias = ShareStatesBegin | ShareStatesEnd
GroupEffects: TypeAlias = Effects[GroupRecord, ShareStatesChange]
