"""`kafka-share-groups`."""

from __future__ import annotations

from typing import Any

from tests.parity.admin_steps import queue, worker
from tests.parity.case import HELP, Case
from tests.parity.stage import committed, records, topic

ORDERS = topic("orders", 2)
RECORDS = records("orders", ["a", "b", "c"])
JOBS = queue("jobs", topic="orders")
SOME = (ORDERS, RECORDS, JOBS)
WORKING = (ORDERS, RECORDS, worker("jobs", "orders"))
RESET = "--reset-offsets --group jobs"


def case(words: str, **more: Any) -> Case:
    return Case("kafka-share-groups", "--bootstrap-server {bootstrap} " + words, **more)


CASES = [
    case("--list"),
    case("--list", name="list one", setup=SOME),
    case("--list --state", setup=(ORDERS, RECORDS, queue("jobs", "b", topic="orders")),
         loose=("order",)),
    case("--list --state stable", setup=SOME),
    case("--list --state nonsense"),
    case("--describe --group jobs", setup=SOME),
    case("--describe --group jobs --verbose", setup=SOME),
    case("--describe --group jobs --members", setup=SOME),
    case("--describe --group jobs --members --verbose", setup=SOME),
    case("--describe --group jobs --state", setup=SOME),
    case("--describe --group jobs --state --verbose", setup=SOME, loose=("numbers",)),
    case("--describe --all-groups", setup=(ORDERS, RECORDS, queue("jobs", "b", topic="orders"))),
    case("--describe --group jobs --members", setup=WORKING, name="members"),
    case("--describe --group jobs --members --verbose", setup=WORKING, name="members, all"),
    case("--describe --group jobs --state", setup=WORKING, name="state of a group with members"),
    case("--list --state", setup=WORKING, name="list a group with members"),
    case("--delete --group jobs", setup=WORKING, name="delete a group with members"),
    case(f"{RESET} --topic orders --to-latest --execute", setup=WORKING,
         name="reset a group with members"),
    case("--delete-offsets --group jobs --topic orders", setup=WORKING,
         name="forget the offsets of a group with members"),
    case("--describe --group nope"),
    case("--describe --group billing", setup=(ORDERS, committed("billing", {("orders", 0): 0}))),
    case("--describe"),
    case("--describe --group jobs --members --state"),
    case(f"{RESET} --topic orders --to-latest --execute", setup=SOME,
         then="--describe --group jobs"),
    case(f"{RESET} --topic orders:0 --to-latest --dry-run", setup=SOME,
         then="--describe --group jobs"),
    case(f"{RESET} --all-topics --to-latest --dry-run", setup=SOME),
    case(f"{RESET} --topic orders --to-datetime 2017-08-01T17:14:23.933 --dry-run", setup=SOME),
    case("--reset-offsets --group fresh --topic orders --to-earliest --execute",
         setup=(ORDERS, RECORDS), then="--list --state"),
    case(f"{RESET} --topic nope --to-latest --dry-run", setup=SOME),
    case(f"{RESET} --topic orders --dry-run", setup=SOME),
    case(f"{RESET} --topic orders --to-latest", setup=SOME),
    case("--delete --group jobs", setup=SOME, then="--list"),
    case("--delete --group nope"),
    case("--delete"),
    case("--delete-offsets --group jobs --topic orders", setup=SOME,
         then="--describe --group jobs"),
    case("--delete-offsets --group jobs --topic nope", setup=SOME),
    case("--delete-offsets --group nope --topic orders", setup=(ORDERS,)),
    case("--delete-offsets --group jobs"),
    case("--list --describe"),
    Case("kafka-share-groups", "--list"),
    Case("kafka-share-groups", ""),
    Case("kafka-share-groups", "--help", differs=HELP),
]  # fmt: skip
