"""The history checker: operations in, anomalies out.

Every check is one function over the same index, so a reader can hold one file beside one
paragraph of Jepsen's catalogue of Kafka anomalies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.chaos.history.cycles import circular_flows
from tests.chaos.history.finding import Finding
from tests.chaos.history.index import Index
from tests.chaos.history.lag import realtime_lag
from tests.chaos.history.operation import Operation
from tests.chaos.history.places import (
    duplicates,
    inconsistent_offsets,
    nonmonotonic_sends,
    unwritten,
)
from tests.chaos.history.positions import poll_jumps
from tests.chaos.history.progress import Healed, offsets_back, stuck
from tests.chaos.history.visibility import aborted_reads, lost_and_unseen, precommitted_reads

LAG_LIMIT_MS = 60_000
SHOWN_PER_ANOMALY = 5


def check(
    history: Sequence[Operation],
    *,
    lag_limit_ms: int = LAG_LIMIT_MS,
    healed: Healed | None = None,
) -> list[Finding]:
    """Everything in this history that Kafka promises never to do.

    With `healed`, clients that lived on after that moment must have got something done.
    """
    index = Index(history)
    return [
        *inconsistent_offsets(index),
        *duplicates(index),
        *unwritten(index),
        *nonmonotonic_sends(index),
        *aborted_reads(index),
        *precommitted_reads(index),
        *lost_and_unseen(index),
        *poll_jumps(index),
        *circular_flows(index),
        *realtime_lag(index, lag_limit_ms),
        *offsets_back(index),
        *(stuck(index, healed) if healed is not None else ()),
    ]


def summary(findings: Sequence[Finding]) -> str:
    """What was found, in a few lines: each anomaly, how often, and its first cases."""
    counts = Counter(finding.anomaly for finding in findings)
    lines: list[str] = []
    for anomaly, count in counts.most_common():
        cases = [str(finding) for finding in findings if finding.anomaly is anomaly]
        lines += [f"{anomaly}: {count}", *(f"  {case}" for case in cases[:SHOWN_PER_ANOMALY])]
    return "\n".join(lines) or "no anomaly"
