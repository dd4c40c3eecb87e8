"""`kafka-leader-election`."""

from __future__ import annotations

from typing import Any

from tests.parity.case import Case, Step
from tests.parity.stage import file, topic

ORDERS = topic("orders", 2)
MOVED = topic("orders", replicas=[[0, 1], [1, 2]])


def case(words: str, **more: Any) -> Case:
    return Case("kafka-leader-election", "--bootstrap-server {bootstrap} " + words, **more)


def wanting(*partitions: tuple[str, int]) -> Step:
    each = ",".join(f'{{"topic": "{name}", "partition": {number}}}' for name, number in partitions)
    return file("wanted.json", f'{{"partitions": [{each}]}}')


CASES = [
    case("--election-type preferred --topic orders --partition 0", setup=(ORDERS,)),
    case("--election-type PREFERRED --topic orders --partition 1", setup=(ORDERS,)),
    case("--election-type unclean --topic orders --partition 0", setup=(ORDERS,)),
    case("--election-type preferred --all-topic-partitions", setup=(ORDERS,)),
    case("--election-type preferred --topic absent --partition 0"),
    case("--election-type preferred --topic orders --partition 9", setup=(ORDERS,)),
    case("--election-type preferred --path-to-json-file {folder}/wanted.json",
         setup=(ORDERS, wanting(("orders", 0), ("orders", 1)))),
    case("--election-type preferred --path-to-json-file {folder}/wanted.json", name="some absent",
         setup=(ORDERS, wanting(("orders", 0), ("absent", 0)))),
    case("--election-type preferred --path-to-json-file {folder}/wanted.json", name="none wanted",
         setup=(file("wanted.json", '{"partitions": []}'),)),
    case("--election-type preferred --path-to-json-file {folder}/wanted.json", name="twice wanted",
         setup=(ORDERS, wanting(("orders", 0), ("orders", 0)))),
    case("--election-type preferred --path-to-json-file {folder}/wanted.json", name="no json",
         setup=(file("wanted.json", "orders-0"),)),
    case("--election-type preferred --path-to-json-file {folder}/absent.json"),
    case("--election-type preferred --topic orders --partition 0", name="on three brokers",
         brokers=3, setup=(MOVED,)),
    case("--election-type preferred"),
    case("--election-type random --all-topic-partitions"),
    case("--election-type preferred --topic orders"),
    case("--election-type preferred --partition 0"),
    case("--all-topic-partitions"),
    case("--election-type preferred --topic orders --partition 0 --all-topic-partitions"),
    Case("kafka-leader-election", "--election-type preferred --all-topic-partitions"),
]  # fmt: skip
