"""Check recorded histories: ``python -m tests.chaos.history JOURNAL …``; exit code 1 if bad."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.chaos.history.check import LAG_LIMIT_MS, check, summary
from tests.chaos.history.journal import load


def main() -> int:
    parser = argparse.ArgumentParser(description="Look for anomalies in recorded histories.")
    parser.add_argument("journals", nargs="+", type=Path, metavar="JOURNAL")
    parser.add_argument("--lag-limit-ms", type=int, default=LAG_LIMIT_MS)
    options = parser.parse_args()
    history = load(options.journals)
    findings = check(history, lag_limit_ms=options.lag_limit_ms)
    sys.stdout.write(f"{len(history)} operations\n{summary(findings)}\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
