"""The sink's guarantees while driver, executors and broker are killed, for as long as you like.

    python -m tests.chaos.spark_sink --runs 200 --seed 7
    python -m tests.chaos.spark_sink --runs 40 --master "local-cluster[2,1,1024]"
    python -m tests.chaos.spark_sink --runs 40 --broker kafka --spare-broker

Exit code 0: a reader of committed records found each row once in the topic that is written exactly
once, and each row at least once in the other.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.exactly_once.brokers import victim
from tests.chaos.spark_sink.run import MASTER, Plan, run


def main() -> int:
    parser = argparse.ArgumentParser(description="The Spark sink under kill -9.")
    parser.add_argument("--runs", type=int, default=200, help="kills, each with its recovery")
    parser.add_argument("--seed", type=int, default=None, help="repeats the nemesis' choices")
    parser.add_argument("--master", default=MASTER, help="local[…] or local-cluster[…]")
    parser.add_argument("--broker", choices=("headrace", "kafka"), default="headrace")
    parser.add_argument("--spare-broker", action="store_true", help="kill drivers and executors")
    parser.add_argument("--folder", type=Path, help="where logs and data stay afterwards")
    options = parser.parse_args()
    seed = random.randrange(1 << 32) if options.seed is None else options.seed
    folder = options.folder or Path(tempfile.mkdtemp(prefix="spark-sink-"))
    sys.stdout.write(f"seed {seed}, logs in {folder}\n")
    sys.stdout.flush()
    plan = Plan(options.runs, seed, master=options.master, spare_broker=options.spare_broker)
    began = time.monotonic()
    verdict = run(victim(options.broker, folder / "data"), folder / "spark", plan)
    sys.stdout.write(f"{verdict}\n{time.monotonic() - began:.0f} s\n")
    if verdict.faults:
        sys.stdout.write(f"the driver's last words:\n{verdict.last_words}\n")
    return 1 if verdict.faults else 0


if __name__ == "__main__":
    sys.exit(main())
