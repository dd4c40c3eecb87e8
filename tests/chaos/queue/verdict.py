"""Whether a queue kept its promise, by the journals of those who worked at it.

Each record was accepted once, or rejected once, or given up after its last delivery; whoever was
killed between saying so and hearing of it leaves it in doubt. Deliveries of a record are counted
by the broker, so no two have the same number, none has one beyond the limit, and none comes after
the one that was accepted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.chaos.queue.journal import Entry, Word

ACCEPT, RELEASE, REJECT = 1, 2, 3


@dataclass
class Fate:
    """All that is known of one record."""

    deliveries: list[int] = field(default_factory=list)
    accepted_at: list[int] = field(default_factory=list)  # at which delivery
    rejected_at: list[int] = field(default_factory=list)
    doubtful: bool = False  # accepted or rejected by somebody who did not hear of it


@dataclass
class Verdict:
    """The sum of it; `faults` is what must not be, one sentence each."""

    accepted: int = 0
    rejected: int = 0
    given_up: int = 0
    doubtful: int = 0
    deliveries: int = 0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.accepted} accepted, {self.rejected} rejected, {self.given_up} given up, "
            f"{self.doubtful} in doubt, {self.deliveries} deliveries, {len(self.faults)} faults"
        )


def gather(lives: Iterable[Iterable[Entry]]) -> dict[int, Fate]:
    """The fate of every record that anybody saw."""
    fates: dict[int, Fate] = {}
    for life in lives:
        held: dict[int, int] = {}  # the delivery in hand
        said: dict[int, int] = {}
        for word, pairs in life:
            for number, detail in pairs:
                fate = fates.setdefault(number, Fate())
                if word is Word.GOT:
                    fate.deliveries.append(detail)
                    held[number] = detail
                elif word is Word.SAY:
                    said[number] = detail
                else:
                    kind = said.pop(number)
                    if word is Word.DONE and kind == ACCEPT:
                        fate.accepted_at.append(held[number])
                    elif word is Word.DONE and kind == REJECT:
                        fate.rejected_at.append(held[number])
        for number, kind in said.items():
            if kind != RELEASE:
                fates[number].doubtful = True
    return fates


def judge(
    records: int, fates: dict[int, Fate], *, limit: int, kills: int, broker_killed: bool = False
) -> Verdict:
    """Look at each record. A broker that was killed forgets deliveries that nobody answered."""
    verdict = Verdict()
    for number in range(records):
        fate = fates.get(number, Fate())
        verdict.deliveries += len(fate.deliveries)
        for fault in _faults(fate, limit, broker_killed):
            verdict.faults.append(f"record {number} {fault}: {fate}")
        if fate.accepted_at:
            verdict.accepted += 1
        elif fate.rejected_at:
            verdict.rejected += 1
        elif fate.doubtful:
            verdict.doubtful += 1
        elif max(fate.deliveries, default=0) >= limit - min(kills, 1):
            # A kill may have swallowed one delivery of it that nobody saw; never two of the same.
            verdict.given_up += 1
        else:
            verdict.faults.append(f"record {number} is lost: {fate}")
    for number in fates.keys() - set(range(records)):
        verdict.faults.append(f"record {number} was never sent")
    return verdict


def _faults(fate: Fate, limit: int, broker_killed: bool) -> Iterable[str]:
    ends = fate.accepted_at + fate.rejected_at
    if len(ends) > 1:
        yield "was accepted or rejected twice"
    if max(fate.deliveries, default=0) > limit:
        yield "was delivered too often"
    if broker_killed:
        return
    if ends and max(fate.deliveries) > ends[0]:
        yield "was delivered again after it was done"
    if any(count > 1 for count in Counter(fate.deliveries).values()):
        yield "was held by two at a time"
