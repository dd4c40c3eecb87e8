"""Services that call no one: each reads events, writes events, and owns its database.

    python -m examples.labs.microservices

A shop takes orders, a cashier is paid for them, a warehouse ships what is paid. None knows where
the others run, or whether: the cashier is away while orders come in, and the shop takes them all
the same. A service books what it decides under the name of the order, so that one that starts again
from the first event does nothing twice. SQLite is in the place of a larger database.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Final

from examples.cluster.lab import say
from examples.labs.reading import Member, Record, poll_until, read_topic
from examples.labs.staging import check, expect, on_broker
from examples.topics import Draft, create_topic, send
from headrace.testing import Broker

ORDERS: Final = "shop-orders"
PAYMENTS: Final = "shop-payments"
SHIPMENTS: Final = "shop-shipments"
LIMIT_CENTS: Final = 5000
_DONE: Final = "CREATE TABLE IF NOT EXISTS done (id TEXT PRIMARY KEY, outcome TEXT)"
_INSERT: Final = "INSERT OR IGNORE INTO done VALUES (?, ?)"

Decide = Callable[[Record], str | None]


def pay(order: Record) -> str:
    """The cashier: who orders for more than there is on the account is refused."""
    return "paid" if int(order.text) <= LIMIT_CENTS else "refused"


def ship(payment: Record) -> str | None:
    """The warehouse: only what is paid goes out."""
    return "shipped" if payment.text == "paid" else None


class Service:
    """Reads one topic, decides, remembers, and tells another topic."""

    def __init__(
        self, servers: str, name: str, reads: str, writes: str, decide: Decide, database: str
    ) -> None:
        self._servers, self._writes, self._decide = servers, writes, decide
        self.database = sqlite3.connect(database)
        self.database.execute(_DONE)
        self.member = Member(servers, name, reads, name, **{"enable.auto.commit": False})
        self._handled = 0

    def work(self) -> None:
        """Handle what has come; what was decided before is told again in the same words."""
        fresh = self.member.records[self._handled :]
        outcomes: list[Draft] = []
        with self.database:
            for record in fresh:
                outcome = self._decide(record)
                if outcome is not None:
                    self.database.execute(_INSERT, (record.name, outcome))
                    outcomes.append(Draft(outcome, record.name))
        send(self._servers, self._writes, outcomes)
        self._handled += len(fresh)

    def done(self) -> dict[str, str]:
        return dict(self.database.execute("SELECT id, outcome FROM done"))

    def close(self) -> None:
        self.member.leave()
        self.database.close()


def settle(services: list[Service], done: Callable[[], bool], what: str) -> None:
    """Let the services work until it is so."""

    def turn() -> bool:
        for service in services:
            service.work()
        return done()

    poll_until([service.member for service in services], turn, what)


def told(servers: str, topic: str) -> dict[str, str]:
    return {record.name: record.text for record in read_topic(servers, topic)}


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    for topic in (ORDERS, PAYMENTS, SHIPMENTS):
        create_topic(servers, topic, partitions=1)
    orders = {f"order-{number}": 1000 * number for number in range(1, 9)}

    say("The shop takes orders; the cashier is away, and nobody waits for him")
    warehouse = Service(servers, "warehouse", PAYMENTS, SHIPMENTS, ship, ":memory:")
    send(servers, ORDERS, [Draft(str(cents), name) for name, cents in orders.items()])
    expect(len(read_topic(servers, ORDERS)), len(orders), "all orders are taken")
    settle([warehouse], lambda: bool(warehouse.member.partitions), "the warehouse is at work")
    expect(warehouse.done(), {}, "nothing is shipped before it is paid")

    say("The cashier comes, and catches up")
    with closing(Service(servers, "cashier", ORDERS, PAYMENTS, pay, ":memory:")) as cashier:
        paid = {name for name, cents in orders.items() if cents <= LIMIT_CENTS}
        settle(
            [cashier, warehouse],
            lambda: warehouse.done().keys() == paid and len(cashier.done()) == len(orders),
            "everything that is paid goes out",
        )
        expect(
            told(servers, SHIPMENTS), dict.fromkeys(paid, "shipped"), "five of eight are shipped"
        )
        refused = {name for name, outcome in cashier.done().items() if outcome == "refused"}
        check(refused == orders.keys() - paid, "the others are refused, as the cashier's books say")

        say("He begins again at the start, as after a crash: his books know what is done")
        before = cashier.done()
        again = Service(servers, "cashier-again", ORDERS, PAYMENTS, pay, ":memory:")
        cashier.database.backup(again.database)
        settle([again], lambda: len(again.member.records) >= len(orders), "all orders are read")
        expect(again.done(), before, "no order is booked twice")
        again.close()
    settle([warehouse], lambda: len(warehouse.member.records) >= 2 * len(orders), "told again")
    expect(warehouse.done(), dict.fromkeys(paid, "shipped"), "and nothing is shipped twice")
    warehouse.close()


if __name__ == "__main__":
    on_broker(story)
