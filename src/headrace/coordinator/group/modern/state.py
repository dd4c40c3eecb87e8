"""The states of a consumer group and of its members, and which may follow which.

The names of group states are those that ListGroups and ConsumerGroupDescribe show; the numbers of
member states are those in the log.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Final


class GroupState(Enum):
    """How far a group is from having what its last assignment gives it.

    It is never decided, only read off: from the members, the epoch of the group, the epoch of its
    target assignment and the epochs of the members.
    """

    EMPTY = "Empty"  # no members; it may still hold offsets
    ASSIGNING = "Assigning"  # something changed since the target assignment was computed
    RECONCILING = "Reconciling"  # some members do not have their target assignment yet
    STABLE = "Stable"  # all members have it
    DEAD = "Dead"  # deleted, or converted to a classic group


class MemberState(IntEnum):
    """What a member must do before it has its target assignment."""

    STABLE = 0  # nothing, it has reached its epoch
    UNREVOKED_PARTITIONS = 1  # it must confirm that it gave partitions up
    UNRELEASED_PARTITIONS = 2  # it waits for partitions that others have not given up
    UNKNOWN = 127  # written by newer software: it must abandon everything and join again


_LIVING: Final = frozenset(GroupState) - {GroupState.DEAD}

# A group is replayed record by record, from a log that compaction has thinned out, so any living
# state may follow any other. What must not happen is the death of a group that has members, and a
# life after that.
GROUP_TRANSITIONS: Final[dict[GroupState, frozenset[GroupState]]] = {
    GroupState.EMPTY: frozenset(GroupState),
    GroupState.ASSIGNING: _LIVING,
    GroupState.RECONCILING: _LIVING,
    GroupState.STABLE: _LIVING,
    GroupState.DEAD: frozenset({GroupState.DEAD}),
}

MEMBER_TRANSITIONS: Final[dict[MemberState, frozenset[MemberState]]] = {
    MemberState.STABLE: frozenset(MemberState) - {MemberState.UNKNOWN},
    MemberState.UNREVOKED_PARTITIONS: frozenset(MemberState) - {MemberState.UNKNOWN},
    MemberState.UNRELEASED_PARTITIONS: frozenset(MemberState) - {MemberState.UNKNOWN},
    MemberState.UNKNOWN: frozenset(MemberState) - {MemberState.UNKNOWN},
}


def group_diagram() -> str:
    """The states of a group as a Mermaid diagram."""
    edges = [
        (one.value, other.value)
        for one, following in GROUP_TRANSITIONS.items()
        for other in GroupState
        if other in following and other is not one
    ]
    return _diagram(GroupState.EMPTY.value, edges, GroupState.DEAD.value)


def member_diagram() -> str:
    """The states of a member as a Mermaid diagram; a member may leave in any of them."""
    edges = [
        (one.name, other.name)
        for one, following in MEMBER_TRANSITIONS.items()
        for other in MemberState
        if other in following and other is not one
    ]
    return _diagram(MemberState.STABLE.name, edges, None)


def _diagram(first: str, edges: list[tuple[str, str]], last: str | None) -> str:
    lines = ["stateDiagram-v2", f"    [*] --> {first}"]
    lines += [f"    {one} --> {other}" for one, other in edges]
    if last is not None:
        lines.append(f"    {last} --> [*]")
    return "\n".join(lines)
