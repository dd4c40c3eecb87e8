"""Topics on three brokers of one host: with one replica of each partition, and with three.

    python -m examples.labs.customers_replicated

With one replica each broker has one partition, and nobody else has it. With three every broker has
every partition; one of them leads, the others follow, and their files are the same.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from examples.cluster.lab import await_all_in_sync, say, shell
from examples.labs.customers import customers_csv
from examples.labs.staging import await_so, expect, on_cluster
from examples.topics import Draft, send
from headrace.testing import Cluster

SINGLE: Final = "topic1"
REPLICATED: Final = "customers-new"
PARTITIONS: Final = 3
RECORDS: Final = 3_000


def story(cluster: Cluster) -> None:
    servers = cluster.bootstrap_servers
    where = ("--bootstrap-server", servers)
    numbers = ("--partitions", str(PARTITIONS), "--replication-factor")
    lines = customers_csv(RECORDS).splitlines()
    say("Three partitions, one replica of each")
    shell("kafka-topics", *where, "--create", "--topic", SINGLE, *numbers, "1")
    await_all_in_sync(servers, SINGLE)
    await_so(lambda: _counts(cluster, SINGLE) == [1, 1, 1], "each broker has one folder")
    print(_folders(cluster, SINGLE))

    say("Three partitions, three replicas of each")
    shell("kafka-topics", *where, "--create", "--topic", REPLICATED, *numbers, "3")
    send(servers, REPLICATED, [Draft(line, line.partition(",")[0]) for line in lines])
    partitions = await_all_in_sync(servers, REPLICATED)
    shell("kafka-topics", *where, "--describe", "--topic", REPLICATED)
    everything = [f"{REPLICATED}-{number}" for number in range(PARTITIONS)]
    held = _folders(cluster, REPLICATED)
    expect(held, {b.id: everything for b in cluster.brokers}, "every broker has all three folders")
    leaders = sorted(each.leader for each in partitions)
    expect(leaders, [0, 1, 2], "every broker leads one of them and follows in two")
    for name in everything:
        await_so(partial(_same, cluster, name), f"{name}: three logs, byte by byte equal")
        path = _log(cluster.brokers[0].log_dir, name)
        print(f"{name}/{path.name}: {path.stat().st_size} bytes on each broker")


def _folders(cluster: Cluster, topic: str) -> dict[int, list[str]]:
    return {
        broker.id: sorted(path.name for path in broker.log_dir.glob(f"{topic}-?"))
        for broker in cluster.brokers
    }


def _counts(cluster: Cluster, topic: str) -> list[int]:
    return [len(folders) for folders in _folders(cluster, topic).values()]


def _same(cluster: Cluster, partition: str) -> bool:
    return len({_log(broker.log_dir, partition).read_bytes() for broker in cluster.brokers}) == 1


def _log(log_dir: Path, partition: str) -> Path:
    return log_dir / partition / f"{0:020d}.log"


if __name__ == "__main__":
    on_cluster(story)
