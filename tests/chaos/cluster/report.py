"""What a run showed, as JSON for machines and as a table for people."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tests.chaos.cluster.availability import Gaps, Strike, unavailability
from tests.chaos.exactly_once.values import Ledger
from tests.chaos.history.check import summary
from tests.chaos.history.finding import Finding


@dataclass(frozen=True, slots=True)
class Verdict:
    """Everything that is known after a run."""

    system: str
    network: str
    brokers: int
    seed: int
    seconds: float
    strikes: list[Strike]
    gaps: Gaps
    operations: int
    committed: int
    ledger: Ledger
    findings: list[Finding]
    restarts: int  # of clients that ended by themselves
    last_words: str

    @property
    def good(self) -> bool:
        return self.ledger.balanced and not self.findings


def longest_by_client(verdict: Verdict, at: int) -> dict[str, int]:
    """How long the worst partition was away, by client, because of one strike."""
    charged = unavailability(verdict.gaps, verdict.strikes, at)
    return {client: max(keys.values(), default=0) for client, keys in charged.items()}


def document(verdict: Verdict) -> dict[str, Any]:
    """The report as JSON."""
    strikes = [
        {**asdict(strike), "unavailable_ms": unavailability(verdict.gaps, verdict.strikes, at)}
        for at, strike in enumerate(verdict.strikes)
    ]
    return {
        "system": verdict.system,
        "network": verdict.network,
        "brokers": verdict.brokers,
        "seed": verdict.seed,
        "seconds": round(verdict.seconds, 1),
        "faults": Counter(strike.fault for strike in verdict.strikes),
        "strikes": strikes,
        "operations": verdict.operations,
        "committed_records": verdict.committed,
        "ledger": str(verdict.ledger),
        "findings": Counter(str(finding.anomaly) for finding in verdict.findings),
        "clients_that_ended": verdict.restarts,
        "good": verdict.good,
    }


def write(path: Path, verdict: Verdict) -> None:
    path.write_text(json.dumps(document(verdict), indent=1) + "\n")


def table(verdict: Verdict) -> str:
    """One line per fault: how often, and how long the worst partition was away."""
    clients = sorted(verdict.gaps)
    heads = [f"{client}: {word} s" for client in clients for word in ("median", "longest")]
    rows = [["fault", "times", *heads]]
    for fault, count in sorted(Counter(strike.fault for strike in verdict.strikes).items()):
        strikes = [at for at, strike in enumerate(verdict.strikes) if strike.fault == fault]
        away = [longest_by_client(verdict, at) for at in strikes]
        row = [fault, str(count)]
        for client in clients:
            durations = [each.get(client, 0) / 1000 for each in away]
            row += [f"{median(durations):.1f}", f"{max(durations):.1f}"]
        rows.append(row)
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join(lines)


def text(verdict: Verdict) -> str:
    """The whole report for a person."""
    head = (
        f"{verdict.system}, {verdict.brokers} brokers, {verdict.network}, seed {verdict.seed}: "
        f"{len(verdict.strikes)} faults in {verdict.seconds / 60:.1f} minutes"
    )
    return "\n".join(
        (
            head,
            table(verdict),
            f"{verdict.operations} operations, {verdict.committed} committed records, "
            f"{verdict.restarts} clients ended by themselves",
            str(verdict.ledger),
            summary(verdict.findings),
            "good" if verdict.good else "BAD",
        )
    )
