"""The anomalies that a history can show, by the names that Jepsen gave them.

Two phenomena of Jepsen's catalogue are absent on purpose, because Kafka allows them: writes of
two transactions that interleave (G0), and other records between two sends of one transaction
(int-send-skip).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Anomaly(StrEnum):
    INCONSISTENT_OFFSETS = "inconsistent-offsets"  # one offset, two values
    DUPLICATE = "duplicate"  # one value, two offsets
    UNWRITTEN = "unwritten"  # polled, and nobody sent it
    LOST_WRITE = "lost-write"  # committed; someone polled beyond it, nobody polled it
    UNSEEN = "unseen"  # committed, and not polled at the end
    ABORTED_READ = "G1a"  # polled, and its transaction aborted
    PRECOMMITTED_READ = "precommitted-read"  # a transaction polled its own record
    CIRCULAR_FLOW = "G1c"  # transactions that polled each other's records
    POLL_SKIP = "poll-skip"  # a consumer jumped ahead between two polls
    NONMONOTONIC_POLL = "nonmonotonic-poll"  # … or back
    INT_POLL_SKIP = "int-poll-skip"  # the same inside one operation
    INT_NONMONOTONIC_POLL = "int-nonmonotonic-poll"
    NONMONOTONIC_SEND = "nonmonotonic-send"  # a later send has the lower offset
    INT_NONMONOTONIC_SEND = "int-nonmonotonic-send"
    REALTIME_LAG = "realtime-lag"  # a consumer stood still while records waited
    OFFSET_BACK = "offset-back"  # a high watermark or a committed offset went back
    STUCK = "stuck"  # a client got nothing done although everything was healed


@dataclass(frozen=True, slots=True)
class Finding:
    """One anomaly, where it was seen, and the sentence that a person needs to look it up."""

    anomaly: Anomaly
    key: str
    detail: str

    def __str__(self) -> str:
        return f"{self.anomaly} in {self.key}: {self.detail}"
