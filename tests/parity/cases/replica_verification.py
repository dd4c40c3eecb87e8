"""`kafka-replica-verification`, as far as it ends by itself."""

from __future__ import annotations

from tests.parity.case import Case
from tests.parity.stage import topic

TOOL = "kafka-replica-verification"

CASES = [
    Case(TOOL, "--broker-list {bootstrap} --topics-include absent", setup=(topic("orders"),)),
    Case(TOOL, "--topics-include orders"),
    Case(TOOL, "--broker-list {bootstrap} --bogus"),
    Case(TOOL, "--broker-list {bootstrap} --topics-include 'o['"),
    Case(TOOL, "--broker-list {bootstrap} --fetch-size many"),
]
