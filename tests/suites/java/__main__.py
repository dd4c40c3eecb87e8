"""Kafka's Java clients and tools against any broker.

python -m tests.suites.java 127.0.0.1:9092 --data-dir LOG_DIR --tests topics,console
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.suites.java.suite import CHECKS, run
from tests.suites.running import Target, exit_code, write_results


def main() -> int:
    parser = argparse.ArgumentParser(description="Kafka's Java tools against any broker.")
    parser.add_argument("bootstrap", nargs="?", help="host:port")
    parser.add_argument("--data-dir", type=Path, help="the broker's folder, for dump-log checks")
    parser.add_argument("--tests", help="only these checks, comma separated")
    parser.add_argument("--timeout", type=float, default=120, help="seconds per check")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write {check: result}")
    parser.add_argument("--list", action="store_true", help="print the names of the checks")
    options = parser.parse_args()
    if options.list:
        sys.stdout.write("\n".join(CHECKS) + "\n")
        return 0
    tests = set(options.tests.split(",")) if options.tests else None
    if unknown := (tests or set()) - set(CHECKS):
        parser.error(f"no such check: {', '.join(sorted(unknown))}")
    if options.bootstrap is None:
        parser.error("the broker's address is missing")
    target = Target(options.bootstrap, options.data_dir)
    results = run(target, tests=tests, timeout_seconds=options.timeout)
    if options.json:
        write_results(options.json, results)
    return exit_code(results)


if __name__ == "__main__":
    sys.exit(main())
