"""An exercise in finding faults: the rollover was changed to two hours, and nothing rolls.

    python -m examples.labs.troubleshooting

The administrators set `log.roll.hours=2`, yet the active segment of a partition on broker 103 is
between four and five hours old. Five explanations are possible, and each is brought about here: the
topic has its own value, the change is in another broker's file, the broker was not restarted, a
dynamic value stands above the file, or nothing is written to the partition. Time does not pass;
the records are old.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from examples.cluster.lab import say, shell
from examples.cluster.three_brokers import RunningBroker
from examples.labs.settings import Setting, setting_of
from examples.labs.staging import alone, expect
from examples.topics import Draft, create_topic, send
from headrace.coordination.zookeeper.server import free_port

TOPIC: Final = "t_7"
BROKER_ID: Final = 103
HOUR_MS: Final = 3_600_000
TWO_HOURS: Final = str(2 * HOUR_MS)


class Site:
    """One broker with its server.properties."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port("127.0.0.1")
        self.file = folder / f"server-{BROKER_ID}.properties"
        self.data = folder / f"data-{BROKER_ID}"

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def write_file(self, *lines: str, broker_id: int = BROKER_ID) -> None:
        listener = f"listeners=PLAINTEXT://{self.servers}"
        own = (f"broker.id={broker_id}", listener, f"log.dirs={self.data}")
        path = self.folder / f"server-{broker_id}.properties"
        path.write_text("\n".join([*own, *lines, ""]))

    @contextmanager
    def broker(self) -> Iterator[None]:
        running = RunningBroker(self.file)
        try:
            running.await_ready()
            yield
        finally:
            running.stop()

    def rollover(self) -> Setting:
        return setting_of(self.servers, "topic", TOPIC, "segment.ms")

    def segments(self) -> int:
        return len(list((self.data / f"{TOPIC}-0").glob("*.log")))

    def append(self, age_hours: float) -> None:
        then_ms = int(time.time() * 1000 - age_hours * HOUR_MS)
        send(self.servers, TOPIC, [Draft("a record", timestamp_ms=then_ms)])


def story() -> None:
    with tempfile.TemporaryDirectory(prefix="headrace-lab-") as name:
        site = Site(Path(name))
        say("The change was made, in the file of broker 102")
        site.write_file()
        site.write_file("log.roll.hours=2", broker_id=102)
        with site.broker():
            create_topic(site.servers, TOPIC)
            site.append(age_hours=4.5)
            site.append(age_hours=0.1)
            expect(
                site.rollover().level, "built in", "103 has not heard of it: its file is as it was"
            )
            expect(site.segments(), 1, "the segment is older than four hours, and still active")

            say("Now it is in the file of 103, but 103 was not restarted")
            site.write_file("log.roll.hours=2")
            site.append(age_hours=0.1)
            expect(site.rollover().level, "built in", "a file is read at the start only")
            expect(site.segments(), 1, "the segment is still active")
        _after_the_restart(site)


def _after_the_restart(site: Site) -> None:
    where = ("--bootstrap-server", site.servers, "--alter")
    with site.broker():
        say("It was restarted, but nothing is written: age is looked at when a record comes")
        found = site.rollover()
        expect(found, (TWO_HOURS, "the broker's file"), "the two hours are in force")
        expect(site.segments(), 1, "the idle partition keeps its old segment")

        say("A dynamic value stands above the file")
        add = ("--add-config", f"log.roll.ms={10 * HOUR_MS}")
        shell("kafka-configs", *where, *add, "--broker-defaults")
        site.append(age_hours=0)
        expect(site.rollover().level, "dynamic, of the cluster", "the file does not count")
        expect(site.segments(), 1, "the segment is still active")
        shell("kafka-configs", *where, "--delete-config", "log.roll.ms", "--broker-defaults")

        say("The topic has a value of its own")
        add = ("--add-config", f"segment.ms={10 * HOUR_MS}")
        shell("kafka-configs", *where, *add, "--topic", TOPIC)
        site.append(age_hours=0)
        expect(site.rollover().level, "topic", "it comes before everything else")
        expect(site.segments(), 1, "the segment is still active")

        say("All five are out of the way, and a record comes")
        shell("kafka-configs", *where, "--delete-config", "segment.ms", "--topic", TOPIC)
        expect(site.rollover(), (TWO_HOURS, "the broker's file"), "the two hours are in force")
        site.append(age_hours=0)
        expect(site.segments(), 2, "a new segment has begun")


if __name__ == "__main__":
    alone(story)
