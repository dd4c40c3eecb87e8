"""Both followers fall behind: what is still possible, and what is not.

    python -m examples.labs.isr_lag

A follower that has not caught up for `replica.lag.time.max.ms` leaves the in-sync replicas. The
document has two followers twelve seconds behind with a limit of ten; here the limit is one and a
half, and the followers are stopped in their tracks. The leader is then the only one in sync: reads
go on, acks=all is refused if two are demanded, and if the leader goes, no follower may take its
place.
"""

from __future__ import annotations

import json
from typing import Final

from confluent_kafka import KafkaError, Message, Producer
from kazoo.client import KazooClient

from examples.cluster.lab import (
    PATIENCE_S,
    await_all_in_sync,
    await_partitions,
    say,
    shell,
)
from examples.labs.reading import read_topic
from examples.labs.staging import await_so, check, expect, on_cluster
from headrace.testing import Cluster, ClusterBroker

TOPIC: Final = "lagging"


def send_one(servers: str, value: str, acks: str) -> str:
    """Send a record; the name of the error, or nothing."""
    told: list[str] = []

    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        told.append("" if error is None else error.name())

    settings = {"acks": acks, "retries": 0, "message.timeout.ms": 5_000, "log_level": 0}
    producer = Producer({"bootstrap.servers": servers, **settings})
    producer.produce(TOPIC, value, on_delivery=on_delivery)
    producer.flush(PATIENCE_S)
    producer.close()
    return told[0]


def story(cluster: Cluster) -> None:
    servers = cluster.bootstrap_servers
    where = ("--bootstrap-server", servers)
    # The controller leads, so that the cluster can decide while the two others stand still.
    leader = cluster.broker(_controller(servers))
    followers = [broker for broker in cluster.brokers if broker is not leader]
    replicas = ":".join(str(broker.id) for broker in (leader, *followers))
    words = ("--create", "--topic", TOPIC, "--replica-assignment", replicas)
    shell("kafka-topics", *where, *words, "--config", "min.insync.replicas=2")
    await_all_in_sync(servers, TOPIC)
    expect(send_one(leader.bootstrap_servers, "first", "all"), "", "a record is on three brokers")
    zookeeper = KazooClient(hosts=cluster.zookeeper)
    zookeeper.start()
    try:
        _fall_behind(zookeeper, leader, followers)
    finally:
        zookeeper.stop()
        zookeeper.close()
    _lose_the_leader(servers, leader, followers)


def _controller(servers: str) -> int:
    from confluent_kafka.admin import AdminClient

    return int(
        AdminClient({"bootstrap.servers": servers, "log_level": 0})
        .list_topics(timeout=10)
        .controller_id
    )


def in_sync(zookeeper: KazooClient) -> list[int]:
    """As the leader has written it down; brokers that stand still could not be asked."""
    data, _ = zookeeper.get(f"/brokers/topics/{TOPIC}/partitions/0/state")
    found: list[int] = json.loads(data)["isr"]
    return found


def _fall_behind(
    zookeeper: KazooClient, leader: ClusterBroker, followers: list[ClusterBroker]
) -> None:
    here = leader.bootstrap_servers
    say(f"Brokers {[each.id for each in followers]} stand still")
    for follower in followers:
        follower.pause()
    expect(send_one(here, "second", "1"), "", "a record comes that they do not have")
    await_so(lambda: in_sync(zookeeper) == [leader.id], "only the leader is in sync")
    alive = sorted(map(int, zookeeper.get_children("/brokers/ids")))
    expect(alive, [0, 1, 2], "the others are alive, for ZooKeeper, but too far behind")
    refused = send_one(here, "refused", "all")
    check(refused.startswith("NOT_ENOUGH_REPLICAS"), f"acks=all is refused: {refused}")
    expect(send_one(here, "third", "1"), "", "acks=1 is still taken")
    texts = [record.text for record in read_topic(here, TOPIC)]
    expect(texts, ["first", "second", "third"], "and reads go on")


def _lose_the_leader(servers: str, leader: ClusterBroker, followers: list[ClusterBroker]) -> None:
    say(f"Broker {leader.id} goes, and the followers awake: none of them was in sync")
    leader.stop()
    for follower in followers:
        follower.resume()
    there = followers[0].bootstrap_servers
    await_partitions(there, TOPIC, "there is no leader", lambda each: each.leader == -1)
    where = ("--bootstrap-server", there, "--describe", "--unavailable-partitions")
    text = shell("kafka-topics", *where)
    check(f"Topic: {TOPIC}" in text, "the partition is offline: no follower is eligible")

    say(f"Broker {leader.id} comes back with everything that it had")
    leader.start()
    await_partitions(servers, TOPIC, "it leads again", lambda each: each.leader == leader.id)
    await_all_in_sync(servers, TOPIC)
    texts = [record.text for record in read_topic(servers, TOPIC)]
    expect(texts, ["first", "second", "third"], "nothing is lost, and all three are in sync")
    await_so(lambda: send_one(servers, "fourth", "all") == "", "acks=all is taken again")


if __name__ == "__main__":
    on_cluster(story)
