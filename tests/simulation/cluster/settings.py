"""How a simulated cluster is set up: drawn from its seed, in Kafka's own names.

Time-outs are those of a cluster in a hurry, so that a minute holds what else takes an hour.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from headrace.cluster.broker_config import BrokerConfig
from tests.simulation.applications import INPUT, OUTPUT, SIDE
from tests.simulation.storage import PATH

PLAIN: Final = "plain"
QUOTA_WINDOWS: Final = 3
RISKY: Final = "risky"


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """A topic as an administrator creates it."""

    partitions: int
    replication_factor: int
    min_in_sync: int
    allows_unclean: bool = False

    def configs(self, segment_bytes: int) -> dict[str, str]:
        return {
            "min.insync.replicas": str(self.min_in_sync),
            "unclean.leader.election.enable": str(self.allows_unclean).lower(),
            "segment.bytes": str(segment_bytes),
        }


@dataclass(frozen=True, slots=True)
class Settings:
    """What is the same in every life of every broker."""

    brokers: int
    loses_power: bool  # or brokers are only killed
    flushes: bool  # flush.messages=1
    session_timeout_ms: int
    fetch_wait_ms: int
    lag_max_ms: int
    segment_bytes: int
    internal_factor: int
    internal_min_in_sync: int
    offsets_partitions: int
    topics: dict[str, TopicPlan]

    @property
    def is_strict(self) -> bool:
        """Whether no committed record may ever be lost, except where it is allowed."""
        return self.flushes or not self.loses_power

    def min_in_sync(self, topic: str) -> int:
        plan = self.topics.get(topic)
        return self.internal_min_in_sync if plan is None else plan.min_in_sync

    def allows_unclean(self, topic: str) -> bool:
        plan = self.topics.get(topic)
        return plan is not None and plan.allows_unclean

    def of_broker(self, broker_id: int) -> BrokerConfig:
        values = {
            "broker.id": broker_id,
            "zookeeper.connect": "keeper:2181",
            "zookeeper.session.timeout.ms": self.session_timeout_ms,
            "log.dirs": PATH,
            "listeners": f"PLAINTEXT://b{broker_id}:9092",
            "auto.create.topics.enable": "false",
            "replica.fetch.wait.max.ms": self.fetch_wait_ms,
            "replica.lag.time.max.ms": self.lag_max_ms,
            "replica.socket.timeout.ms": self.fetch_wait_ms + 1_000,
            "replica.fetch.backoff.ms": 200,
            "num.replica.fetchers": 1,
            "log.index.interval.bytes": 400,
            # Replicas compact on their own, and could not be compared any more.
            "log.cleaner.enable": "false",
            "log.flush.interval.messages": 1 if self.flushes else (1 << 62),
            "offsets.topic.num.partitions": self.offsets_partitions,
            "offsets.topic.replication.factor": self.internal_factor,
            "transaction.state.log.num.partitions": 1,
            "transaction.state.log.replication.factor": self.internal_factor,
            "transaction.state.log.min.isr": self.internal_min_in_sync,
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
            "group.min.session.timeout.ms": 500,
            "group.initial.rebalance.delay.ms": 200,
            "group.consumer.session.timeout.ms": 2_500,
            "group.consumer.min.session.timeout.ms": 2_500,
            "group.consumer.heartbeat.interval.ms": 600,
            "group.consumer.min.heartbeat.interval.ms": 600,
            "group.share.session.timeout.ms": 2_500,
            "group.share.min.session.timeout.ms": 2_500,
            "group.share.heartbeat.interval.ms": 600,
            "group.share.min.heartbeat.interval.ms": 600,
            "group.share.min.record.lock.duration.ms": 1_000,
            "share.coordinator.state.topic.num.partitions": 1,
            "share.coordinator.state.topic.replication.factor": self.internal_factor,
            "share.coordinator.state.topic.min.isr": self.internal_min_in_sync,
            "min.insync.replicas": self.internal_min_in_sync,
            "controlled.shutdown.retry.backoff.ms": 300,
            "leader.imbalance.check.interval.seconds": 20,
            "quota.window.num": QUOTA_WINDOWS,
        }
        return BrokerConfig({key: str(value) for key, value in values.items()})


def draw_settings(rng: Random) -> Settings:
    brokers = rng.choice((3, 3, 3, 4, 5))
    loses_power = rng.random() < 0.6
    fetch_wait_ms, lag_max_ms = rng.choice(((400, 1_500), (1_500, 3_000), (4_000, 6_500)))
    factor = min(3, brokers)
    return Settings(
        brokers=brokers,
        loses_power=loses_power,
        flushes=loses_power and rng.random() < 0.6,
        session_timeout_ms=rng.choice((1_500, 3_000)),
        fetch_wait_ms=fetch_wait_ms,
        lag_max_ms=lag_max_ms,
        segment_bytes=rng.choice((1_500, 1 << 20)),
        internal_factor=factor,
        internal_min_in_sync=rng.choice((1, 2)),
        offsets_partitions=rng.choice((1, 2)),
        topics={
            INPUT: TopicPlan(rng.randint(1, 2), rng.choice((2, 3)), rng.choice((1, 2))),
            OUTPUT: TopicPlan(2, 3, rng.choice((1, 2))),
            SIDE: TopicPlan(1, 2, 1),
            PLAIN: TopicPlan(rng.randint(1, 2), 3, 2),
            RISKY: TopicPlan(1, rng.choice((2, 3)), 1, allows_unclean=True),
        },
    )
