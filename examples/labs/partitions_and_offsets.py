"""More partitions for a topic, and what its group has read.

    python -m examples.labs.partitions_and_offsets

The number of partitions can grow. Records stay where they are, new partitions begin empty, and a
key may have another partition from then on. A group's offsets show how far it is behind.
"""

from __future__ import annotations

from typing import Final

from examples.cluster.lab import say, shell
from examples.labs.java_hashes import partition_of
from examples.labs.reading import Member, poll_until, read_topic
from examples.labs.staging import check, expect, on_broker
from examples.topics import Draft, create_topic, send
from headrace.testing import Broker

TOPIC: Final = "growing"
GROUP: Final = "growing-group"
BEFORE: Final = 2
AFTER: Final = 5
KEYS: Final = [f"customer-{number}" for number in range(40)]


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    where = ("--bootstrap-server", servers)
    create_topic(servers, TOPIC, partitions=BEFORE)
    send(servers, TOPIC, [Draft("before", key) for key in KEYS])
    say("A consumer reads everything, commits, and leaves; ten more records come")
    member = Member(servers, GROUP, TOPIC, "lagging")
    poll_until([member], lambda: len(member.records) == len(KEYS), "all are read")
    member.consumer.commit(asynchronous=False)
    member.leave()
    send(servers, TOPIC, [Draft("later", key) for key in KEYS[:10]])
    rows = describe_group(servers, GROUP)
    expect(sum(lag for _, _, lag in rows.values()), 10, "the group is ten records behind")
    check(all(end - at == lag for at, end, lag in rows.values()), "lag is end minus committed")

    say(f"From {BEFORE} partitions to {AFTER}")
    old = {record.offset: record for record in read_topic(servers, TOPIC) if record.partition == 0}
    shell("kafka-topics", *where, "--alter", "--topic", TOPIC, "--partitions", str(AFTER))
    shell("kafka-topics", *where, "--describe", "--topic", TOPIC)
    records = read_topic(servers, TOPIC)
    now = {record.offset: record for record in records if record.partition == 0}
    expect(now, old, "no record has moved")
    expect({record.partition for record in records}, set(range(BEFORE)), "the new ones are empty")
    send(servers, TOPIC, [Draft("after", key) for key in KEYS])
    records = read_topic(servers, TOPIC)
    for text, count in (("before", BEFORE), ("after", AFTER)):
        places = {r.name: r.partition for r in records if r.text == text}
        wanted = {key: partition_of(key.encode(), count) for key in KEYS}
        expect(places, wanted, f"{text}: keys lie where murmur2 modulo {count} says")
    moved = sum(partition_of(k.encode(), BEFORE) != partition_of(k.encode(), AFTER) for k in KEYS)
    check(moved > 0, f"{moved} of {len(KEYS)} keys have another partition now: their order is cut")
    shell("kafka-topics", *where, "--alter", "--topic", TOPIC, "--partitions", "2", code=1)
    print("and there is no way back")


def describe_group(servers: str, group: str) -> dict[int, tuple[int, int, int]]:
    """What kafka-consumer-groups prints: committed, end and lag by partition."""
    text = shell(
        "kafka-consumer-groups", f"--bootstrap-server={servers}", "--describe", "--group", group
    )
    lines = [line.split() for line in text.splitlines() if line.strip()]
    head = next(line for line in lines if "LAG" in line)
    columns = [head.index(n) for n in ("PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG")]
    found = {}
    for line in lines:
        if line[0] == group:
            number, at, end, lag = (int(line[column]) for column in columns)
            found[number] = (at, end, lag)
    return found


if __name__ == "__main__":
    on_broker(story)
