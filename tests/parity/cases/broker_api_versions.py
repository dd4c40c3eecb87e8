"""`kafka-broker-api-versions`."""

from __future__ import annotations

from tests.parity.case import HELP, Case

CASES = [
    Case("kafka-broker-api-versions", "--bootstrap-server {bootstrap}"),
    Case("kafka-broker-api-versions", "--bootstrap-server={bootstrap}", loose=("head",)),
    Case("kafka-broker-api-versions", "--bootstrap-server {bootstrap} --nonsense"),
    Case("kafka-broker-api-versions", "--command-config none.properties"),
    Case("kafka-broker-api-versions", ""),
    Case("kafka-broker-api-versions", "--help", differs=HELP),
]
