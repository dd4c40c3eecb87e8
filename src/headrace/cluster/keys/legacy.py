"""Settings that Kafka 4 no longer has and that an old server.properties may still carry.

Some still do their work here: the legacy listener keys, the generation of broker ids, the
encryption of dynamic passwords and the address of ZooKeeper. The others are read, checked and have
no effect; their text says so.
"""

from __future__ import annotations

from typing import Final

from headrace.cluster.config_types import (
    BOOLEAN,
    FOREVER,
    HIGH,
    INT,
    LIST,
    LONG,
    LOW,
    PASSWORD,
    SHORT,
    STRING,
    Allowed,
    ConfigKey,
    at_least,
    between,
    one_of,
)
from headrace.credentials.password_encoder import CBC, GCM, KEY_FACTORIES, KEY_LENGTHS

LEGACY_KEYS: Final = (
    ConfigKey(
        "advertised.host.name",
        STRING,
        None,
        "Host that clients connect to. Used only if `advertised.listeners` is not set.",
    ),
    ConfigKey(
        "advertised.port",
        INT,
        None,
        "Port that clients connect to. Used only if `advertised.listeners` is not set.",
        between(0, 65535),
    ),
    ConfigKey(
        "broker.id.generation.enable",
        BOOLEAN,
        "true",
        "Whether a broker whose id is -1 gets one from the cluster, above "
        "`reserved.broker.max.id`.",
    ),
    ConfigKey(
        "control.plane.listener.name",
        STRING,
        None,
        "The listener for traffic between controller and brokers. Without it they share the "
        "inter-broker listener.",
    ),
    ConfigKey(
        "controlled.shutdown.max.retries",
        INT,
        "3",
        "How often a broker asks to hand over its leaderships before it stops regardless.",
    ),
    ConfigKey(
        "controlled.shutdown.retry.backoff.ms",
        LONG,
        "5000",
        "Pause between two such attempts.",
    ),
    ConfigKey(
        "delegation.token.master.key",
        PASSWORD,
        None,
        "Old name of `delegation.token.secret.key`.",
    ),
    ConfigKey(
        "host.name",
        STRING,
        "",
        "Host to listen on; empty means all interfaces. Used only if `listeners` is not set.",
    ),
    ConfigKey(
        "inter.broker.protocol.version",
        STRING,
        None,
        "Version that brokers spoke among each other during a rolling upgrade. It has no effect.",
    ),
    ConfigKey(
        "kafka.metrics.polling.interval.secs",
        INT,
        "10",
        "Period of Kafka's old metrics reporters. It has no effect.",
        at_least(1),
        LOW,
    ),
    ConfigKey(
        "kafka.metrics.reporters",
        LIST,
        "",
        "Kafka's old metrics reporters. It has no effect: metrics are served over HTTP.",
        importance=LOW,
    ),
    ConfigKey(
        "leader.imbalance.per.broker.percentage",
        INT,
        "10",
        "Share of a broker's leaderships, in percent, that may be away from their preferred "
        "replicas before the controller moves them back.",
        importance=HIGH,
    ),
    ConfigKey(
        "log.message.downconversion.enable",
        BOOLEAN,
        "true",
        "Whether batches were rewritten for clients older than Kafka 0.11. It has no effect: such "
        "clients are not served.",
    ),
    ConfigKey(
        "log.message.format.version",
        STRING,
        None,
        "Format in which batches were stored. It has no effect: the format is always version 2.",
    ),
    ConfigKey(
        "log.message.timestamp.difference.max.ms",
        LONG,
        FOREVER,
        "Old bound for timestamps; `log.message.timestamp.before.max.ms` and "
        "`log.message.timestamp.after.max.ms` have replaced it. It has no effect.",
        at_least(0),
    ),
    ConfigKey(
        "offsets.commit.required.acks",
        SHORT,
        "-1",
        "Acknowledgements that a commit needed. It has no effect: all in-sync replicas must have "
        "it.",
    ),
    ConfigKey(
        "password.encoder.cipher.algorithm",
        STRING,
        CBC,
        "Cipher with which dynamic passwords are encrypted.",
        one_of(CBC, GCM),
        LOW,
    ),
    ConfigKey(
        "password.encoder.iterations",
        INT,
        "4096",
        "Iterations with which the key for dynamic passwords is derived from the secret.",
        at_least(1024),
        LOW,
    ),
    ConfigKey(
        "password.encoder.key.length",
        INT,
        "128",
        "Bits of the key for dynamic passwords.",
        Allowed("one of 128, 192, 256", lambda value: value in KEY_LENGTHS),
        LOW,
    ),
    ConfigKey(
        "password.encoder.keyfactory.algorithm",
        STRING,
        "PBKDF2WithHmacSHA512",
        "Algorithm that derives the key for dynamic passwords from the secret.",
        one_of(*KEY_FACTORIES),
        LOW,
    ),
    ConfigKey(
        "password.encoder.old.secret",
        PASSWORD,
        None,
        "The secret before a change of `password.encoder.secret`. At its start the broker encrypts "
        "its dynamic passwords with the new one.",
    ),
    ConfigKey(
        "password.encoder.secret",
        PASSWORD,
        None,
        "Secret with which dynamic passwords are encrypted before they are stored; the same on "
        "every broker. Without it passwords can be set in server.properties only.",
    ),
    ConfigKey(
        "port",
        INT,
        "9092",
        "Port to listen on. Used only if `listeners` is not set.",
        between(0, 65535),
        HIGH,
    ),
    ConfigKey(
        "quota.consumer.default",
        LONG,
        FOREVER,
        "Bytes per second that a client may fetch unless a quota says otherwise.",
        at_least(1),
    ),
    ConfigKey(
        "quota.producer.default",
        LONG,
        FOREVER,
        "Bytes per second that a client may produce unless a quota says otherwise.",
        at_least(1),
    ),
    ConfigKey(
        "replica.lag.max.messages",
        LONG,
        "4000",
        "Messages that a follower might lag behind. It has no effect: only the time counts.",
    ),
    ConfigKey(
        "reserved.broker.max.id",
        INT,
        "1000",
        "Largest broker id that is given out by hand; generated ids lie above it.",
        at_least(0),
    ),
    ConfigKey(
        "zookeeper.connect",
        STRING,
        None,
        "ZooKeeper servers as host:port pairs, with an optional path at the end; several brokers "
        "share their state there. Without it a single broker keeps it in its data folder.",
        importance=HIGH,
    ),
    ConfigKey(
        "zookeeper.connection.timeout.ms",
        INT,
        None,
        "How long to wait for ZooKeeper at start; if unset, the session timeout.",
        importance=HIGH,
    ),
    ConfigKey(
        "zookeeper.max.in.flight.requests",
        INT,
        "10",
        "Requests to ZooKeeper that may be unanswered at a time.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "zookeeper.session.timeout.ms",
        INT,
        "18000",
        "A broker that ZooKeeper has not heard of for this long is taken to be dead.",
        importance=HIGH,
    ),
    ConfigKey(
        "zookeeper.set.acl",
        BOOLEAN,
        "false",
        "Whether the nodes in ZooKeeper are protected against everybody but brokers.",
        importance=HIGH,
    ),
    ConfigKey(
        "zookeeper.sync.time.ms",
        INT,
        "2000",
        "How far a ZooKeeper follower might lag. It has no effect.",
        importance=LOW,
    ),
)
