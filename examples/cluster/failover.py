"""A broker is killed: new leaders are elected, writers and readers go on.

    python -m examples.cluster.failover

Before and after, the topic is described: every partition that the dead broker led has moved to the
next replica in its list that is in sync, and the dead one has left the ISR. When it is back it
catches up first, and gets its leaderships back by an election of preferred replicas.
"""

from __future__ import annotations

import time
from typing import Final

from examples.cluster.lab import (
    LabFailed,
    Reader,
    await_all_in_sync,
    await_partitions,
    read_until,
    run_lab,
    say,
    shell,
    write,
)
from headrace.testing import Cluster

TOPIC: Final = "my-failsafe-topic"
PARTITIONS: Final = 13


def story(cluster: Cluster) -> None:
    servers = cluster.bootstrap_servers
    where = ("--bootstrap-server", servers)
    numbers = ("--partitions", str(PARTITIONS), "--replication-factor", "3")
    shell("kafka-topics", *where, "--create", "--topic", TOPIC, *numbers)
    await_all_in_sync(servers, TOPIC)
    shell("kafka-topics", *where, "--describe", "--topic", TOPIC)
    say("A group of three reads what is written")
    readers = [Reader(servers, TOPIC, "mygroup") for _ in range(3)]
    read_until(readers, "each has partitions", lambda: all(each.partitions for each in readers))
    before = [f"m{number}" for number in range(1, 8)]
    write(servers, TOPIC, before)
    read_until(readers, "the first messages", lambda: _count(readers) >= len(before))

    victim = cluster.brokers[0]
    say(f"Broker {victim.id} is killed (kill -9 {victim.pid})")
    killed_at = time.monotonic()
    victim.kill()
    after = [f"m{number}" for number in range(8, 28)]
    write(servers, TOPIC, after)
    print(f"all of {len(after)} messages acknowledged after {time.monotonic() - killed_at:.1f} s")
    await_partitions(
        servers,
        TOPIC,
        "leaders without the dead broker",
        lambda each: each.leader not in (-1, victim.id) and victim.id not in each.isrs,
    )
    shell("kafka-topics", *where, "--describe", "--topic", TOPIC)
    shell("zookeeper-shell", cluster.zookeeper, "ls", "/brokers/ids")
    say("The readers go on with the new leaders")
    read_until(readers, "the later messages", lambda: _count(readers) >= 7 + len(after))
    read = [value for each in readers for value in each.values]
    if set(read) != {*before, *after}:
        raise LabFailed(f"{len(set(read))} messages were read instead of {len(before + after)}")
    print(f"{len(set(read))} messages read, {len(read) - len(set(read))} of them twice")

    say("One of the readers goes as well: the others take over its partitions")
    readers.pop().close()
    everything = list(range(PARTITIONS))
    read_until(readers, "the partitions are taken over", lambda: _held(readers) == everything)
    print(", ".join(f"consumer {n}: {len(each.partitions)}" for n, each in enumerate(readers, 1)))

    say(f"Broker {victim.id} comes back, catches up, and is given its leaderships back")
    victim.start()
    await_all_in_sync(servers, TOPIC)
    shell("kafka-leader-election", *where, "--election-type", "preferred", "--all-topic-partitions")
    await_partitions(
        servers, TOPIC, "preferred leaders", lambda each: each.leader == each.replicas[0]
    )
    shell("kafka-topics", *where, "--describe", "--under-replicated-partitions")
    print("no partition is under-replicated")
    for reader in readers:
        reader.close()


def _held(readers: list[Reader]) -> list[int]:
    return sorted(number for reader in readers for number in reader.partitions)


def _count(readers: list[Reader]) -> int:
    """How many different messages were read: a group that is rebalanced may repeat some."""
    return len({value for reader in readers for value in reader.values})


if __name__ == "__main__":
    run_lab(story)
