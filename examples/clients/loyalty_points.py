"""A campaign and a points service that know each other only by two topics.

    python -m examples.clients.loyalty_points [-b HOST:PORT]

The shop's campaign publishes what customers have spent; the service answers with their points. The
service may be down, replaced or run twice, and the campaign does not notice: it finds the answers
when it looks for them.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Final

from examples.clients.queue_and_broadcast import member, read_until
from examples.leaving import leave
from examples.topics import Draft, broker, named_servers, provide, write

SPENT: Final = "campaign-spent"
POINTS: Final = "loyalty-points"
CENTS_PER_POINT: Final = 100


def publish_purchases(purchases: list[tuple[str, int]]) -> None:
    """The campaign: customer and cents."""
    write(SPENT, [Draft(json.dumps({"customer": c, "cents": n}), c) for c, n in purchases])


def serve_points(servers: str, purchases: int) -> None:
    """The service: after so many purchases it publishes the points of everybody."""
    consumer = member(servers, "loyalty-service", SPENT)
    read = read_until({"service": consumer}, lambda found: len(found["service"]) >= purchases)
    leave(consumer)
    spent: Counter[str] = Counter()
    for text in read["service"]:
        purchase = json.loads(text)
        spent[purchase["customer"]] += purchase["cents"]
    points = {customer: cents // CENTS_PER_POINT for customer, cents in spent.items()}
    write(POINTS, [Draft(json.dumps({"customer": c, "points": n}), c) for c, n in points.items()])


def read_points(servers: str, customers: int) -> dict[str, int]:
    """The campaign again: what the service says."""
    consumer = member(servers, "campaign", POINTS)
    read = read_until({"campaign": consumer}, lambda found: len(found["campaign"]) >= customers)
    leave(consumer)
    answers = [json.loads(text) for text in read["campaign"]]
    return {answer["customer"]: answer["points"] for answer in answers}


def main() -> None:
    with broker(named_servers(__doc__)) as servers:
        provide(SPENT)
        provide(POINTS)
        publish_purchases([("ada", 1_250), ("ben", 990), ("ada", 260)])
        serve_points(servers, 3)
        print(read_points(servers, 2))


if __name__ == "__main__":
    main()
