"""Chaos on a cluster of real processes, for as long as you like.

    python -m tests.chaos.cluster --minutes 60 --seed 1
    python -m tests.chaos.cluster --minutes 10 --system kafka --faults kill,pause,cut
    python -m tests.chaos.cluster --script kill-leader,pause-leader --brokers 5

Exit code 0: no anomaly in the history, and every input has exactly one output.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.chaos.cluster import report
from tests.chaos.cluster.faults import FAULTS
from tests.chaos.cluster.run import Plan, run


def main() -> int:
    options = _parse()
    seed = random.randrange(1 << 32) if options.seed is None else options.seed
    folder = options.folder or Path(tempfile.mkdtemp(prefix="chaos-"))
    sys.stdout.write(f"seed {seed}, journals and logs in {folder}\n")
    sys.stdout.flush()
    plan = Plan(
        options.minutes * 60,
        seed,
        system=options.system,
        brokers=options.brokers,
        kinds=tuple(options.faults),
        script=tuple(options.script),
        network=options.network,
        java=not options.no_java,
        session_timeout_ms=options.session_timeout_ms,
    )
    verdict = run(folder, plan)
    report.write(folder / "report.json", verdict)
    sys.stdout.write(f"{report.text(verdict)}\nreport in {folder / 'report.json'}\n")
    if not verdict.good:
        sys.stdout.write(f"last words of the clients:\n{verdict.last_words}\n")
    return 0 if verdict.good else 1


def _kinds(text: str) -> list[str]:
    return _known(text, list(FAULTS))


def _names(text: str) -> list[str]:
    return _known(text, [name for names in FAULTS.values() for name in names])


def _known(text: str, known: list[str]) -> list[str]:
    words = text.split(",")
    for word in words:
        if word not in known:
            raise argparse.ArgumentTypeError(f"no fault {word!r}; there are {', '.join(known)}")
    return words


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.cluster", description="Chaos on a cluster of real processes."
    )
    add = parser.add_argument
    add("--minutes", type=float, default=10)
    add("--seed", type=int, help="repeats the nemesis' choices")
    add("--system", choices=("headrace", "kafka"), default="headrace")
    add("--brokers", type=int, choices=range(3, 6), default=3)
    add("--faults", type=_kinds, default=list(FAULTS), metavar="KIND,…", help=",".join(FAULTS))
    add("--script", type=_names, default=[], metavar="FAULT,…", help="once each, in this order")
    add("--network", choices=("auto", "namespaces", "relays"), default="auto")
    add("--session-timeout-ms", type=int, default=6000, help="until a dead broker is noticed")
    add("--no-java", action="store_true", help="librdkafka's clients only")
    add("--folder", type=Path, help="where journals and logs stay (a new temporary one)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
