"""`kafka-consumer-groups`."""

from __future__ import annotations

from typing import Any

from tests.parity.admin_steps import static_member
from tests.parity.case import HELP, Case
from tests.parity.stage import committed, file, member, records, topic

ORDERS = topic("orders", 2)
RECORDS = records("orders", ["a", "b", "c"])
BILLING = committed("billing", {("orders", 0): 1, ("orders", 1): 0})
SHIPPING = committed("shipping", {("orders", 0): 3})
SOME = (ORDERS, RECORDS, BILLING)
CLASSIC = member("billing", "orders")
CONSUMER = member("billing", "orders", protocol="consumer")
STATIC = static_member("billing", "orders", "worker-1")
READER = (ORDERS, RECORDS, CLASSIC)
NEW_READER = (ORDERS, RECORDS, CONSUMER)
RESET = "--reset-offsets --group billing"


def case(words: str, **more: Any) -> Case:
    return Case("kafka-consumer-groups", "--bootstrap-server {bootstrap} " + words, **more)


CASES = [
    # -- list --------------------------------------------------------------------------------------
    case("--list"),
    case("--list", name="list several", setup=(*SOME, SHIPPING), loose=("order",)),
    case("--list --state", setup=SOME),
    case("--list --state empty", setup=(*SOME,)),
    case("--list --state Stable,Empty", setup=READER),
    case("--list --type", setup=NEW_READER),
    case("--list --type classic --state", setup=SOME),
    case("--list --type consumer", setup=SOME),
    case("--list --state nonsense"),
    case("--list --type share"),
    case("--list --group billing"),
    # -- describe ----------------------------------------------------------------------------------
    case("--describe --group billing", setup=SOME),
    case("--describe --group=billing", setup=SOME),
    case("--describe --group billing --verbose", setup=SOME),
    case("--describe --group billing --offsets", setup=READER, loose=("spaces",)),
    case("--describe --group billing --members", setup=SOME),
    case("--describe --group billing --members", setup=READER, name="members of a classic group"),
    case(
        "--describe --group billing --members --verbose",
        setup=READER,
        name="members of a classic group, all",
    ),
    case("--describe --group billing --members --verbose", setup=NEW_READER),
    case("--describe --group billing --members", setup=(ORDERS, STATIC), name="static members"),
    case("--describe --group billing --state", setup=SOME),
    case("--describe --group billing --state", setup=READER, name="state of a classic group"),
    case("--describe --group billing --state --verbose", setup=NEW_READER),
    case("--describe --all-groups", setup=(*SOME, SHIPPING)),
    case("--describe --all-groups --state", setup=(*SOME, SHIPPING)),
    case("--describe --group nope"),
    case("--describe --group nope --members"),
    case("--describe"),
    case("--describe --group billing --members --state"),
    case("--describe --group billing --state Stable"),
    case("--describe --group billing --all-groups"),
    case("--describe --group billing --topic orders"),
    # -- reset -------------------------------------------------------------------------------------
    case(f"{RESET} --topic orders --to-earliest", setup=SOME),
    case(
        f"{RESET} --topic orders --to-earliest --execute",
        setup=SOME,
        then="--describe --group billing",
    ),
    case(f"{RESET} --all-topics --to-latest --dry-run", setup=SOME),
    case(f"{RESET} --topic orders:0 --to-offset 2 --execute", setup=SOME, then="--list --state"),
    case(f"{RESET} --topic orders --to-offset 99 --dry-run", setup=SOME),
    case(f"{RESET} --topic orders:0 --shift-by 1 --dry-run", setup=SOME),
    case(f"{RESET} --topic orders --shift-by=-5 --dry-run", setup=SOME),
    case(f"{RESET} --topic orders --shift-by 1 --dry-run", setup=(ORDERS, RECORDS)),
    case(f"{RESET} --topic orders --to-current --dry-run", setup=SOME),
    case(f"{RESET} --topic orders --to-datetime 2017-08-01T17:14:23.933 --dry-run", setup=SOME),
    case(f"{RESET} --topic orders --to-datetime 2099-08-01T17:14:23.933 --dry-run", setup=SOME),
    case(f"{RESET} --topic orders --by-duration PT1H --dry-run", setup=SOME),
    case(f"{RESET} --topic orders --to-earliest --export --dry-run", setup=SOME),
    case(f"{RESET} --group shipping --all-topics --to-latest --export --dry-run",
         setup=(*SOME, SHIPPING), loose=("order",)),
    case(
        f"{RESET} --from-file {{folder}}/plan.csv --execute",
        setup=(*SOME, file("plan.csv", "orders,0,2\norders,1,0\n")),
        then="--describe --group billing",
    ),
    case(f"{RESET} --topic orders --to-earliest --execute", setup=READER, name="reset a reader"),
    case(
        "--reset-offsets --group fresh --topic orders --to-latest --execute",
        setup=(ORDERS, RECORDS),
        then="--describe --group fresh",
    ),
    case(f"{RESET} --topic nope --to-earliest --dry-run", setup=SOME),
    case(f"{RESET} --topic orders:7 --to-earliest --dry-run", setup=SOME),
    case(f"{RESET} --topic orders:x --to-earliest --dry-run", setup=SOME),
    case(f"{RESET} --to-earliest --dry-run", setup=SOME),
    case(f"{RESET} --topic orders --dry-run", setup=SOME),
    case(f"{RESET} --topic orders --to-earliest --to-latest --dry-run"),
    case(f"{RESET} --topic orders --to-earliest --dry-run --execute"),
    case("--reset-offsets --topic orders --to-earliest --dry-run"),
    # -- delete ------------------------------------------------------------------------------------
    case("--delete --group billing", setup=SOME, then="--list"),
    case("--delete --group billing --group shipping", setup=(*SOME, SHIPPING), then="--list",
         differs="groups come in the order in which they were named, not in that of a hash table"),
    case("--delete --all-groups", setup=SOME, then="--list"),
    case("--delete --group nope"),
    case("--delete --group billing", setup=READER, name="delete a group with members"),
    case("--delete --group billing --topic orders"),
    case("--delete"),
    case("--delete-offsets --group billing --topic orders", setup=SOME,
         then="--describe --group billing"),
    case("--delete-offsets --group billing --topic orders:0", setup=SOME,
         then="--describe --group billing"),
    case("--delete-offsets --group billing --topic orders --topic nope", setup=SOME),
    case("--delete-offsets --group nope --topic orders", setup=SOME),
    case("--delete-offsets --group billing --topic orders", setup=READER,
         name="forget the offsets of a reader"),
    case("--delete-offsets --group billing"),
    # -- wrong use ---------------------------------------------------------------------------------
    case("--list --describe --all-groups"),
    case("--group billing"),
    case("--describe --group billing --nonsense"),
    Case("kafka-consumer-groups", "--list"),
    Case("kafka-consumer-groups", ""),
    Case("kafka-consumer-groups", "--help", differs=HELP),
    Case("kafka-consumer-groups", ["--validate-regex", "orders.*"]),
    Case("kafka-consumer-groups", ["--validate-regex", "orders("]),
    Case("kafka-consumer-groups", ["--validate-regex", "a(?=b)"]),
]  # fmt: skip
