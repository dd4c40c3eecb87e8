"""How far replicas lag behind each other, reported at intervals.

    python -m examples.labs.replica_check

The lag is 0 as long as all replicas have everything. While a broker is away it grows with every
record, and when the broker is back and has caught up it is 0 again.
"""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from examples.cluster.lab import await_all_in_sync, say, write
from examples.labs.staging import await_so, command, on_cluster
from examples.topics import create_topic
from headrace.testing import Cluster

TOPIC: Final = "checked"
_LAG: Final = re.compile(r"max lag is (\d+) for partition \[checked,0\] at offset (\d+) among 1 ")


class Watch:
    """What the tool has told so far."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.reports: list[tuple[int, int]] = []  # the lag, and the offset that all have
        self.started = False
        self._process = process

    def listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            print(line, end="", flush=True)
            self.started |= "verification process is started." in line
            if match := _LAG.search(line):
                self.reports.append((int(match[1]), int(match[2])))


@contextmanager
def watching(servers: str) -> Iterator[Watch]:
    """Let the tool run beside the block."""
    words = ("--broker-list", servers, "--topic-white-list", TOPIC)
    print(f"$ kafka-replica-validation {' '.join(words)} &", flush=True)
    process = subprocess.Popen(
        command(
            "kafka-replica-verification",
            *words,
            "--report-interval-ms",
            "200",
            "--max-wait-ms",
            "100",
        ),
        stdout=subprocess.PIPE,
        text=True,
    )
    watch = Watch(process)
    listener = threading.Thread(target=watch.listen)
    listener.start()
    try:
        yield watch
    finally:
        process.terminate()
        process.wait()
        listener.join()
        assert process.stdout is not None
        process.stdout.close()


def story(cluster: Cluster) -> None:
    servers = cluster.bootstrap_servers
    create_topic(servers, TOPIC, replicas=3)
    await_all_in_sync(servers, TOPIC)
    with watching(servers) as watch:
        say("All replicas are alike")
        await_so(lambda: watch.started, "the verification is started")
        write(servers, TOPIC, [f"before {n}" for n in range(20)])
        await_so(lambda: watch.reports[-1:] == [(0, 20)], "the max lag is 0, all have 20 records")

        victim = cluster.brokers[-1]
        say(f"Broker {victim.id} is away; eleven records come, then four more")
        victim.stop()
        write(servers, TOPIC, [f"outage {n}" for n in range(11)])
        await_so(lambda: watch.reports[-1] == (11, 20), "the max lag is 11")
        write(servers, TOPIC, [f"more {n}" for n in range(4)])
        await_so(lambda: watch.reports[-1] == (15, 20), "the max lag is 15")

        say(f"Broker {victim.id} is back")
        victim.start()
        await_so(lambda: watch.reports[-1] == (0, 35), "the max lag is 0 again")


if __name__ == "__main__":
    on_cluster(story)
