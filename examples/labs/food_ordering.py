"""A food-ordering application: four topics, two kinds of producers, three kinds of readers.

    python -m examples.labs.food_ordering

Menu items, customers and restaurants are tables (compacted topics); orders are events, sent by an
app and by a kiosk. The kitchen of each restaurant sees its orders at once and in order; the
inventory counts what is used up; the analyst comes later and reads the same orders from the start.
"""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import Any, Final

from examples.cluster.lab import say
from examples.labs.compacted import create_compacted
from examples.labs.reading import Member, Record, latest, poll_until, read_topic
from examples.labs.staging import check, expect, on_broker
from examples.topics import Draft, create_topic, send
from headrace.testing import Broker

ORDERS: Final = "orders"
MENU: Final = {
    "pizza": {"cents": 1200, "uses": {"dough": 1, "tomato": 2, "cheese": 1}},
    "soup": {"cents": 700, "uses": {"tomato": 3}},
    "salad": {"cents": 900, "uses": {"tomato": 1, "lettuce": 1}},
}
RESTAURANTS: Final = ("harbour", "station", "market")
CUSTOMERS: Final = ("ada", "ben", "cleo", "dora")
PER_PRODUCER: Final = 60


def make_orders(source: str, seed: int) -> list[dict[str, Any]]:
    """What an app or a kiosk sends."""
    chance = Random(seed)
    return [
        {
            "id": f"{source}-{number}",
            "restaurant": chance.choice(RESTAURANTS),
            "customer": chance.choice(CUSTOMERS),
            "item": chance.choice(list(MENU)),
        }
        for number in range(PER_PRODUCER)
    ]


def place(servers: str, orders: list[dict[str, Any]]) -> None:
    """The restaurant is the key: its kitchen gets its orders in order."""
    send(servers, ORDERS, [Draft(json.dumps(order), order["restaurant"]) for order in orders])


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    say("Three tables and a stream of events")
    create_topic(servers, ORDERS, partitions=3)
    tables = {
        "menu-items": {name: json.dumps(item) for name, item in MENU.items()},
        "customers-of-food": {name: f"{name.title()}'s address" for name in CUSTOMERS},
        "restaurants": {name: f"{name.title()} Kitchen" for name in RESTAURANTS},
    }
    for topic, rows in tables.items():
        create_compacted(servers, topic)
        send(servers, topic, [Draft(value, key) for key, value in rows.items()])
        expect(latest(servers, topic), rows, f"{topic} has {len(rows)} rows")

    say("Kitchens and inventory are at work; an app and a kiosk send orders")
    kitchens = [Member(servers, "kitchens", ORDERS, f"kitchen-{n}") for n in range(2)]
    inventory = Member(servers, "inventory", ORDERS, "inventory")
    everyone = [*kitchens, inventory]
    poll_until(everyone, lambda: all(each.partitions for each in everyone), "all are at work")
    app, kiosk = make_orders("app", seed=1), make_orders("kiosk", seed=2)
    place(servers, app)
    place(servers, kiosk)
    total = len(app) + len(kiosk)
    poll_until(
        everyone,
        lambda: sum(len(k.records) for k in kitchens) >= total and len(inventory.records) >= total,
        "all orders are seen",
    )
    _check_kitchens(kitchens, [*app, *kiosk])
    menu = {name: json.loads(text) for name, text in latest(servers, "menu-items").items()}
    used = used_up(inventory.records, menu)
    expect(used, used_up(read_topic(servers, ORDERS), MENU), f"the inventory has used {dict(used)}")
    for member in everyone:
        member.leave()

    say("The analyst comes a week later: the orders are still there")
    analyst = Member(servers, "analyst", ORDERS, "analyst")
    poll_until([analyst], lambda: len(analyst.records) >= total, "all orders are read")
    revenue = sum(menu[json.loads(text)["item"]]["cents"] for text in analyst.texts)
    wanted = sum(int(str(MENU[order["item"]]["cents"])) for order in [*app, *kiosk])
    expect(revenue, wanted, f"the revenue is {revenue / 100:.2f}")
    analyst.leave()


def _check_kitchens(kitchens: list[Member], orders: list[dict[str, Any]]) -> None:
    ids = [json.loads(text)["id"] for kitchen in kitchens for text in kitchen.texts]
    expect(sorted(ids), sorted(order["id"] for order in orders), "each order was cooked once")
    for restaurant in RESTAURANTS:
        cooks = [k for k in kitchens if any(r.name == restaurant for r in k.records)]
        check(len(cooks) == 1, f"{restaurant} has one kitchen")
        cooked = [json.loads(r.text)["id"] for r in cooks[0].records if r.name == restaurant]
        placed = [order["id"] for order in orders if order["restaurant"] == restaurant]
        expect(cooked, placed, f"which has cooked its {len(placed)} orders in order")


def used_up(orders: list[Record], menu: dict[str, Any]) -> Counter[str]:
    used: Counter[str] = Counter()
    for order in orders:
        used.update(menu[json.loads(order.text)["item"]]["uses"])
    return used


if __name__ == "__main__":
    on_broker(story)
