"""A discussion of sizes: replicas, failures, threads for twelve disks and 24 cores.

    python -m examples.labs.sizing

How many replicas does critical data need, how many brokers may fail, how many brokers does a load
need, and what does a broker with many disks and cores have to be told? The formulas are those of
`headrace plan`; the settings are tried out on a broker.
"""

from __future__ import annotations

import io
import json
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final

from examples.cluster.lab import LabFailed, say, shell
from examples.labs.settings import setting_of
from examples.labs.staging import BROKER_PROPERTIES, alone, expect
from examples.topics import create_topic
from headrace.cli import main as headrace
from headrace.testing import Broker

DISKS: Final = 12
CORES: Final = 24
# A thread for each disk at least, so that none waits for another; the rest of the cores serve
# connections, copy from leaders and clean.
AT_START: Final = {
    "num.io.threads": DISKS,
    "num.network.threads": CORES // 4,
    "num.recovery.threads.per.data.dir": CORES // DISKS,
}
AT_RUN_TIME: Final = {"num.replica.fetchers": 4, "log.cleaner.threads": 2}


def plan(*words: str) -> Any:
    """What `headrace plan` answers."""
    print(f"$ headrace plan {' '.join(words)}", flush=True)
    with redirect_stdout(io.StringIO()) as told:
        code = headrace(["plan", *words, "--output", "json"])
    if code:
        raise LabFailed(f"headrace plan ended with {code}")
    return json.loads(told.getvalue())


def story() -> None:
    say("Critical data: three replicas, two of which must have a record")
    load = ("--rate", "10000", "--message-size", "1KB", "--retention", "7d")
    found = plan(*load, "--replicas", "3", "--min-insync-replicas", "2", "--disk", "12TB")
    expect(found["failures_until_producers_stop"], 1, "one broker may fail, and writing goes on")
    expect(found["failures_until_records_are_lost"], 2, "two may fail, and nothing is lost")

    say("How many brokers? 10,000 records of 1 KB in a second, kept for a week")
    stored = 10_000 * 86_400 * 1_000 * 7 * 3
    needed = -(-stored // (12 * 10**12))
    expect(found["brokers_by"]["storage"], needed, f"{stored:,} bytes are {needed} disks of 12 TB")
    read = plan(*load, "--consumers", "40", "--network", "1Gbit/s")
    expect(read["brokers_by"]["network"], 4, "40 readers of 10 MB/s need four brokers of 1 Gbit/s")

    say(f"A broker with {DISKS} disks and {CORES} cores")
    with tempfile.TemporaryDirectory(prefix="headrace-lab-") as name:
        folders = [Path(name) / f"disk-{number}" for number in range(DISKS)]
        _try_out(folders)


def _try_out(folders: list[Path]) -> None:
    directories = ",".join(map(str, folders))
    with Broker({**BROKER_PROPERTIES, "log.dirs": directories, **AT_START}) as broker:
        servers = broker.bootstrap_servers
        settings = ",".join(f"{key}={value}" for key, value in AT_RUN_TIME.items())
        words = ("--bootstrap-server", servers, "--alter", "--broker-defaults")
        shell("kafka-configs", *words, "--add-config", settings)
        for key, value in (AT_START | AT_RUN_TIME).items():
            expect(setting_of(servers, "broker", "0", key).value, str(value), f"{key}={value}")
        create_topic(servers, "spread", partitions=DISKS)
        held = [len(list(folder.glob("spread-*"))) for folder in folders]
        expect(held, [1] * DISKS, "twelve partitions: one on each disk")


if __name__ == "__main__":
    alone(story)
