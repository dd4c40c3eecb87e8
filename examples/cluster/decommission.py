"""A broker is taken out of service, step by step, and nobody notices.

    python -m examples.cluster.decommission

Five steps: find its id by its address, find what it holds, write a plan in which it does not occur,
carry the plan out, verify. Then it is stopped in good order; it leads nothing by then.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Final

from examples.cluster.lab import (
    LabFailed,
    all_partitions,
    await_reassigned,
    read_all,
    run_lab,
    say,
    shell,
    write,
)
from headrace.testing import Cluster

TOPIC: Final = "orders"
RECORDS: Final = 200


def story(cluster: Cluster) -> None:
    leaving = cluster.add_broker()
    servers = cluster.bootstrap_servers
    where = ("--bootstrap-server", servers)
    numbers = ("--partitions", "4", "--replication-factor", "3")
    shell("kafka-topics", *where, "--create", "--topic", TOPIC, *numbers)
    written = [f"order {number}" for number in range(RECORDS)]
    write(servers, TOPIC, written)
    read_all(servers, TOPIC, "shop", RECORDS)

    say(f"1. Which id has the broker at port {leaving.port}? ZooKeeper knows")
    shell("zookeeper-shell", cluster.zookeeper, "ls", "/brokers/ids")
    shell("zookeeper-shell", cluster.zookeeper, "get", f"/brokers/ids/{leaving.id}")
    say(f"2. What does broker {leaving.id} hold? The offsets of groups count as well")
    shell("kafka-topics", *where, "--describe")
    held = {
        place: each
        for place, each in all_partitions(servers).items()
        if leaving.id in each.replicas
    }
    print(", ".join(f"{topic}-{number}" for topic, number in held))

    say("3. A plan in which it does not occur")
    others = [broker.id for broker in cluster.brokers if broker is not leaving]
    entries = [_moved(place, each.replicas, leaving.id, others) for place, each in held.items()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decommission.json"
        path.write_text(json.dumps({"version": 1, "partitions": entries}))
        print(path.read_text())
        file = ("--reassignment-json-file", str(path))
        say("4. Carry it out: new replicas first, then the switch, then the old ones go")
        shell("kafka-reassign-partitions", *where, "--execute", *file)
        await_reassigned(servers)
        say("5. Verify with the same tool, with the topic's description, and by use")
        shell("kafka-reassign-partitions", *where, "--verify", *file)
    shell("kafka-topics", *where, "--describe", "--topic", TOPIC)
    write(servers, TOPIC, ["one more"])
    read = read_all(servers, TOPIC, "after-the-move", RECORDS + 1)
    if sorted(read) != sorted([*written, "one more"]):
        raise LabFailed(f"{len(read)} records were read instead of {RECORDS + 1}")
    print(f"all {len(read)} records are there")

    say(f"Broker {leaving.id} is empty: a controlled shutdown ends its service")
    leaving.stop()
    cluster.brokers.remove(leaving)
    shell("zookeeper-shell", cluster.zookeeper, "ls", "/brokers/ids")


def _moved(
    place: tuple[str, int], replicas: list[int], leaving: int, others: list[int]
) -> dict[str, object]:
    """The same replicas in the same order, another broker in the place of the leaving one."""
    chosen = next(each for each in others if each not in replicas)
    wanted = [chosen if each == leaving else each for each in replicas]
    return {"topic": place[0], "partition": place[1], "replicas": wanted}


if __name__ == "__main__":
    run_lab(story)
