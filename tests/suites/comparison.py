"""Our results beside Apache Kafka's: what passes there must pass here, or have a reason.

`calibration/` holds what Apache Kafka 4.3.1 gives. A test that does not pass there proves
nothing about us. Pure data: nothing is run here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.suites.running import Result, Results, read_results, totals

CALIBRATION = Path(__file__).resolve().parent / "calibration"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a suite's results say. Lost tests are failures; the rest is for the reader."""

    lost: dict[str, str] = field(default_factory=dict)  # test: our result, or "absent"
    excepted: dict[str, str] = field(default_factory=dict)  # test: the reason
    needless: list[str] = field(default_factory=list)  # excepted, and yet they pass
    gained: list[str] = field(default_factory=list)  # pass here, and not against Apache Kafka


def compare(
    theirs: Results,
    ours: Results,
    *,
    exceptions: Mapping[str, str],
    selected: Collection[str] | None = None,
) -> Comparison:
    """Compare the tests that were selected, or all that Apache Kafka passes."""
    comparison = Comparison()
    for test, result in sorted(theirs.items()):
        if result is not Result.PASS or (selected is not None and test not in selected):
            continue
        passes = ours.get(test) is Result.PASS
        if test in exceptions:
            if passes:
                comparison.needless.append(test)
            else:
                comparison.excepted[test] = exceptions[test]
        elif not passes:
            comparison.lost[test] = str(ours.get(test, "absent"))
    comparison.gained.extend(
        test
        for test, result in sorted(ours.items())
        if result is Result.PASS and theirs.get(test, Result.PASS) is not Result.PASS
    )
    return comparison


def calibration(name: str) -> Results:
    """What Apache Kafka gives for a suite."""
    return read_results(CALIBRATION / f"{name}.json")


def describe(name: str, theirs: Results, ours: Results, comparison: Comparison) -> str:
    """The comparison as lines for a person."""
    lines = [f"{name}", f"  Apache Kafka: {totals(theirs)}", f"  this broker:  {totals(ours)}"]
    for test, reason in comparison.excepted.items():
        lines.append(f"  excepted  {test}: {reason}")
    lines += [f"  needless exception  {test}: it passes" for test in comparison.needless]
    lines += [f"  gained    {test}" for test in comparison.gained]
    lines += [f"  LOST      {test}: {result}" for test, result in comparison.lost.items()]
    return "\n".join(lines)
