"""The arithmetic of the comparison: what a metric is, when a target is met, how a table is set.

This module knows numbers only. It refuses to know how they were measured, so its rules (a ratio is
taken within one repetition, the median decides, the spread is shown) are tested without a broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

OURS = "headrace"
THEIRS = "kafka"

MET = "met"
NOT_MET = "NOT MET"
NO_TARGET = ""
NO_RATIO = "no ratio"


@dataclass(frozen=True, slots=True)
class Target:
    """A bound on the ratio ours ÷ Kafka's."""

    bound: float
    is_floor: bool

    def holds(self, ratio: float) -> bool:
        return ratio >= self.bound if self.is_floor else ratio <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.is_floor else '≤'} {self.bound:g}"


def at_least(bound: float) -> Target:
    return Target(bound, is_floor=True)


def at_most(bound: float) -> Target:
    return Target(bound, is_floor=False)


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a measurement. Without a target it is shown, never judged."""

    key: str
    unit: str
    target: Target | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement that is repeated on both brokers, and the numbers it yields."""

    case: str
    label: str
    metrics: tuple[Metric, ...]


Sample = Mapping[str, float]


@dataclass(slots=True)
class Samples:
    """Every repetition of one row, per broker, in the order of measurement."""

    row: Row
    ours: list[Sample] = field(default_factory=list)
    theirs: list[Sample] = field(default_factory=list)

    def of(self, side: str) -> list[Sample]:
        return self.ours if side == OURS else self.theirs


@dataclass(frozen=True, slots=True)
class Ratio:
    median: float
    low: float
    high: float


def ratio_of(ours: Sequence[float], theirs: Sequence[float]) -> Ratio | None:
    """Ours ÷ theirs, repetition by repetition; None where no repetition gives a ratio.

    The two values of one repetition were taken one after the other, so a slow minute of the machine
    is in both and leaves their ratio alone. A repetition that one broker did not finish, or in
    which Kafka's value is zero (less CPU than the kernel's clock tick), has no ratio and is left
    out.
    """
    ratios = [a / b for a, b in zip(ours, theirs, strict=False) if b > 0]
    if not ratios:
        return None
    return Ratio(median(ratios), min(ratios), max(ratios))


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: a metric of a row, with both brokers' values."""

    case: str
    label: str
    metric: Metric
    ours: tuple[float, ...]
    theirs: tuple[float, ...]
    ratio: Ratio | None

    @property
    def verdict(self) -> str:
        if self.metric.target is None:
            return NO_TARGET
        if self.ratio is None:
            return NO_RATIO
        return MET if self.metric.target.holds(self.ratio.median) else NOT_MET


def build_lines(measured: Iterable[Samples], order: Sequence[Row]) -> list[Line]:
    """Every metric of every measured row, in the order in which the cases declare them."""
    lines = []
    for samples in sorted(measured, key=lambda samples: order.index(samples.row)):
        for metric in samples.row.metrics:
            ours = tuple(sample[metric.key] for sample in samples.ours)
            theirs = tuple(sample[metric.key] for sample in samples.theirs)
            ratio = ratio_of(ours, theirs)
            lines.append(Line(samples.row.case, samples.row.label, metric, ours, theirs, ratio))
    return lines


def missed(lines: Iterable[Line]) -> list[Line]:
    """The lines with a target that was not shown to hold."""
    return [line for line in lines if line.verdict in (NOT_MET, NO_RATIO)]


def format_value(value: float) -> str:
    """Three significant digits, thousands separated: a benchmark knows no more than that."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def format_table(lines: Sequence[Line]) -> str:
    head = ("case", "measured", "metric", OURS, THEIRS, "ratio", "spread", "target", "verdict")
    cells = [head, *(_cells(line) for line in lines)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    numbers = range(3, 7)
    text = []
    for row in cells:
        padded = (
            cell.rjust(width) if column in numbers else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        text.append("  ".join(padded).rstrip())
    text.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(text)


def _cells(line: Line) -> tuple[str, ...]:
    ratio = line.ratio
    return (
        line.case,
        line.label,
        f"{line.metric.key} [{line.metric.unit}]",
        format_value(median(line.ours)) if line.ours else "-",
        format_value(median(line.theirs)) if line.theirs else "-",
        f"{ratio.median:.2f}" if ratio else "-",
        f"{ratio.low:.2f}..{ratio.high:.2f}" if ratio else "-",
        str(line.metric.target) if line.metric.target else "",
        line.verdict,
    )
