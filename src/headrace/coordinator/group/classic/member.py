"""One member of a classic group: what it told about itself, and which of its requests wait.

The metadata of its protocols and its assignment are bytes that only members understand.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from headrace.coordinator.effects import Caller
from headrace.wire.messages.describe_groups import DescribedGroupMember
from headrace.wire.messages.join_group import JoinGroupResponse
from headrace.wire.messages.sync_group import SyncGroupResponse


@dataclass(slots=True)
class ClassicMember:
    """A member; `protocols` are its (name, metadata) pairs, the most wanted first."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: list[tuple[str, bytes]]
    assignment: bytes = b""
    # Until its first generation begins, a member cannot send heartbeats: waiting proves nothing.
    is_new: bool = False
    parked_join: Caller[JoinGroupResponse] | None = None
    parked_sync: Caller[SyncGroupResponse] | None = None

    @property
    def is_static(self) -> bool:
        """Whether it keeps its place over a restart (KIP-345)."""
        return self.group_instance_id is not None

    @property
    def is_surely_alive(self) -> bool:
        """Whether it waits for an answer, and so cannot be expected to send heartbeats."""
        return not self.is_new and (self.parked_join is not None or self.parked_sync is not None)

    def protocol_names(self) -> set[str]:
        return {name for name, _ in self.protocols}

    def metadata(self, protocol_name: str) -> bytes:
        """What it says under this protocol, which must be one of its own."""
        return next(metadata for name, metadata in self.protocols if name == protocol_name)

    def vote(self, candidates: Collection[str]) -> str:
        """The candidate that it likes best."""
        return next(name for name, _ in self.protocols if name in candidates)

    def describe(self, protocol_name: str | None) -> DescribedGroupMember:
        """As DescribeGroups shows it; the metadata is shown once a protocol is agreed on."""
        return DescribedGroupMember(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            member_metadata=b"" if protocol_name is None else self.metadata(protocol_name),
            member_assignment=self.assignment,
        )
