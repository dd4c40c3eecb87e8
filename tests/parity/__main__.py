"""The same command line given to Kafka's tool and to ours: is the answer the same?

    python -m tests.parity                          all command lines; needs a JDK and Maven
    python -m tests.parity --only kafka-topics      those of one tool; may be repeated
    python -m tests.parity --match describe         those with this text in their words
    python -m tests.parity --record                 keep Kafka's answers in recorded/
    python -m tests.parity --broker kafka           both tools against Apache Kafka (one broker)

Each side finds the same broker with the same topics, groups and files, freshly made. Exit code and
printed lines are compared, but for what `normal.py` replaces. Ends with 0 if all are alike or say
why they differ.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.kafka.apache_kafka import classpath
from tests.parity import brokers
from tests.parity.answer import tell
from tests.parity.case import Case
from tests.parity.normal import Normal
from tests.parity.ours import run_process
from tests.parity.play import all_cases, differences, play, read_recorded, write_recorded
from tests.parity.stage import Stage
from tests.parity.theirs import KafkasTools


@dataclass
class Report:
    """What was found, by kind."""

    alike: int = 0
    justified: list[Case] = field(default_factory=list)
    needless: list[Case] = field(default_factory=list)
    lost: list[Case] = field(default_factory=list)

    def add(self, case: Case, found: list[str]) -> None:
        line = f"{case.tool} {case.key}"
        if not found:
            self.alike += 1
            if case.differs:
                self.needless.append(case)
            tell(f"  same     {line}")
            return
        (self.justified if case.differs else self.lost).append(case)
        tell(f"  {'differs ' if case.differs else 'DIFFERS '} {line}")
        if case.differs:
            tell(textwrap.indent(case.differs, 11 * " "))
        tell(textwrap.indent("\n".join(found), 11 * " "))

    def end(self) -> int:
        total = self.alike + len(self.justified) + len(self.lost)
        tell(
            f"\n{total} command lines: {self.alike} answered alike, "
            f"{len(self.justified)} differ for a reason, {len(self.lost)} differ without one"
        )
        for case in self.justified:
            tell(f"  {case.tool} {case.key}: {case.differs}")
        for case in self.needless:
            tell(f"  no longer differs: {case.tool} {case.key}")
        for case in self.lost:
            tell(f"  WITHOUT A REASON: {case.tool} {case.key}")
        return 1 if self.lost or self.needless else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.parity", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="TOOL")
    parser.add_argument("--match", default="", metavar="TEXT")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--broker", choices=["headrace", "kafka"], default="headrace")
    given = parser.parse_args()
    cases = [
        case
        for case in all_cases()
        if (not given.only or case.tool in given.only) and given.match in case.key
    ]
    if given.broker == "kafka":
        cases = [case for case in cases if case.brokers == 1]
    if not cases:
        parser.error("no case has this tool and these words")
    report, recorded = Report(), dict[str, dict[str, Normal]]()
    with contextlib.ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="parity-")))
        tools = running.enter_context(KafkasTools(folder / "jvm.log"))
        for brokers_wanted in sorted({case.brokers for case in cases}):
            with _stage(given.broker, brokers_wanted, folder) as stage:
                for case in (each for each in cases if each.brokers == brokers_wanted):
                    theirs = play(case, stage, tools.run)
                    recorded.setdefault(case.tool, {})[case.key] = theirs
                    report.add(case, list(differences(theirs, play(case, stage, run_process))))
    if given.record:
        _record(recorded)
    return report.end()


@contextlib.contextmanager
def _stage(broker: str, count: int, folder: Path) -> Iterator[Stage]:
    if broker == "kafka":
        with brokers.apache_kafka(classpath(), folder / "kafka") as stage:
            yield stage
    elif count == 1:
        with brokers.one_broker() as stage:
            yield stage
    else:
        with brokers.three_brokers() as stage:
            yield stage


def _record(recorded: dict[str, dict[str, Normal]]) -> None:
    """Add what was heard now; cases that no longer exist are forgotten."""
    keys = {(case.tool, case.key) for case in all_cases()}
    for tool, answers in recorded.items():
        merged = {**read_recorded(tool), **answers}
        write_recorded(tool, {key: merged[key] for key in merged if (tool, key) in keys})


if __name__ == "__main__":
    sys.exit(main())
