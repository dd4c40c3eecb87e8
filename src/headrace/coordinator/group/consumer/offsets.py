"""Who may commit and fetch the offsets of a consumer group.

behaviour  A commit of the member's own epoch is taken. One of an older epoch is taken for those
           partitions that the member has owned since then without a break (KIP-1251): it cannot
           undo what another owner did. Whoever commits without being a member may do so only while
           there are none, except inside a transaction, where older clients do not say who they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from headrace.coordinator.group.consumer.member import Member
from headrace.coordinator.group.consumer.roster import Roster
from headrace.errors import ClientFault, Error
from headrace.types import NO_EPOCH

EPOCH_SINCE: Final = 9  # of OffsetCommit (KIP-848)

PartitionCheck: TypeAlias = Callable[[str, int], None]
"""Raises the ClientFault for which the commit to one partition of a topic is refused."""


def check_offset_commit(
    group: Roster,
    member_id: str,
    group_instance_id: str | None,
    member_epoch: int,
    *,
    is_transactional: bool,
    version: int,
) -> PartitionCheck | None:
    """Refuse a commit as a whole, or say how to judge each partition; None if all may be taken."""
    if member_epoch < 0 and not group.members:
        return None
    if (
        is_transactional
        and member_epoch == NO_EPOCH
        and not member_id
        and group_instance_id is None
    ):
        return None
    member = group.member(member_id)
    if not is_transactional and not member.uses_classic_protocol and version < EPOCH_SINCE:
        raise ClientFault(
            Error.UNSUPPORTED_VERSION,
            f"members of the consumer protocol must use version {EPOCH_SINCE} of OffsetCommit",
        )
    if member_epoch == member.member_epoch:
        return None
    if member_epoch > member.member_epoch:
        raise _refusal(member, f"epoch {member_epoch} is not that of the member")

    def check(topic: str, partition: int) -> None:
        topic_id = group.topics.topic_id(topic)
        nothing: dict[int, int] = {}
        since = None
        if topic_id is not None:
            since = member.assigned.get(topic_id, nothing).get(partition)
            if since is None:
                since = member.revoking.get(topic_id, nothing).get(partition)
        if since is None:
            raise _refusal(member, f"the member does not own {topic}-{partition}")
        if member_epoch < since:
            raise _refusal(member, f"the member owns {topic}-{partition} only since epoch {since}")

    return check


def check_offset_fetch(group: Roster, member_id: str | None, member_epoch: int) -> None:
    """Refuse to show offsets to a member that does not know its epoch; others need not be one."""
    if member_id is None and member_epoch < 0:
        return
    member = group.member(member_id or "")
    if member_epoch != member.member_epoch:
        raise _refusal(member, f"epoch {member_epoch} is not that of the member")


def _refusal(member: Member, why: str) -> ClientFault:
    if member.uses_classic_protocol:
        return ClientFault(Error.ILLEGAL_GENERATION, why)
    return ClientFault(Error.STALE_MEMBER_EPOCH, why)
