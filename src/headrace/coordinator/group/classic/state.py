"""The states of a classic group, and which may follow which.

The values are the names that ListGroups and DescribeGroups show.
"""

from __future__ import annotations

from enum import Enum


class ClassicState(Enum):
    """Where a classic group is between two generations."""

    EMPTY = "Empty"  # no members; it may still hold offsets
    PREPARING_REBALANCE = "PreparingRebalance"  # members are asked to join; joins are parked
    COMPLETING_REBALANCE = "CompletingRebalance"  # a generation began; its leader is to assign
    STABLE = "Stable"  # every member may fetch its assignment
    DEAD = "Dead"  # deleted, converted, or served by another coordinator


TRANSITIONS: dict[ClassicState, frozenset[ClassicState]] = {
    ClassicState.EMPTY: frozenset({ClassicState.PREPARING_REBALANCE, ClassicState.DEAD}),
    ClassicState.PREPARING_REBALANCE: frozenset(
        {ClassicState.EMPTY, ClassicState.COMPLETING_REBALANCE, ClassicState.DEAD}
    ),
    ClassicState.COMPLETING_REBALANCE: frozenset(
        {ClassicState.PREPARING_REBALANCE, ClassicState.STABLE, ClassicState.DEAD}
    ),
    ClassicState.STABLE: frozenset({ClassicState.PREPARING_REBALANCE, ClassicState.DEAD}),
    # A tombstone may reach a group that was abandoned before.
    ClassicState.DEAD: frozenset({ClassicState.DEAD}),
}


def mermaid() -> str:
    """The states and transitions as a Mermaid diagram."""
    lines = ["stateDiagram-v2", f"    [*] --> {ClassicState.EMPTY.value}"]
    for state in ClassicState:
        following = TRANSITIONS[state] - {state}
        lines += [
            f"    {state.value} --> {next_.value}" for next_ in ClassicState if next_ in following
        ]
    lines.append(f"    {ClassicState.DEAD.value} --> [*]")
    return "\n".join(lines)
