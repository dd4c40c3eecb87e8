"""Settings of the broker's identity, of topics it creates, of replication and of the controller."""

from __future__ import annotations

from typing import Final

from headrace.cluster.config_types import (
    BOOLEAN,
    CLUSTER_WIDE,
    HIGH,
    INT,
    LONG,
    STRING,
    ConfigKey,
    at_least,
)

REPLICATION_KEYS: Final = (
    ConfigKey(
        "auto.create.topics.enable",
        BOOLEAN,
        "true",
        "Whether an unknown topic is created with the broker's defaults when a client first "
        "names it.",
        importance=HIGH,
    ),
    ConfigKey(
        "auto.leader.rebalance.enable",
        BOOLEAN,
        "true",
        "Whether leadership goes back to preferred replicas by itself.",
        importance=HIGH,
    ),
    ConfigKey(
        "broker.heartbeat.interval.ms",
        INT,
        "2000",
        "How often a broker sends a heartbeat to the controller.",
    ),
    ConfigKey(
        "broker.id",
        INT,
        "-1",
        "The broker's number, unique in the cluster; -1 lets the cluster choose one. "
        "`node.id` is the same.",
        importance=HIGH,
    ),
    ConfigKey(
        "broker.rack",
        STRING,
        None,
        "Rack or availability zone of the broker; replicas are spread over racks.",
    ),
    ConfigKey(
        "broker.session.timeout.ms",
        INT,
        "9000",
        "A broker that is silent for this long is taken to be dead.",
    ),
    ConfigKey(
        "controlled.shutdown.enable",
        BOOLEAN,
        "true",
        "Whether a broker hands its leaderships over before it stops.",
    ),
    ConfigKey(
        "controller.socket.timeout.ms",
        INT,
        "30000",
        "How long requests between controller and brokers may take.",
    ),
    ConfigKey(
        "default.replication.factor",
        INT,
        "1",
        "Replication factor of topics created without one.",
    ),
    ConfigKey(
        "delete.topic.enable",
        BOOLEAN,
        "true",
        "Whether topics can be deleted at all.",
        importance=HIGH,
    ),
    ConfigKey(
        "initial.broker.registration.timeout.ms",
        INT,
        "60000",
        "How long a starting broker tries to register before it gives up.",
    ),
    ConfigKey(
        "leader.imbalance.check.interval.seconds",
        LONG,
        "300",
        "How often the controller checks whether leadership has drifted from preferred replicas.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "node.id",
        INT,
        None,
        "The same as `broker.id`, and stronger; Kafka 4 knows only this name.",
        at_least(0),
        HIGH,
    ),
    ConfigKey(
        "num.partitions",
        INT,
        "1",
        "Number of partitions of topics created without one.",
        at_least(1),
    ),
    ConfigKey(
        "num.replica.fetchers",
        INT,
        "1",
        "Parallel fetchers to each broker that this one replicates from.",
        at_least(1),
        HIGH,
        CLUSTER_WIDE,
    ),
    ConfigKey(
        "replica.fetch.backoff.ms",
        INT,
        "1000",
        "Pause after an error while replicating a partition.",
        at_least(0),
    ),
    ConfigKey(
        "replica.fetch.max.bytes",
        INT,
        "1048576",
        "Bytes per partition that a follower asks for; a larger first batch is delivered whole.",
        at_least(0),
    ),
    ConfigKey(
        "replica.fetch.min.bytes",
        INT,
        "1",
        "Bytes that a leader should have before it answers a follower; it waits at most "
        "`replica.fetch.wait.max.ms`.",
        importance=HIGH,
    ),
    ConfigKey(
        "replica.fetch.response.max.bytes",
        INT,
        "10485760",
        "Bytes that a follower asks for in one fetch.",
        at_least(0),
    ),
    ConfigKey(
        "replica.fetch.wait.max.ms",
        INT,
        "500",
        "How long a leader may hold a follower's fetch. Keep it below `replica.lag.time.max.ms`.",
        importance=HIGH,
    ),
    ConfigKey(
        "replica.high.watermark.checkpoint.interval.ms",
        LONG,
        "5000",
        "How often high watermarks are written down.",
        importance=HIGH,
    ),
    ConfigKey(
        "replica.lag.time.max.ms",
        LONG,
        "30000",
        "A follower that has not caught up for this long leaves the in-sync replicas.",
        importance=HIGH,
    ),
    ConfigKey(
        "replica.selector.class",
        STRING,
        None,
        "Chooses the replica that a consumer reads from. Without one it is always the leader.",
    ),
    ConfigKey(
        "replica.socket.receive.buffer.bytes",
        INT,
        "65536",
        "Receive buffer of the sockets that followers fetch through.",
        importance=HIGH,
    ),
    ConfigKey(
        "replica.socket.timeout.ms",
        INT,
        "30000",
        "How long a follower's request may take; at least `replica.fetch.wait.max.ms`.",
        importance=HIGH,
    ),
)
