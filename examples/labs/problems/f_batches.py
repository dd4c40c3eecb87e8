"""Problem F: nine batches of letters without keys over five partitions."""

from __future__ import annotations

from typing import Final

from examples.cluster.lab import say
from examples.labs.null_keys import WARM_UP, send_in_waves
from examples.labs.reading import read_topic
from examples.labs.staging import expect, on_broker
from examples.topics import create_topic
from headrace.testing import Broker

TOPIC: Final = "problem-f"
PARTITIONS: Final = 5
BATCHES: Final = ("abc", "de", "fghi", "j", "klmn", "op", "qr", "stu", "vwxyz")


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    say("Problem F: {abc} {de} {fghi} {j} {klmn} {op} {qr} {stu} {vwxyz}")
    create_topic(servers, TOPIC, partitions=PARTITIONS)
    send_in_waves(servers, TOPIC, [list(letters) for letters in BATCHES], sticky_ms=100)
    stored = [record for record in read_topic(servers, TOPIC) if record.text != WARM_UP]
    texts = ["".join(r.text for r in stored if r.partition == n) for n in range(PARTITIONS)]
    print(", ".join(f"p{number}: {text or '-'}" for number, text in enumerate(texts)))
    expect(sorted("".join(texts)), sorted("".join(BATCHES)), "every letter is there once")
    whole = [letters for letters in BATCHES if any(letters in text for text in texts)]
    expect(whole, list(BATCHES), "no batch was split")


if __name__ == "__main__":
    on_broker(story)
