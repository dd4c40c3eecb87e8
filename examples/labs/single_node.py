"""One broker, a topic with 13 partitions, seven messages typed and read.

    python -m examples.labs.single_node

Messages of several partitions need not come back in the order in which they were typed: order
holds inside a partition. A topic with a single partition keeps it for all messages.
"""

from __future__ import annotations

import re
from typing import Final

from examples.cluster.lab import say, shell
from examples.labs.reading import read_topic
from examples.labs.staging import check, expect, on_broker, type_in
from headrace.testing import Broker

TOPIC: Final = "my-topic"
ORDERED: Final = "my-ordered-topic"
PARTITIONS: Final = 13
MESSAGES: Final = [f"This is message {number}" for number in range(1, 8)]


def story(broker: Broker) -> None:
    where = ("--bootstrap-server", broker.bootstrap_servers)
    say(f"A topic with {PARTITIONS} partitions, and the list of topics")
    numbers = ("--replication-factor", "1", "--partitions", str(PARTITIONS))
    created = shell("kafka-topics", "--create", *where, *numbers, "--topic", TOPIC)
    check(f"Created topic {TOPIC}." in created, "the tool says that it created the topic")
    listed = shell("kafka-topics", "--list", *where).splitlines()
    check(TOPIC in listed, f"{TOPIC} is in the list")
    described = shell("kafka-topics", "--describe", *where, "--topic", TOPIC)
    expect(len(re.findall("Leader: 0", described)), PARTITIONS, "broker 0 leads every partition")

    say("Seven messages are typed; a number before the colon is the key of each")
    keyed = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    lines = "".join(f"{number}:{message}\n" for number, message in enumerate(MESSAGES, 1))
    type_in("kafka-console-producer", *where, "--topic", TOPIC, *keyed, lines=lines)
    expect(sorted(_consume(where, TOPIC)), MESSAGES, "all seven come back")
    used = {record.partition for record in read_topic(broker.bootstrap_servers, TOPIC)}
    check(len(used) > 1, f"they lie in {len(used)} partitions: between these is no order")

    say("The same with one partition")
    numbers = ("--replication-factor", "1", "--partitions", "1")
    shell("kafka-topics", "--create", *where, *numbers, "--topic", ORDERED)
    lines = "".join(f"{message}\n" for message in MESSAGES)
    type_in("kafka-console-producer", *where, "--topic", ORDERED, lines=lines)
    expect(_consume(where, ORDERED), MESSAGES, "they come back in the order of typing")


def _consume(where: tuple[str, str], topic: str) -> list[str]:
    words = ("--topic", topic, "--from-beginning", "--max-messages", str(len(MESSAGES)))
    return type_in("kafka-console-consumer", *where, *words).splitlines()


if __name__ == "__main__":
    on_broker(story)
