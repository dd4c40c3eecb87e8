"""A file of 12,434 customers, a group of two consumers, then of five.

    python -m examples.labs.customers

The topic has three partitions. Of two consumers the first has two of them and the second one: the
range assignor gives the first members the rest of the division. Of five consumers two are idle.
"""

from __future__ import annotations

from random import Random
from typing import Final

from examples.cluster.lab import say, shell
from examples.labs.reading import Member, await_split, committed, poll_until, read_topic
from examples.labs.staging import check, expect, on_broker, type_in
from headrace.testing import Broker

TOPIC: Final = "customers"
GROUP: Final = "customer-group"
PARTITIONS: Final = 3
RECORDS: Final = 12_434
_NAMES: Final = ("Ada", "Ben", "Cleo", "Dora", "Emil", "Finn", "Greta", "Hugo", "Ida", "Jon")
_TOWNS: Final = ("Basel", "Bergen", "Porto", "Turku", "Utrecht")


def customers_csv(records: int = RECORDS, seed: int = 1) -> str:
    """The file: a customer on each line."""
    chance = Random(seed)
    return "".join(
        f"{number},{chance.choice(_NAMES)},{chance.choice(_TOWNS)},{chance.randint(18, 90)}\n"
        for number in range(1, records + 1)
    )


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    where = ("--bootstrap-server", servers)
    numbers = ("--partitions", str(PARTITIONS), "--replication-factor", "1")
    shell("kafka-topics", *where, "--create", "--topic", TOPIC, *numbers)
    say("Two consumers in one group, and the file is sent")
    pair = [Member(servers, GROUP, TOPIC, f"consumer{n}") for n in (1, 2)]
    await_split(pair, PARTITIONS)
    expect(
        [each.partitions for each in pair], [[0, 1], [2]], "consumer1 has p0 and p1, consumer2 p2"
    )
    # Sent without keys, all would stick to few partitions; hence the keys.
    keyed = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=,")
    type_in(
        "kafka-console-producer",
        "--broker-list",
        servers,
        "--topic",
        TOPIC,
        *keyed,
        lines=customers_csv(),
    )
    poll_until(pair, lambda: sum(len(m.records) for m in pair) >= RECORDS, "all customers")
    _compare(servers, pair)
    for member in pair:
        member.consumer.commit(asynchronous=False)
        member.leave()
    expect(sum(committed(servers, GROUP, TOPIC).values()), RECORDS, "the group has committed all")

    say("Five consumers for three partitions")
    five = [Member(servers, GROUP, TOPIC, f"consumer{n}") for n in range(1, 6)]
    await_split(five, PARTITIONS)
    shares = [each.partitions for each in five]
    print(", ".join(f"{each.name}: {each.partitions or 'idle'}" for each in five))
    expect(shares.count([]), 2, "two of them are idle")
    check(all(len(share) <= 1 for share in shares), "and the others have one partition each")
    for member in five:
        member.leave()


def _compare(servers: str, pair: list[Member]) -> None:
    stored = read_topic(servers, TOPIC)
    counts = [sum(record.partition == n for record in stored) for n in range(PARTITIONS)]
    for number, count in enumerate(counts):
        print(f"{TOPIC}-{number}: {count}")
    expect(sum(counts), RECORDS, f"{RECORDS} customers are in the topic")
    read = [len(each.records) for each in pair]
    expect(read, [counts[0] + counts[1], counts[2]], f"the consumers have read {read}")


if __name__ == "__main__":
    on_broker(story)
