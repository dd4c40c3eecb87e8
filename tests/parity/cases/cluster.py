"""`kafka-cluster`."""

from __future__ import annotations

from tests.parity.case import Case

TOOL = "kafka-cluster"
THERE = "--bootstrap-server {bootstrap}"

CASES = [
    Case(TOOL, f"cluster-id {THERE}"),
    Case(TOOL, "cluster-id -b {bootstrap}"),
    Case(TOOL, f"list-endpoints {THERE}", loose=("spaces",)),
    Case(TOOL, f"list-endpoints {THERE} --include-fenced-brokers", loose=("spaces",)),
    Case(TOOL, f"list-endpoints {THERE}", brokers=3, loose=("spaces",), name="three endpoints"),
    Case(TOOL, f"unregister {THERE} --id 7"),
    Case(TOOL, f"unregister {THERE}"),
    Case(TOOL, "cluster-id"),
    Case(TOOL, "dance"),
    Case(TOOL, ""),
    Case(TOOL, f"cluster-id {THERE} --bogus"),
]
