"""What the generator will send, and what is true about it, from one seed.

A plan says everything about a run. The generator sends its batches; whoever checks a result draws
the same batches again and counts them, without a broker in between and without the rules that the
application uses.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from examples.ip_fraud.access_log import Request, requests, template_lines
from examples.ip_fraud.rules import FRAUD_OCTETS


@dataclass(frozen=True, slots=True)
class Plan:
    """One run of the generator. Without numbers: a record per line, every three seconds."""

    seed: int = 1
    ticks: int | None = None  # None: until it is stopped
    records_per_tick: int | None = None  # None: as many as the template has lines
    delay_ms: int = 3_000
    period_ms: int = 3_000
    begin_ms: int = 0  # the time that the records of the first tick carry; 0: the time of sending
    returning: float = 0.0


class Batch(NamedTuple):
    """The records of one tick; all of them carry the same time."""

    timestamp_ms: int
    requests: list[Request]


@dataclass(slots=True)
class Truth:
    """What any correct pipeline must find."""

    records: int = 0
    fraud: Counter[str] = field(default_factory=Counter)  # texts of fraud records
    hits: Counter[str] = field(default_factory=Counter)  # by address, fraud only
    by_time: dict[int, tuple[int, int]] = field(default_factory=dict)  # ms: records, fraud

    @property
    def fraud_records(self) -> int:
        return self.fraud.total()

    @property
    def share(self) -> float:
        return self.fraud_records / self.records if self.records else 0.0


def batches(plan: Plan, lines: Sequence[str] | None = None) -> Iterator[Batch]:
    """The batches of a plan, the same ones each time."""
    template = template_lines() if lines is None else lines
    endless = requests(template, random.Random(plan.seed), returning=plan.returning)
    size = plan.records_per_tick or len(template)
    tick = 0
    while plan.ticks is None or tick < plan.ticks:
        time_ms = plan.begin_ms + tick * plan.period_ms if plan.begin_ms else 0
        yield Batch(time_ms, list(islice(endless, size)))
        tick += 1


def truth_of(plan: Plan, lines: Sequence[str] | None = None) -> Truth:
    """Count a plan. The octet is taken from the address that was drawn, not from the record."""
    truth = Truth()
    for batch in batches(plan, lines):
        fraud = [sent for sent in batch.requests if sent.address.split(".")[0] in FRAUD_OCTETS]
        truth.records += len(batch.requests)
        truth.fraud.update(sent.text for sent in fraud)
        truth.hits.update(sent.address for sent in fraud)
        before = truth.by_time.get(batch.timestamp_ms, (0, 0))
        truth.by_time[batch.timestamp_ms] = (
            before[0] + len(batch.requests),
            before[1] + len(fraud),
        )
    return truth
