"""Settings of group coordination: offsets, classic, consumer and share groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from headrace.cluster.config_types import (
    CLUSTER_WIDE,
    HIGH,
    INT,
    LIST,
    LONG,
    SHORT,
    STRING,
    ConfigKey,
    at_least,
    between,
    list_of,
    one_of_in_any_case,
)

_NOT_NEGATIVE: Final = (at_least(0), at_least(0))
_POSITIVE: Final = (at_least(1), at_least(1))

# What a group may set, the limits by default, and what each limit may be.
_LIMITS: Final = (
    ("consumer.assignment.interval.ms", "assignment interval", 0, 15000, _NOT_NEGATIVE),
    ("consumer.heartbeat.interval.ms", "heartbeat interval", 5000, 15000, _POSITIVE),
    ("consumer.session.timeout.ms", "session timeout", 45000, 60000, _POSITIVE),
    ("share.assignment.interval.ms", "assignment interval", 0, 15000, _NOT_NEGATIVE),
    ("share.delivery.count.limit", "delivery count limit", 2, 10, (between(2, 5), between(5, 25))),
    ("share.heartbeat.interval.ms", "heartbeat interval", 5000, 15000, _POSITIVE),
    (
        "share.partition.max.record.locks",
        "number of record locks per partition",
        *(100, 4000, (between(100, 2000), between(2000, 10000))),
    ),
    (
        "share.record.lock.duration.ms",
        "duration of a record lock",
        *(15000, 60000, (between(1000, 30000), between(30000, 3600000))),
    ),
    ("share.session.timeout.ms", "session timeout", 45000, 60000, _POSITIVE),
)


def _limits() -> Iterator[ConfigKey]:
    for name, what, lowest, highest, allowed in _LIMITS:
        kind, setting = name.split(".", 1)
        for edge, word, limit, rule in zip(
            ("min", "max"), ("Smallest", "Largest"), (lowest, highest), allowed, strict=True
        ):
            documentation = f"{word} {what} that a {kind} group may set."
            yield ConfigKey(f"group.{kind}.{edge}.{setting}", INT, str(limit), documentation, rule)


GROUPS_KEYS: Final = (
    ConfigKey(
        "group.consumer.assignment.interval.ms",
        INT,
        "1000",
        "Shortest time between two assignments of a consumer group.",
        at_least(0),
        mode=CLUSTER_WIDE,
    ),
    ConfigKey(
        "group.consumer.assignors",
        LIST,
        "uniform,range",
        "Assignors that the server offers to consumer groups; the first is the default.",
    ),
    ConfigKey(
        "group.consumer.heartbeat.interval.ms",
        INT,
        "5000",
        "Heartbeat interval given to members of consumer groups.",
        at_least(1),
    ),
    ConfigKey(
        "group.consumer.max.size",
        INT,
        "2147483647",
        "Largest number of members of a consumer group.",
        at_least(1),
    ),
    ConfigKey(
        "group.consumer.migration.policy",
        STRING,
        "bidirectional",
        "Whether a group may change between the classic and the consumer protocol while it "
        "has members.",
        one_of_in_any_case("disabled", "downgrade", "upgrade", "bidirectional"),
    ),
    ConfigKey(
        "group.consumer.session.timeout.ms",
        INT,
        "45000",
        "A member of a consumer group that is silent for this long is removed.",
        at_least(1),
    ),
    ConfigKey(
        "group.coordinator.append.linger.ms",
        INT,
        "-1",
        "How long writes to the offsets topic are collected; -1 adapts to the load.",
        at_least(-1),
    ),
    ConfigKey(
        "group.coordinator.background.threads",
        INT,
        "2",
        "Threads for the slow work of the group coordinator.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "group.coordinator.cached.buffer.max.bytes",
        INT,
        "1048588",
        "Largest buffer that the group coordinator keeps for the next write.",
        at_least(524288),
    ),
    ConfigKey(
        "group.coordinator.rebalance.protocols",
        LIST,
        "classic,consumer,streams",
        "Group protocols that are served.",
        list_of("consumer", "classic", "share", "streams"),
    ),
    ConfigKey(
        "group.coordinator.threads",
        INT,
        "4",
        "Threads of the group coordinator.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "group.initial.rebalance.delay.ms",
        INT,
        "3000",
        "How long a new classic group waits for more members before its first assignment.",
    ),
    ConfigKey(
        "group.max.session.timeout.ms",
        INT,
        "1800000",
        "Largest session timeout that a member of a classic group may ask for.",
    ),
    ConfigKey(
        "group.max.size",
        INT,
        "2147483647",
        "Largest number of members of a classic group.",
        at_least(1),
    ),
    ConfigKey(
        "group.min.session.timeout.ms",
        INT,
        "6000",
        "Smallest session timeout that a member of a classic group may ask for.",
    ),
    ConfigKey(
        "group.share.assignment.interval.ms",
        INT,
        "1000",
        "Shortest time between two assignments of a share group.",
        at_least(0),
        mode=CLUSTER_WIDE,
    ),
    ConfigKey(
        "group.share.assignors",
        LIST,
        "simple",
        "Assignors that the server offers to share groups.",
    ),
    ConfigKey(
        "group.share.delivery.count.limit",
        INT,
        "5",
        "How often a record is delivered in a share group before it is given up.",
        between(2, 10),
    ),
    ConfigKey(
        "group.share.heartbeat.interval.ms",
        INT,
        "5000",
        "Heartbeat interval given to members of share groups.",
        at_least(1),
    ),
    ConfigKey(
        "group.share.max.share.sessions",
        INT,
        "2000",
        "Share sessions that the broker remembers.",
        at_least(1),
    ),
    ConfigKey(
        "group.share.max.size",
        INT,
        "200",
        "Largest number of members of a share group.",
        between(1, 1000),
    ),
    ConfigKey(
        "group.share.partition.max.record.locks",
        INT,
        "2000",
        "Records of a partition that may be locked by a share group at a time.",
        between(100, 10000),
    ),
    ConfigKey(
        "group.share.record.lock.duration.ms",
        INT,
        "30000",
        "How long a record that was delivered to a member of a share group stays locked.",
        between(1000, 3600000),
    ),
    ConfigKey(
        "group.share.session.timeout.ms",
        INT,
        "45000",
        "A member of a share group that is silent for this long is removed.",
        at_least(1),
    ),
    ConfigKey(
        "offset.metadata.max.bytes",
        INT,
        "4096",
        "Largest metadata text that may be committed with an offset.",
        importance=HIGH,
    ),
    ConfigKey(
        "offsets.commit.timeout.ms",
        INT,
        "5000",
        "How long a commit may wait for the replicas of the offsets topic.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "offsets.load.buffer.size",
        INT,
        "5242880",
        "Bytes read at a time while offsets are loaded.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "offsets.retention.check.interval.ms",
        LONG,
        "600000",
        "How often the broker looks for expired offsets.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "offsets.retention.minutes",
        INT,
        "10080",
        "How long offsets are kept after the last member of their group has left.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "offsets.topic.compression.codec",
        INT,
        "0",
        "Codec of the offsets topic as a number: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
        importance=HIGH,
    ),
    ConfigKey(
        "offsets.topic.num.partitions",
        INT,
        "50",
        "Partitions of the offsets topic. Not to be changed once it exists.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "offsets.topic.replication.factor",
        SHORT,
        "3",
        "Replication factor of the offsets topic.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "offsets.topic.segment.bytes",
        INT,
        "104857600",
        "Segment size of the offsets topic; small, so that it is compacted and loaded fast.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "share.coordinator.append.linger.ms",
        INT,
        "-1",
        "How long writes to the share-group state topic are collected; -1 adapts to the load.",
        at_least(-1),
    ),
    ConfigKey(
        "share.coordinator.cached.buffer.max.bytes",
        INT,
        "1048588",
        "Largest buffer that the share coordinator keeps for the next write.",
        at_least(524288),
    ),
    ConfigKey(
        "share.coordinator.load.buffer.size",
        INT,
        "5242880",
        "Bytes read at a time while share-group state is loaded.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "share.coordinator.snapshot.update.records.per.snapshot",
        INT,
        "500",
        "Updates of a share partition between two snapshots.",
        between(0, 500),
    ),
    ConfigKey(
        "share.coordinator.state.topic.compression.codec",
        INT,
        "0",
        "Codec of the share-group state topic as a number.",
        importance=HIGH,
    ),
    ConfigKey(
        "share.coordinator.state.topic.min.isr",
        SHORT,
        "2",
        "Setting `min.insync.replicas` of the share-group state topic.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "share.coordinator.state.topic.num.partitions",
        INT,
        "50",
        "Partitions of the share-group state topic. Not to be changed once it exists.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "share.coordinator.state.topic.replication.factor",
        SHORT,
        "3",
        "Replication factor of the share-group state topic.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "share.coordinator.state.topic.segment.bytes",
        INT,
        "104857600",
        "Segment size of the share-group state topic.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "share.coordinator.threads",
        INT,
        "1",
        "Threads of the share coordinator.",
        at_least(1),
    ),
    ConfigKey(
        "share.coordinator.write.timeout.ms",
        INT,
        "5000",
        "How long a write of the share coordinator may wait for replicas.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "share.fetch.purgatory.purge.interval.requests",
        INT,
        "1000",
        "How many finished share fetches may wait in the purgatory before it is tidied.",
    ),
    *_limits(),
)
