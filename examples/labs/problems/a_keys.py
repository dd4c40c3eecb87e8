"""Problem A: which partition do six messages go to, if hash(n) = n and there are five?"""

from __future__ import annotations

from typing import Final

from examples.clients.partitioning import send_with
from examples.cluster.lab import say
from examples.labs.reading import read_topic
from examples.labs.staging import expect, on_broker
from examples.topics import create_topic
from headrace.testing import Broker

TOPIC: Final = "problem-a"
PARTITIONS: Final = 5
KEYS: Final = (1, 7, 12, 18, 27, 10)
ANSWER: Final = [["m5"], ["m0"], ["m1", "m2", "m4"], ["m3"], []]


def remainder(key: bytes, partitions: int) -> int:
    """hash(n) = n, then the remainder."""
    return int(key) % partitions


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    say("Problem A: the keys 1, 7, 12, 18, 27, 10 on five partitions")
    create_topic(servers, TOPIC, partitions=PARTITIONS)
    records = [(b"%d" % key, b"m%d" % number) for number, key in enumerate(KEYS)]
    send_with(servers, TOPIC, records, remainder)
    found: list[list[str]] = [[] for _ in range(PARTITIONS)]
    for record in read_topic(servers, TOPIC):
        found[record.partition].append(record.text)
    expect(found, ANSWER, f"p0 to p4 have {found}")


if __name__ == "__main__":
    on_broker(story)
