"""A queue under kill -9: as many records and share consumers as you like.

    python -m tests.chaos.queue --records 100000 --consumers 20
    python -m tests.chaos.queue --records 20000 --consumers 10 --broker-kills 3 --seed 7

Exit code 0: every record was accepted once, rejected once, or given up after its last delivery.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.chaos.queue.run import Plan, run

_SHOWN_FAULTS = 20


def main() -> int:
    parser = argparse.ArgumentParser(description="A queue under kill -9.")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--consumers", type=int, default=20)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--broker-kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=None, help="repeats the choices")
    parser.add_argument("--folder", type=Path, help="where journals and data stay afterwards")
    options = parser.parse_args()
    seed = random.randrange(1 << 16) if options.seed is None else options.seed
    folder = options.folder or Path(tempfile.mkdtemp(prefix="queue-"))
    sys.stdout.write(f"seed {seed}, journals in {folder / 'journals'}\n")
    sys.stdout.flush()
    plan = Plan(
        options.records,
        options.consumers,
        seed,
        partitions=options.partitions,
        broker_kills=options.broker_kills,
    )
    outcome = run(plan, folder)
    for fault in outcome.verdict.faults[:_SHOWN_FAULTS]:
        sys.stdout.write(f"{fault}\n")
    sys.stdout.write(
        f"{'drained' if outcome.drained else 'NOT DRAINED'} in {outcome.seconds:.1f} s, "
        f"{outcome.kills} consumers died\n{outcome.verdict}\n"
    )
    return 0 if outcome.drained and not outcome.verdict.faults else 1


if __name__ == "__main__":
    sys.exit(main())
