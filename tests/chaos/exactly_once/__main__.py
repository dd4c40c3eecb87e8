"""Exactly-once under kill -9, for as long as you like.

    python -m tests.chaos.exactly_once --minutes 20 --seed 7
    python -m tests.chaos.exactly_once --minutes 2 --broker kafka --spare-broker

Exit code 0: every input has exactly one output and the history shows no anomaly. Apache Kafka
4.3.1 passes as long as its only broker is spared; a kill -9 of it sometimes leaves a transaction
whose markers the restarted coordinator never writes, so that readers wait for ever.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.chaos.exactly_once.brokers import victim
from tests.chaos.exactly_once.run import Plan, run
from tests.chaos.history.check import summary


def main() -> int:
    parser = argparse.ArgumentParser(description="Exactly-once under kill -9.")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=None, help="repeats the nemesis' choices")
    parser.add_argument("--protocol", choices=("classic", "consumer"), default="classic")
    parser.add_argument("--broker", choices=("headrace", "kafka"), default="headrace")
    parser.add_argument("--spare-broker", action="store_true", help="kill clients only")
    parser.add_argument("--folder", type=Path, help="where journals and data stay afterwards")
    options = parser.parse_args()
    seed = random.randrange(1 << 32) if options.seed is None else options.seed
    folder = options.folder or Path(tempfile.mkdtemp(prefix="exactly-once-"))
    journals = folder / "journals"
    journals.mkdir(parents=True)
    sys.stdout.write(f"seed {seed}, journals in {journals}\n")
    sys.stdout.flush()
    plan = Plan(options.minutes * 60, seed, options.protocol, spare_broker=options.spare_broker)
    verdict = run(victim(options.broker, folder / "data"), journals, plan)
    strikes = ", ".join(f"{count} {name}" for name, count in verdict.strikes.most_common())
    sys.stdout.write(
        f"strikes: {strikes}\n"
        f"{verdict.operations} operations, {verdict.committed} committed records\n"
        f"{verdict.ledger}\n{summary(verdict.findings)}\n"
    )
    return 0 if verdict.good else 1


if __name__ == "__main__":
    sys.exit(main())
