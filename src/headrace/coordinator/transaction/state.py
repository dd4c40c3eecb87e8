"""The states of a transactional id, and which may follow which.

The numbers stand in the records of `__transaction_state`; the labels are what DescribeTransactions
and ListTransactions show.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class TransactionState(IntEnum):
    """Where a transactional id is between two transactions."""

    EMPTY = 0  # it has a producer, which did not begin a transaction yet
    ONGOING = 1  # partitions were added; nothing is decided
    PREPARE_COMMIT = 2  # the commit is decided; markers are being written
    PREPARE_ABORT = 3  # the abort is decided; markers are being written
    COMPLETE_COMMIT = 4  # every marker is written
    COMPLETE_ABORT = 5
    DEAD = 6  # expired: passed through on the way to a tombstone, never written
    PREPARE_EPOCH_FENCE = 7  # fenced: passed through on the way to an abort, never written

    @property
    def label(self) -> str:
        """Kafka's name of the state."""
        return LABELS[self]


LABELS: Final = {state: state.name.title().replace("_", "") for state in TransactionState}

_IDLE: Final = frozenset(
    {
        TransactionState.EMPTY,
        TransactionState.ONGOING,
        # Under transactions v2 a producer that does not know whether anything reached the
        # coordinator aborts, whatever there is (KIP-890).
        TransactionState.PREPARE_ABORT,
        TransactionState.DEAD,
    }
)

TRANSITIONS: Final[dict[TransactionState, frozenset[TransactionState]]] = {
    TransactionState.EMPTY: _IDLE,
    TransactionState.ONGOING: frozenset(
        {
            TransactionState.ONGOING,
            TransactionState.PREPARE_COMMIT,
            TransactionState.PREPARE_ABORT,
            TransactionState.PREPARE_EPOCH_FENCE,
        }
    ),
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.COMPLETE_COMMIT}),
    TransactionState.PREPARE_ABORT: frozenset({TransactionState.COMPLETE_ABORT}),
    TransactionState.COMPLETE_COMMIT: _IDLE,
    TransactionState.COMPLETE_ABORT: _IDLE,
    TransactionState.DEAD: frozenset(),
    TransactionState.PREPARE_EPOCH_FENCE: frozenset({TransactionState.PREPARE_ABORT}),
}


def mermaid() -> str:
    """The states and transitions as a Mermaid diagram."""
    lines = ["stateDiagram-v2", f"    [*] --> {TransactionState.EMPTY.label}"]
    for state in TransactionState:
        following = sorted(TRANSITIONS[state] - {state})
        lines += [f"    {state.label} --> {next_.label}" for next_ in following]
    lines.append(f"    {TransactionState.DEAD.label} --> [*]")
    return "\n".join(lines)
