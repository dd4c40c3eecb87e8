"""`kafka-groups`."""

from __future__ import annotations

from typing import Any

from tests.parity.admin_steps import queue
from tests.parity.case import HELP, Case
from tests.parity.stage import committed, member, topic

ORDERS = topic("orders", 2)
BILLING = committed("billing", {("orders", 0): 0})
READING = member("a-group-with-a-rather-long-name", "orders", protocol="consumer")
SOME = (ORDERS, BILLING, READING, queue("jobs", topic="orders"))


def case(words: str, **more: Any) -> Case:
    return Case("kafka-groups", "--bootstrap-server {bootstrap} " + words, **more)


CASES = [
    case("--list"),
    case("--list", name="list several", setup=SOME, loose=("order",)),
    case("--list --consumer", setup=SOME, loose=("order",)),
    case("--list --share", setup=SOME),
    case("--list --streams", setup=SOME),
    case("--list --group-type classic", setup=SOME),
    case("--list --group-type Consumer --protocol consumer", setup=SOME),
    case("--list --protocol share", setup=SOME),
    case("--list --group-type nonsense"),
    case("--list --share --consumer"),
    case("--consumer"),
    case("--list --nonsense"),
    Case("kafka-groups", "--list"),
    Case("kafka-groups", ""),
    Case("kafka-groups", "--help", differs=HELP),
]
