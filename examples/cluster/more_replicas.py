"""The replication factor of a topic is raised, while it is in use.

    python -m examples.cluster.more_replicas

A topic keeps its number of replicas until somebody gives its partitions more brokers: that is a
reassignment. The new replicas copy the log, enter the ISR, and count from then on.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Final

from examples.cluster.lab import (
    LabFailed,
    await_partitions,
    await_reassigned,
    partitions_of,
    read_all,
    run_lab,
    say,
    shell,
    write,
)
from headrace.testing import Cluster

TOPIC: Final = "grow-me"
RECORDS: Final = 300


def story(cluster: Cluster) -> None:
    servers = cluster.bootstrap_servers
    where = ("--bootstrap-server", servers)
    say("A topic with one replica: the loss of a broker would be the loss of its records")
    numbers = ("--partitions", "3", "--replication-factor", "1")
    shell("kafka-topics", *where, "--create", "--topic", TOPIC, *numbers)
    written = [f"record {number}" for number in range(RECORDS)]
    write(servers, TOPIC, written)
    shell("kafka-topics", *where, "--describe", "--topic", TOPIC)

    say("The plan: every partition keeps its broker as the first and gets the two others")
    everyone = [broker.id for broker in cluster.brokers]
    plan = {
        "version": 1,
        "partitions": [
            {
                "topic": TOPIC,
                "partition": each.id,
                "replicas": [*each.replicas, *(b for b in everyone if b not in each.replicas)],
            }
            for each in partitions_of(servers, TOPIC)
        ],
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "increase-replication-factor.json"
        path.write_text(json.dumps(plan))
        print(path.read_text())
        file = ("--reassignment-json-file", str(path))
        throttle = ("--throttle", "50000000")
        shell("kafka-reassign-partitions", *where, "--execute", *file, *throttle)
        await_reassigned(servers)
        await_partitions(servers, TOPIC, "three in sync", lambda each: len(each.isrs) == 3)
        say("Verify: it is completed, and the throttle is taken away")
        shell("kafka-reassign-partitions", *where, "--verify", *file)
    shell("kafka-topics", *where, "--describe", "--topic", TOPIC)

    say("Any broker may be lost now")
    victim = cluster.brokers[-1]
    victim.kill()
    read = read_all(servers, TOPIC, "after-the-loss", RECORDS)
    if sorted(read) != sorted(written):
        raise LabFailed(f"{len(read)} records were read instead of {RECORDS}")
    print(f"broker {victim.id} is gone, and all {len(read)} records are there")
    victim.start()


if __name__ == "__main__":
    run_lab(story)
