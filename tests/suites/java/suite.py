"""Our checks around Kafka's Java clients and tools: outputs, exit codes, exact record counts."""

from __future__ import annotations

import time
from collections.abc import Collection

# Importing a module of checks puts its checks on the list, in this order.
from tests.suites.java import admin, clients, groups, log_files, transactions
from tests.suites.java.tools import CHECKS, Declined, Tools, TooSlow
from tests.suites.kafka_home import kafka_home
from tests.suites.running import Report, Result, Results, Target, log_folder, say

__all__ = ["CHECKS", "QUICK", "admin", "clients", "groups", "log_files", "run", "transactions"]

# For every change: each client and each kind of tool once, within two minutes.
QUICK = frozenset(
    {
        "api-versions",
        "console",
        "verifiable-classic",
        "verifiable-consumer",
        "transactional-copy-group-mode",
        "transactions-tool",
        "topics",
        "consumer-groups",
        "dump-log-deep",
        "dump-log-offsets",
        "dump-log-transactions",
    }
)


def run(
    target: Target, *, tests: Collection[str] | None = None, timeout_seconds: float = 120
) -> Results:
    """Run all checks, or those named."""
    home = kafka_home()
    name, logs = log_folder("java")
    say(f"logs in {logs}")
    report = Report("Java clients and tools 4.3.1")
    for check_name, check in CHECKS.items():
        if tests is None or check_name in tests:
            began, note = time.monotonic(), ""
            try:
                check(Tools(home, target, name, logs / f"{check_name}.log", timeout_seconds))
                result = Result.PASS
            except Declined as why:
                result, note = Result.SKIP, str(why)
            except TooSlow:
                result = Result.TIMEOUT
            except Exception as why:
                result, note = Result.FAIL, f"{type(why).__name__}: {why}"
            report.add(check_name, result, time.monotonic() - began, note[:250])
    return report.finish()
