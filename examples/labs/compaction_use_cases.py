"""What compacted topics are for: five of them, each compacted and then read as a table.

    python -m examples.labs.compaction_use_cases

A topic of customers, changes of a database, a lookup table, the temperature of postal codes, the
progress of orders. Each keeps the last value of every key, and whoever starts anew needs only the
topic to know the present state.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from examples.cluster.lab import say, shell
from examples.labs.compacted import EAGER, await_compacted, create_compacted, write_old
from examples.labs.reading import latest
from examples.labs.staging import check, expect, on_broker
from headrace.testing import Broker

CUSTOMERS: Final = "customers-compacted"


class Case(NamedTuple):
    """A topic, what is written to it, and the table that is left."""

    topic: str
    why: str
    writes: list[tuple[str, str | None]]
    table: dict[str, str]


CASES: Final = (
    Case(
        "cdc-accounts",
        "Changes of a database: inserts, updates and a delete become a copy of the table",
        [("1", "Ada, 100"), ("2", "Ben, 50"), ("1", "Ada, 80"), ("3", "Cleo, 10"), ("2", None)],
        {"1": "Ada, 80", "3": "Cleo, 10"},
    ),
    Case(
        "country-names",
        "A lookup table: whoever starts reads it once, and then hears of changes",
        [("ch", "Swizerland"), ("no", "Norway"), ("ch", "Switzerland")],
        {"ch": "Switzerland", "no": "Norway"},
    ),
    Case(
        "temperatures",
        "The temperature of each postal code: only the last one matters",
        [(code, str(degrees)) for degrees in range(5, 25) for code in ("4001", "5003", "9008")],
        dict.fromkeys(("4001", "5003", "9008"), "24"),
    ),
    Case(
        "order-progress",
        "The progress of orders: a finished one is forgotten",
        [
            *[("o-1", "received"), ("o-2", "received"), ("o-1", "cooking"), ("o-1", "delivered")],
            *[("o-2", "cooking"), ("o-1", None)],
        ],
        {"o-2": "cooking"},
    ),
)


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    say("A compacted topic, made by hand")
    numbers = ("--partitions", "1", "--replication-factor", "1")
    settings = [word for key, value in EAGER.items() for word in ("--config", f"{key}={value}")]
    where = ("--bootstrap-server", servers)
    shell("kafka-topics", *where, "--create", "--topic", CUSTOMERS, *numbers, *settings)
    described = shell("kafka-topics", *where, "--describe", "--topic", CUSTOMERS)
    check("cleanup.policy=compact" in described, "the description says that it is compacted")
    moves = [(f"customer-{n % 10}", f"address {n}") for n in range(100)]
    write_old(servers, CUSTOMERS, moves)
    for case in CASES:
        create_compacted(servers, case.topic)
        write_old(servers, case.topic, case.writes)
    left = await_compacted(servers, CUSTOMERS)
    expect([record.offset for record in left], list(range(90, 100)), "offsets are as they were")
    expect(latest(servers, CUSTOMERS), dict(moves), "ten customers, each with the last address")
    for case in CASES:
        say(case.why)
        await_compacted(servers, case.topic)
        expect(latest(servers, case.topic), case.table, f"{case.topic} is {case.table}")


if __name__ == "__main__":
    on_broker(story)
