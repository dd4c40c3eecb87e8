"""`kafka-get-offsets`."""

from __future__ import annotations

from typing import Any

from tests.parity.case import HELP, Case
from tests.parity.stage import committed, records, topic

ORDERS = topic("orders", 12)
PAYMENTS = topic("payments")
SOME = (
    ORDERS,
    PAYMENTS,
    records("orders", ["a", "b"], partition=2),
    records("payments", ["a", "b", "c"]),
)


def case(words: str, **more: Any) -> Case:
    return Case("kafka-get-offsets", "--bootstrap-server {bootstrap} " + words, **more)


CASES = [
    case("--topic orders", setup=SOME),
    case("--topic 'orders|payments' --partitions 0,2", setup=SOME),
    case("--topic payments --time earliest", setup=SOME),
    case("--topic payments --time -2", setup=SOME),
    case("--topic payments --time -1", setup=SOME),
    case("--topic payments --time max-timestamp", setup=SOME),
    case("--topic payments --time earliest-local", setup=SOME),
    case("--topic payments --time 1700000000001", setup=SOME),
    case("--topic payments --time 4000000000000", setup=SOME),
    case("--topic-partitions orders:2,payments", setup=SOME),
    case("--topic-partitions orders:1-4", setup=SOME),
    case("--topic-partitions orders:-2,:10-", setup=SOME),
    case("--exclude-internal-topics", setup=(*SOME, committed("g", {("orders", 0): 0}))),
    case("--topic nope", setup=SOME),
    case("--topic orders --partitions x", setup=SOME),
    case("--topic orders --time soon", setup=SOME),
    case("--topic orders --topic-partitions orders:0", setup=SOME),
    case("--topic-partitions orders:x", setup=SOME),
    case("--nonsense"),
    Case("kafka-get-offsets", "--topic orders"),
    Case("kafka-get-offsets", ""),
    Case("kafka-get-offsets", "--help", differs=HELP),
]
