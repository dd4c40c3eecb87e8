"""failover: three brokers when one of them dies or restarts, all with replication factor 3.

A leader dies: kill -9 while a producer with acks=all keeps one record in flight per partition; the
gap is the longest time between two acknowledgements of a partition. Rolling restart: every broker
in turn is stopped with SIGTERM and started, until all replicas are in sync again; the gap is the
producer's. Controller: kill -9 of the controller with 2,000 partitions, until all of them are led
by brokers that live. Both systems are given the same six seconds to notice a dead broker.
"""

from __future__ import annotations

import time
from collections.abc import Collection

from benchmarks import admin, wire
from benchmarks.bench import Bench, Scenario
from benchmarks.clusters import Cluster
from benchmarks.table import Metric, Row
from benchmarks.unbroken import UnbrokenProducer

LEADER = Row("failover", "kill -9 of a leader", (Metric("gap", "s"),))
ROLL = Row("failover", "rolling restart", (Metric("seconds", "s"), Metric("gap", "s")))
CONTROLLER = Row("failover", "kill -9 of the controller", (Metric("seconds", "s"),))

_SESSION_MS = 6000
_PARTITIONS = 6
_FACTOR = 3
_MANY_PARTITIONS = 2000
_PARTITIONS_PER_TOPIC = 50
_CALM_S = 3
_SETTINGS = {"zookeeper.session.timeout.ms": str(_SESSION_MS)}


def run(bench: Bench, wanted: Collection[str]) -> None:
    for _ in bench.repetitions:
        for launcher in bench.launchers:
            with bench.cluster(launcher, _SETTINGS) as cluster:
                topic = admin.fresh_name("watched")
                admin.create_topics(cluster, [topic], _PARTITIONS, replication_factor=_FACTOR)
                _kill_leader(bench, cluster, topic)
                _roll(bench, cluster, topic)
                admin.delete_topics(cluster, [topic])
                _kill_controller(bench, cluster)


def _kill_leader(bench: Bench, cluster: Cluster, topic: str) -> None:
    with UnbrokenProducer(cluster.bootstrap, topic, _PARTITIONS) as producer:
        producer.run(_CALM_S)
        leader = wire.metadata(cluster.address, all_topics=True).leader_ids[topic][0]
        victim = cluster.brokers[leader]
        victim.kill()
        _wait_for_leaders(cluster, [topic], leader)
        producer.run(_CALM_S)
        bench.record(LEADER, cluster.name, {"gap": producer.longest_gap_s()})
    victim.launch()
    cluster.wait_for(victim)
    _wait_in_sync(cluster, topic)


def _roll(bench: Bench, cluster: Cluster, topic: str) -> None:
    with UnbrokenProducer(cluster.bootstrap, topic, _PARTITIONS) as producer:
        producer.run(_CALM_S)
        began = time.monotonic()
        for broker in cluster.brokers:
            broker.stop()
            broker.launch()
            cluster.wait_for(broker)
            _wait_in_sync(cluster, topic)
        seconds = time.monotonic() - began
        producer.run(_CALM_S)
        sample = {"seconds": seconds, "gap": producer.longest_gap_s()}
    bench.record(ROLL, cluster.name, sample)


def _kill_controller(bench: Bench, cluster: Cluster) -> None:
    partitions = bench.scaled(_MANY_PARTITIONS, at_least=_PARTITIONS_PER_TOPIC)
    topics = [admin.fresh_name("many") for _ in range(partitions // _PARTITIONS_PER_TOPIC)]
    for topic in topics:
        admin.create_topics(cluster, [topic], _PARTITIONS_PER_TOPIC, replication_factor=_FACTOR)
    for topic in topics:
        _wait_in_sync(cluster, topic)
    victim = cluster.controller()
    began = time.monotonic()
    victim.kill()
    _wait_for_leaders(cluster, topics, cluster.brokers.index(victim))
    bench.record(CONTROLLER, cluster.name, {"seconds": time.monotonic() - began})


def _wait_for_leaders(cluster: Cluster, topics: list[str], dead: int) -> None:
    """Until every partition of these topics is led by somebody who lives."""

    def led_by_the_living() -> bool:
        told = wire.metadata(cluster.address, all_topics=True)
        return all(
            told.leaders.get(topic, False) and dead not in told.leader_ids[topic]
            for topic in topics
        )

    cluster.wait_until(led_by_the_living, what=f"new leaders of {len(topics)} topics")


def _wait_in_sync(cluster: Cluster, topic: str) -> None:
    client = admin.connect(cluster)

    def is_whole() -> bool:
        partitions = client.list_topics(topic, timeout=10).topics[topic].partitions.values()
        return all(len(each.isrs) == _FACTOR for each in partitions)

    cluster.wait_until(is_whole, what=f"replicas of {topic} in sync")


SCENARIO = Scenario((LEADER, ROLL, CONTROLLER), run)
