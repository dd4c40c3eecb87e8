"""`kafka-e2e-latency`."""

from __future__ import annotations

from typing import Any

from tests.parity.case import Case
from tests.parity.stage import topic

ORDERS = topic("orders")


def case(words: str, **more: Any) -> Case:
    return Case("kafka-e2e-latency", words, **{"setup": (ORDERS,), "loose": ("numbers",), **more})


FLAGS = "--bootstrap-server {bootstrap} --topic orders --num-records 5"

CASES = [
    case(f"{FLAGS} --producer-acks 1 --record-size 20"),
    case(f"{FLAGS} --producer-acks all --record-size 20 --record-key-size 4"),
    case(
        f"{FLAGS} --producer-acks 1 --record-size 20 --num-headers 2 --record-header-key-size 3 "
        "--record-header-size 4"
    ),
    case("{bootstrap} orders 5 1 20"),
    case(
        "--bootstrap-server {bootstrap} --topic fresh --num-records 1 --producer-acks 1 "
        "--record-size 1"
    ),
    case(f"{FLAGS} --producer-acks 0 --record-size 20"),
    case(f"{FLAGS} --producer-acks 1"),
    case(f"{FLAGS} --producer-acks 1 --record-size -1"),
    case("{bootstrap} orders 5"),
    case(
        "--bootstrap-server {bootstrap} --topic orders --num-records 0 --producer-acks 1 "
        "--record-size 1"
    ),
]
