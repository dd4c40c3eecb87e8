"""A member of a modern group: its subscription and its epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias
from uuid import UUID

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1

Target: TypeAlias = Mapping[UUID, frozenset[int]]
"""The partitions assigned to a member, by topic id; a topic without partitions is left out."""

NOTHING: Final[Target] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModernMember:
    """A member, as a value: a change makes a new one."""

    member_id: str
    member_epoch: int = JOIN_EPOCH
    previous_member_epoch: int = -1
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: frozenset[str] = frozenset()
