"""`kafka-log-dirs`."""

from __future__ import annotations

from typing import Any

from tests.parity.case import HELP, Case
from tests.parity.stage import records, topic

ORDERS = (topic("orders", 2), topic("payments"), records("orders", ["a", "b"]))


def case(words: str, **more: Any) -> Case:
    return Case("kafka-log-dirs", "--bootstrap-server {bootstrap} " + words, **more)


CASES = [
    case("--describe --topic-list orders", setup=ORDERS),
    case("--describe --topic-list payments --broker-list 1", setup=ORDERS),
    case("--describe --topic-list nope", setup=ORDERS),
    case("--describe --broker-list 7"),
    case("--describe --broker-list one"),
    case("--topic-list orders"),
    case("--describe --nonsense"),
    Case("kafka-log-dirs", "--describe"),
    Case("kafka-log-dirs", ""),
    Case("kafka-log-dirs", "--help", differs=HELP),
]
