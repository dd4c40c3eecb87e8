"""Events are the truth, and what is read is made from them: CQRS, replay, a commit log.

    python -m examples.labs.read_models

Commands change accounts and leave events; questions are answered by a read model that follows the
events. A second model that nobody had thought of is made later, from the first event on. A service
that keeps its state in memory writes each change to a compacted topic before it answers: when it
dies, its successor reads the topic and knows what the dead one knew.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Final

from confluent_kafka import Producer

from examples.cluster.lab import PATIENCE_S, LabFailed, say
from examples.labs.compacted import create_compacted, write_old
from examples.labs.reading import Member, Record, latest, poll_until, read_topic
from examples.labs.staging import await_so, check, expect, on_broker
from examples.topics import Draft, create_topic, send
from headrace.testing import Broker

EVENTS: Final = "account-events"
CHANGES: Final = "basket-changes"
COMMANDS: Final = [
    *[("ada", "deposit", 100), ("ben", "deposit", 50), ("ada", "withdraw", 30)],
    *[("ben", "withdraw", 80), ("ada", "withdraw", 70), ("ben", "deposit", 5)],
]


class Accounts:
    """The side that is written: it decides what happens, and says so."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self._cents: Counter[str] = Counter()

    def handle(self, name: str, command: str, cents: int) -> bool:
        """Obey, or refuse: a refused command leaves no event."""
        change = cents if command == "deposit" else -cents
        if self._cents[name] + change < 0:
            return False
        self._cents[name] += change
        event = {"change": change, "event": "deposited" if change > 0 else "withdrawn"}
        send(self._servers, EVENTS, [Draft(json.dumps(event), name)])
        return True


def balances(events: list[Record]) -> dict[str, int]:
    """The first read model."""
    found: Counter[str] = Counter()
    for event in events:
        found[event.name] += json.loads(event.text)["change"]
    return dict(found)


def largest_withdrawals(events: list[Record]) -> dict[str, int]:
    """Another, of which nobody thought when the events were written."""
    found: dict[str, int] = {}
    for event in events:
        change = json.loads(event.text)["change"]
        if change < 0:
            found[event.name] = max(found.get(event.name, 0), -change)
    return found


class Baskets:
    """State in memory, whose changes are in a log before anybody is told of them."""

    def __init__(self, servers: str) -> None:
        self.content = {key: json.loads(text) for key, text in latest(servers, CHANGES).items()}
        self._producer = Producer({"bootstrap.servers": servers, "acks": "all", "linger.ms": 0})

    def put(self, customer: str, item: str) -> None:
        self._log(customer, [*self.content.get(customer, []), item])

    def pay(self, customer: str) -> None:
        self._log(customer, None)

    def _log(self, customer: str, basket: list[str] | None) -> None:
        value = None if basket is None else json.dumps(basket)
        self._producer.produce(CHANGES, value, customer)
        if self._producer.flush(PATIENCE_S):
            raise LabFailed("a change could not be logged")
        if basket is None:
            self.content.pop(customer, None)
        else:
            self.content[customer] = basket


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    say("Commands on one side")
    create_topic(servers, EVENTS, partitions=1)
    accounts = Accounts(servers)
    obeyed = [accounts.handle(*command) for command in COMMANDS]
    expect(obeyed.count(False), 1, "who has not enough is refused")

    say("Questions on the other")
    models = [Member(servers, "balances", EVENTS, "balances")]
    poll_until(models, lambda: len(models[0].records) >= obeyed.count(True), "the model is there")
    expect(balances(models[0].records), {"ada": 0, "ben": 55}, "the balances")

    say("A new question, answered from the first event on")
    models.append(Member(servers, "withdrawals", EVENTS, "withdrawals"))
    poll_until(models, lambda: len(models[1].records) >= obeyed.count(True), "the events again")
    expect(largest_withdrawals(models[1].records), {"ada": 70}, "the largest withdrawals")
    check(models[0].records == models[1].records, "both models were made from the same events")
    for member in models:
        member.leave()

    say("Baskets in memory, and their changes in a log")
    create_compacted(servers, CHANGES)
    write_old(servers, CHANGES, [("dora", json.dumps(["tea"] * count)) for count in range(1, 30)])
    first = Baskets(servers)
    expect(len(first.content["dora"]), 29, "what was logged before is known at the start")
    for customer, item in (("ada", "apple"), ("ben", "bread"), ("ada", "pear")):
        first.put(customer, item)
    first.pay("ben")
    known = dict(first.content)
    del first  # it dies, and its memory with it
    expect(Baskets(servers).content, known, "its successor knows what it knew")
    await_so(
        lambda: [each.name for each in read_topic(servers, CHANGES)].count("dora") == 1,
        "of 29 changes the log has kept the last",
    )
    expect(Baskets(servers).content, known, "and the short log says the same")


if __name__ == "__main__":
    on_broker(story)
