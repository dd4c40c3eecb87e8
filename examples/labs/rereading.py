"""Two programs: one reads a topic from its start each time, one commits by hand.

    python -m examples.labs.rereading

A new name of a group has no offsets, so it begins where `auto.offset.reset` says. A group that
commits by hand goes on behind its last commit, whatever it has read since. Both with a client
library and over HTTP.
"""

from __future__ import annotations

import uuid
from base64 import b64decode
from typing import Final

from examples.cluster.lab import say
from examples.labs.reading import Member, committed, poll_until
from examples.labs.rest_consumer import RestConsumer
from examples.labs.staging import Platform, expect, on_platform
from examples.topics import Draft, create_topic, send

TOPIC: Final = "reread_topic"
GROUP: Final = "manualcommitgroup"
RECORDS: Final = 10
TEXTS: Final = [f"message {number}" for number in range(RECORDS)]


def read_with_new_group(servers: str) -> list[str]:
    """Everything, each time."""
    reader = Member(servers, f"reread-{uuid.uuid4()}", TOPIC, "reader")
    poll_until([reader], lambda: len(reader.records) >= RECORDS, "all records")
    reader.leave()
    return reader.texts


def read_and_commit(servers: str, group: str, count: int, *, commit: bool) -> list[str]:
    """So many records from where the group stands."""
    reader = Member(servers, group, TOPIC, "manual", **{"enable.auto.commit": False})
    found: list[str] = []
    while len(found) < count:
        message = reader.consumer.poll(1)
        if message is not None:
            found.append((message.value() or b"").decode())
            if commit and len(found) == count:
                reader.consumer.commit(message=message, asynchronous=False)
    reader.leave()
    return found


def story(platform: Platform) -> None:
    servers = platform.bootstrap_servers
    create_topic(servers, TOPIC)
    send(servers, TOPIC, [Draft(text) for text in TEXTS])
    say("Re-read: a new group each time")
    for _ in range(2):
        expect(read_with_new_group(servers), TEXTS, "all records, from the first on")
    say("Commit by hand")
    first = read_and_commit(servers, GROUP, 4, commit=True)
    expect(first, TEXTS[:4], "four records are read and committed")
    expect(committed(servers, GROUP, TOPIC), {0: 4}, "the group stands at offset 4")
    second = read_and_commit(servers, GROUP, 3, commit=False)
    expect(second, TEXTS[4:7], "three more are read, but not committed")
    third = read_and_commit(servers, GROUP, 6, commit=True)
    expect(third, TEXTS[4:], "so they are read again")

    say("The same over HTTP")
    for _ in range(2):
        with RestConsumer(platform.rest, f"reread-{uuid.uuid4()}", TOPIC) as reader:
            expect(_texts(reader.read(RECORDS)), TEXTS, "all records, from the first on")
    with RestConsumer(platform.rest, f"{GROUP}-rest", TOPIC) as reader:
        reader.read(RECORDS)
    with RestConsumer(platform.rest, f"{GROUP}-rest", TOPIC) as reader:
        expect(_texts(reader.read(RECORDS)), TEXTS, "without a commit they come again")
        told = reader.commit()
        expect(told[0]["committed"], RECORDS - 1, "the last record that was returned is committed")
    send(servers, TOPIC, [Draft("one more")])
    with RestConsumer(platform.rest, f"{GROUP}-rest", TOPIC) as reader:
        expect(_texts(reader.read(1)), ["one more"], "the next consumer begins behind it")


def _texts(records: list[dict[str, str]]) -> list[str]:
    return [b64decode(record["value"]).decode() for record in records]


if __name__ == "__main__":
    on_platform(story)
