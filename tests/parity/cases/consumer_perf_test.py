"""`kafka-consumer-perf-test`."""

from __future__ import annotations

from typing import Any

from tests.parity.case import Case
from tests.parity.stage import file, records, topic

ORDERS = (topic("orders"), records("orders", [("key", "value")] * 20))


def case(words: str, **more: Any) -> Case:
    more = {"setup": ORDERS, "loose": ("numbers",), **more}
    words = "--bootstrap-server {bootstrap} " + words
    return Case("kafka-consumer-perf-test", words, **more)


CASES = [
    case("--topic orders --num-records 20"),
    case("--topic orders --num-records 20 --hide-header"),
    case("--topic orders --num-records 20 --show-detailed-stats"),
    case("--topic orders --num-records 20 --date-format HH:mm --group g --fetch-size 1000"),
    case("--include 'ord.*' --num-records 20"),
    case("--topic orders --messages 20"),
    case(
        "--topic orders --num-records 20 --consumer.config {folder}/c",
        setup=(*ORDERS, file("c", "client.id=me")),
    ),
    case("--topic orders --num-records 30 --timeout 1000"),
    case("--topic orders"),
    case("--num-records 20"),
    case("--topic orders --num-records 20 --reporting-interval 0"),
    case("--topic orders --num-records 20 --nonsense"),
]
