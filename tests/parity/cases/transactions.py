"""`kafka-transactions`."""

from __future__ import annotations

from typing import Any

from tests.parity.admin_steps import transaction
from tests.parity.case import Case
from tests.parity.stage import topic

ORDERS = topic("orders", 2)
OPEN = (ORDERS, transaction("billing", "orders"))


def case(words: str, **more: Any) -> Case:
    return Case("kafka-transactions", "--bootstrap-server {bootstrap} " + words, **more)


CASES = [
    case("list --transactional-id-pattern none.*"),
    case("list --transactional-id-pattern billing", setup=OPEN, loose=("numbers", "spaces")),
    case("list --duration-filter 3600000", setup=OPEN),
    case("describe --transactional-id billing", setup=OPEN, loose=("numbers", "spaces")),
    case(
        "describe --transactional-id paying",
        setup=(ORDERS, transaction("paying", "orders", is_open=False)),
        loose=("numbers", "spaces"),
    ),
    case("describe --transactional-id nope"),
    case("describe-producers --topic orders --partition 0", setup=OPEN,
         loose=("numbers", "spaces")),
    case("describe-producers --topic orders --partition 1", setup=OPEN),
    case("describe-producers --broker-id 1 --topic orders --partition 0", setup=OPEN,
         loose=("numbers", "spaces")),
    case("find-hanging --topic orders", setup=OPEN),
    case("find-hanging --broker-id 1 --max-transaction-timeout 0", setup=OPEN),
    case("find-hanging --topic orders --partition 0", setup=OPEN),
    case("find-hanging"),
    case("find-hanging --partition 0 --broker-id 1"),
    case("abort --topic orders --partition 0 --start-offset 7", setup=OPEN),
    case("abort --topic orders --partition 0 --start-offset 0", setup=OPEN),
    case("abort --topic orders --partition 0"),
    case("abort --topic orders --partition 0 --producer-id 1"),
    case("abort --topic orders"),
    case("describe"),
    case("describe-producers --topic orders"),
    case("forceTerminateTransaction --transactionalId billing", setup=OPEN),
    case("forceTerminateTransaction"),
    case("nonsense"),
    case("list --topic orders"),
    Case("kafka-transactions", "list"),
]  # fmt: skip
