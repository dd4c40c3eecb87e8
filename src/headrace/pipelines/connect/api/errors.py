"""Faults as answers: the status that Connect has for each, and its text."""

from __future__ import annotations

from typing import Final

from headrace.errors import HeadraceError
from headrace.pipelines.connect.faults import RebalanceNeededException
from headrace.pipelines.connect.herder.codes import code_of

STALE: Final = (
    "Cannot complete request momentarily due to stale configuration (typically caused by a "
    "concurrent config change)"
)
NO_LEADER: Final = (
    "Cannot complete request momentarily due to no known leader URL, likely because a rebalance "
    "was underway."
)
TOO_FAR: Final = (
    "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"
)
CONFLICT: Final = 409


class Answered(HeadraceError):
    """A fault that a client is told of."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def answered(fault: Exception) -> Answered:
    """How a fault of a worker is told."""
    if isinstance(fault, RebalanceNeededException):
        return Answered(CONFLICT, STALE)
    return Answered(int(code_of(fault)), str(fault))
