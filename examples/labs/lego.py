"""The Lego demonstration: bricks are messages, colours are keys, base plates are partitions.

    python -m examples.labs.lego

What is shown with bricks on a table: publish and subscribe, topics, partitioning, the commit log,
and compaction.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from examples.cluster.lab import say
from examples.labs.compacted import await_compacted, create_compacted, write_old
from examples.labs.reading import Member, latest, poll_until, read_topic
from examples.labs.staging import check, expect, on_broker
from examples.topics import Draft, create_topic, send
from headrace.testing import Broker

COLOURS: Final = ("red", "blue", "yellow", "green")
BRICKS: Final = [(COLOURS[n % 4], f"{2 + n % 3}x{1 + n % 2}") for n in range(24)]
PLATES: Final = 3


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    say("Topics: a box for bricks, another for figures")
    create_topic(servers, "bricks", partitions=PLATES)
    create_topic(servers, "figures")
    send(servers, "bricks", [Draft(shape, colour) for colour, shape in BRICKS])
    send(servers, "figures", [Draft("astronaut"), Draft("knight")])
    expect(len(read_topic(servers, "figures")), 2, "who opens one box finds nothing of the other")

    say("Publish and subscribe: two builders each get every brick, and the box stays full")
    builders = [Member(servers, f"builder-{n}", "bricks", f"builder-{n}") for n in (1, 2)]
    poll_until(builders, lambda: all(len(b.records) >= 24 for b in builders), "all bricks")
    wanted = Counter(BRICKS)
    for builder in builders:
        expect(
            Counter((r.name, r.text) for r in builder.records), wanted, f"{builder.name} has all"
        )
        builder.leave()

    say("Partitioning: a colour is on one plate")
    stored = read_topic(servers, "bricks")
    plates = {colour: {r.partition for r in stored if r.name == colour} for colour in COLOURS}
    check(all(len(each) == 1 for each in plates.values()), f"the plates are {plates}")

    say("The commit log: bricks lie in the order of their arrival, and get a number")
    for plate in range(PLATES):
        numbers = [record.offset for record in stored if record.partition == plate]
        expect(numbers, list(range(len(numbers))), f"plate {plate}: 0 to {len(numbers) - 1}")
    for colour in COLOURS:
        shapes = [record.text for record in stored if record.name == colour]
        expect(shapes, [s for c, s in BRICKS if c == colour], f"{colour}: in the order of sending")

    say("Compaction: of each colour only the last brick stays")
    create_compacted(servers, "last-bricks")
    write_old(servers, "last-bricks", BRICKS)
    left = await_compacted(servers, "last-bricks")
    expect(latest(servers, "last-bricks"), dict(BRICKS), "the last shape of each colour")
    expect(sorted(record.offset for record in left), [20, 21, 22, 23], "under their old numbers")


if __name__ == "__main__":
    on_broker(story)
