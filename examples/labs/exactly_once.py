"""What exactly-once is for: bills for advertisements, transfers of money, a warehouse's stock.

    python -m examples.labs.exactly_once

In each case an event that is counted twice, or not at all, costs money. A processor reads events
and writes results and its own position in one transaction; it is killed in the middle, again and
again, and the result is as if nothing had happened.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, KafkaException, Producer

from examples.cluster.lab import PATIENCE_S, LabFailed, say
from examples.labs.reading import MEMBER_SETTINGS, read_topic
from examples.labs.staging import expect, on_broker
from examples.leaving import leave
from examples.topics import Draft, create_topic, send
from headrace.testing import Broker

BATCH: Final = 15
EVENTS: Final = 30


class Effect(NamedTuple):
    """A change of a total: who, and by how much."""

    key: str
    amount: int


Process = Callable[[Any], list[Effect]]


class UseCase(NamedTuple):
    name: str
    why: str
    events: list[Any]
    process: Process


def use_cases() -> list[UseCase]:
    chance = Random(7)
    adverts, accounts, parts = ("shoes", "books", "wine"), ("ada", "ben", "cleo"), ("bolt", "nut")
    views = [{"ad": chance.choice(adverts), "cents": chance.randint(1, 9)} for _ in range(EVENTS)]
    transfers = [
        dict(zip(("payer", "payee"), chance.sample(accounts, 2), strict=True), cents=n + 1)
        for n in range(EVENTS)
    ]
    moves = [{"part": chance.choice(parts), "count": chance.choice((5, -2))} for _ in range(EVENTS)]
    return [
        UseCase("ad-views", "A view of an advertisement is billed once", views, bill),
        UseCase(
            "transfers", "Money leaves one account as it enters the other", transfers, transfer
        ),
        UseCase("stock-moves", "A delivery is counted in the stock once", moves, count),
    ]


def bill(view: Any) -> list[Effect]:
    return [Effect(view["ad"], view["cents"])]


def transfer(event: Any) -> list[Effect]:
    return [Effect(event["payer"], -event["cents"]), Effect(event["payee"], event["cents"])]


def count(move: Any) -> list[Effect]:
    return [Effect(move["part"], move["count"])]


class Processor:
    """One life of the application; the next one fences it and goes on."""

    def __init__(self, servers: str, case: UseCase) -> None:
        self._case = case
        settings = {**MEMBER_SETTINGS, "enable.auto.commit": False}
        settings |= {"isolation.level": "read_committed"}
        self._consumer = Consumer({"bootstrap.servers": servers, "group.id": case.name, **settings})
        self._consumer.subscribe([case.name])
        self._producer = Producer(
            {"bootstrap.servers": servers, "transactional.id": case.name, "log_level": 0}
        )
        self._producer.init_transactions(PATIENCE_S)

    def turn(self, *, dies: bool) -> int:
        """One transaction: some events and all that follows from them; how many were committed."""
        messages = self._consumer.consume(BATCH, 0.5)
        if not messages:
            return 0
        self._producer.begin_transaction()
        for message in messages:
            if (error := message.error()) is not None:
                raise KafkaException(error)
            for key, amount in self._case.process(json.loads(message.value() or b"")):
                self._producer.produce(f"{self._case.name}-effects", str(amount), key)
        positions = self._consumer.position(self._consumer.assignment())
        metadata = self._consumer.consumer_group_metadata()
        self._producer.send_offsets_to_transaction(positions, metadata, PATIENCE_S)
        self._producer.flush(PATIENCE_S)
        if dies:
            return 0  # all is written, nothing is committed: the next life aborts it
        self._producer.commit_transaction(PATIENCE_S)
        return len(messages)

    def leave(self) -> None:
        leave(self._consumer)


def run_through(servers: str, case: UseCase) -> int:
    """Process all events, dying in every second transaction; how often it died."""
    done = deaths = lives = 0
    while done < len(case.events):
        lives += 1
        if lives > 4 * len(case.events):
            raise LabFailed(f"{case.name}: only {done} events were processed")
        processor = Processor(servers, case)
        done += processor.turn(dies=False)
        if done < len(case.events):
            processor.turn(dies=True)
            deaths += 1
        processor.leave()
    return deaths


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    for case in use_cases():
        say(case.why)
        create_topic(servers, case.name)
        create_topic(servers, f"{case.name}-effects")
        send(servers, case.name, [Draft(json.dumps(event)) for event in case.events])
        deaths = run_through(servers, case)
        print(f"the processor died {deaths} times in the middle of a transaction")
        wanted: Counter[str] = Counter()
        for event in case.events:
            for effect in case.process(event):
                wanted[effect.key] += effect.amount
        found: Counter[str] = Counter()
        for record in read_topic(servers, f"{case.name}-effects"):
            found[record.name] += int(record.text)
        expect(found, wanted, f"the totals are right: {dict(found)}")
        written = len(read_topic(servers, f"{case.name}-effects", "read_uncommitted"))
        effects = sum(len(case.process(event)) for event in case.events)
        print(f"{written - effects} effects of aborted transactions are in the log, and unseen")


if __name__ == "__main__":
    on_broker(story)
