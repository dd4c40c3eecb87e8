"""Where replicas are placed, and what the loss of a leader does.

    python -m examples.labs.replica_placement

Five brokers, four replicas of each partition: a leader and three followers, never two of them on
one broker. Then the leader dies, and a follower that is in sync takes over; writes and reads go on.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from examples.cluster.lab import (
    await_all_in_sync,
    await_partitions,
    say,
    shell,
    write,
)
from examples.labs.reading import read_topic
from examples.labs.staging import check, expect, on_cluster
from headrace.testing import Cluster

TOPIC: Final = "placed"
PARTITIONS: Final = 5
REPLICAS: Final = 4
# Known to be dead soon after it dies: the lab waits for that.
SHORT_SESSION: Final = {"zookeeper.session.timeout.ms": 2_000}


def story(cluster: Cluster) -> None:
    say("Two more brokers join: five in all")
    added = [cluster.add_broker(properties=SHORT_SESSION) for _ in range(2)]
    where = ("--bootstrap-server", cluster.bootstrap_servers)
    try:
        _place_and_lose(cluster)
    finally:
        shell("kafka-topics", *where, "--delete", "--topic", TOPIC)
        for broker in added:
            if broker.running:
                broker.stop()
            cluster.brokers.remove(broker)


def _place_and_lose(cluster: Cluster) -> None:
    servers = cluster.bootstrap_servers
    where = ("--bootstrap-server", servers)
    numbers = ("--partitions", str(PARTITIONS), "--replication-factor", str(REPLICAS))
    shell("kafka-topics", *where, "--create", "--topic", TOPIC, *numbers)
    placed = await_all_in_sync(servers, TOPIC)
    shell("kafka-topics", *where, "--describe", "--topic", TOPIC)
    check(
        all(len(set(each.replicas)) == REPLICAS for each in placed), "four different brokers each"
    )
    check(all(len(each.replicas) - 1 == 3 for each in placed), "four replicas are three followers")
    held = Counter(replica for each in placed for replica in each.replicas)
    expect(sorted(held.values()), [4] * 5, "each broker has four of the twenty replicas")
    leaders = Counter(each.leader for each in placed)
    expect(sorted(leaders.values()), [1] * 5, "and leads one of the five partitions")
    words = ("--create", "--topic", "too-many", "--partitions", "1", "--replication-factor", "9")
    shell("kafka-topics", *where, *words, code=1)

    victim = cluster.brokers[-1]
    say(f"Broker {victim.id} dies, a leader and three times a follower")
    before = [f"before {number}" for number in range(50)]
    write(servers, TOPIC, before)
    victim.kill()
    after = [f"after {number}" for number in range(50)]
    write(servers, TOPIC, after)
    found = await_partitions(
        servers,
        TOPIC,
        "leaders without the dead broker",
        lambda each: each.leader not in (-1, victim.id) and victim.id not in each.isrs,
    )
    for was, is_ in zip(placed, found, strict=True):
        survivors = [each for each in was.replicas if each != victim.id]
        expect(is_.leader, survivors[0], f"partition {was.id}: {was.leader} -> {is_.leader}")
    texts = sorted(record.text for record in read_topic(servers, TOPIC))
    expect(texts, sorted(before + after), "all records are there, also those sent meanwhile")


if __name__ == "__main__":
    on_cluster(story)
