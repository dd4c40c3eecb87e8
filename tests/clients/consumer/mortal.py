"""A consumer in a process of its own, for tests that kill it: nothing is closed or committed then.

Its process is this file: it joins a group and prints a line for every record that it has polled.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

LIFETIME_SECONDS = 60
TURN_SECONDS = 0.02


class Mortal:
    """The test's end of such a process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.offsets: list[int] = []  # of the records that it has polled
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.offsets.append(int(line))

    def take(self, count: int, *, meanwhile: Callable[[], object] = lambda: None) -> list[int]:
        """The offsets of its first records; it goes on polling.

        `meanwhile` is a turn of the others in its group, who may have something to give up first.
        """
        while len(self.offsets) < count:
            assert self._process.poll() is None, "the consumer ended"
            meanwhile()
            self._reader.join(TURN_SECONDS)
        return self.offsets[:count]

    def kill(self) -> None:
        """End it as a power cut would."""
        self._process.kill()
        self._process.wait()
        self._reader.join()


@contextlib.contextmanager
def mortal(
    bootstrap: str, group: str, topic: str, *, most: int, **settings: Any
) -> Iterator[Mortal]:
    """A consumer that reads `most` records and then only keeps its place in the group."""
    wanted = {
        "bootstrap.servers": bootstrap,
        "log_level": 0,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "fetch.wait.max.ms": 50,
        **{name.replace("_", "."): value for name, value in settings.items()},
    }
    # Members of the new protocol are told by the broker how long their session is.
    if wanted.get("group.protocol", "classic") == "classic":
        wanted = {"session.timeout.ms": 1000, "heartbeat.interval.ms": 100, **wanted}
    command = [sys.executable, __file__, json.dumps(wanted), topic, str(most)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        started = Mortal(process)
        try:
            yield started
        finally:
            started.kill()


def main(settings: str, topic: str, most: str) -> None:
    import signal

    from confluent_kafka import Consumer

    signal.alarm(LIFETIME_SECONDS)  # it must not outlive a test that was killed itself
    consumer = Consumer(json.loads(settings))
    consumer.subscribe([topic])
    polled = 0
    while True:
        message = consumer.poll(0.1) if polled < int(most) else None
        if message is not None and message.error() is None:
            polled += 1
            sys.stdout.write(f"{message.offset()}\n")
            sys.stdout.flush()
        if polled >= int(most):
            consumer.pause(consumer.assignment())
            consumer.poll(0.1)


if __name__ == "__main__":
    main(*sys.argv[1:])
