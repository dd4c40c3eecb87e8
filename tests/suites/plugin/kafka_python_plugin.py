"""A pytest plugin for kafka-python's own tests, run by that suite's interpreter, not by ours.

Stands in for two modules that the source archive lacks (``test`` and ``test.service``), for a
broker that runs elsewhere, and writes one JSON line per test to ``$SUITE_RESULTS``.
"""

from __future__ import annotations

import json
import os
import sys
import types
from typing import Any


class ExternalService:
    """A broker that is already there: nothing to start, stop or read logs of."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port

    def _do_nothing(self) -> None:
        pass

    open = close = stop = dump_logs = _do_nothing


class SpawnedService:
    """A broker of the suite's own, which would need files that the archive lacks as well."""

    def __init__(self, *words: object, **options: object) -> None:
        raise RuntimeError("only a broker that runs elsewhere can be tested here")


def _stand_in() -> None:
    package = types.ModuleType("test")  # hides the standard library's package of that name
    package.__path__ = [os.path.join(os.getcwd(), "test")]
    service = types.ModuleType("test.service")
    service.ExternalService = ExternalService  # type: ignore[attr-defined]
    service.SpawnedService = SpawnedService  # type: ignore[attr-defined]
    sys.modules["test"] = package
    sys.modules["test.service"] = service


_stand_in()
_tests: dict[str, dict[str, Any]] = {}


def pytest_runtest_logreport(report: Any) -> None:
    """Gather set-up, call and tear-down of a test; the last writes the line."""
    test = _tests.setdefault(report.nodeid, {"result": "PASS", "seconds": 0.0, "note": ""})
    test["seconds"] += report.duration
    if report.failed:
        text = str(report.longrepr)
        timed_out = "Timeout >" in text or "Timeout (" in text
        said = (line[2:].strip() for line in text.splitlines() if line.startswith("E "))
        test["result"] = "TIMEOUT" if timed_out else "FAIL"
        test["note"] = test["note"] or next(said, report.when)
    elif report.skipped:
        test["result"] = "SKIP"
        why = report.longrepr
        test["note"] = why[2] if isinstance(why, tuple) else str(why)
    if report.when == "teardown":
        with open(os.environ["SUITE_RESULTS"], "a") as out:
            out.write(json.dumps({"test": report.nodeid, **test}) + "\n")
