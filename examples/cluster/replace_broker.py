"""A machine is lost with its disks: a new one with the same id takes its place.

    python -m examples.cluster.replace_broker

Nothing has to be reassigned. The new broker finds in ZooKeeper which replicas it should have, and
fetches them from their leaders.
"""

from __future__ import annotations

import shutil
from typing import Final

from examples.cluster.lab import (
    LabFailed,
    await_all_in_sync,
    await_partitions,
    read_all,
    run_lab,
    say,
    shell,
    write,
)
from headrace.testing import Cluster

TOPIC: Final = "ledger"
RECORDS: Final = 500


def story(cluster: Cluster) -> None:
    servers = cluster.bootstrap_servers
    where = ("--bootstrap-server", servers)
    numbers = ("--partitions", "3", "--replication-factor", "3")
    shell("kafka-topics", *where, "--create", "--topic", TOPIC, *numbers)
    written = [f"entry {number}" for number in range(RECORDS)]
    write(servers, TOPIC, written)
    read_all(servers, TOPIC, "clerk", RECORDS)

    victim = cluster.brokers[1]
    say(f"Broker {victim.id} is lost, and its disk with it")
    victim.kill()
    shutil.rmtree(victim.log_dir)
    await_partitions(servers, TOPIC, "it is missed", lambda each: victim.id not in each.isrs)
    shell("kafka-topics", *where, "--describe", "--topic", TOPIC)

    say(f"A new machine, broker.id={victim.id}, with an empty disk")
    victim.start()
    await_all_in_sync(servers, TOPIC)
    await_all_in_sync(servers, "__consumer_offsets")
    shell("kafka-topics", *where, "--describe", "--topic", TOPIC)
    held = sorted(path.name for path in victim.log_dir.glob(f"{TOPIC}-*"))
    print(f"it has fetched {', '.join(held)}")

    say("It is as good as the one that was lost: the others may go")
    for other in cluster.brokers:
        if other is not victim:
            other.stop()
    read = read_all(servers, TOPIC, "auditor", RECORDS)
    if sorted(read) != sorted(written):
        raise LabFailed(f"{len(read)} records were read instead of {RECORDS}")
    print(f"broker {victim.id} alone serves all {len(read)} records")
    for other in cluster.brokers:
        if other is not victim:
            other.start()


if __name__ == "__main__":
    run_lab(story)
