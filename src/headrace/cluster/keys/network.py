"""Settings of listeners, connections, threads and requests."""

from __future__ import annotations

from typing import Final

from headrace.cluster.config_types import (
    CLUSTER_WIDE,
    HIGH,
    INT,
    LIST,
    LONG,
    LOW,
    STRING,
    ConfigKey,
    at_least,
    one_of,
)

NETWORK_KEYS: Final = (
    ConfigKey(
        "advertised.listeners",
        LIST,
        None,
        "Addresses that clients connect to, when they differ from `listeners`: "
        "behind a proxy, in a container, in another network.",
        importance=HIGH,
    ),
    ConfigKey(
        "background.threads",
        INT,
        "10",
        "Threads for housekeeping work.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "connection.failed.authentication.delay.ms",
        INT,
        "100",
        "How long the answer to a failed authentication is held back, to slow down guessing.",
        at_least(0),
        LOW,
    ),
    ConfigKey(
        "connections.max.idle.ms",
        LONG,
        "600000",
        "A connection without traffic for this long is closed, and so is one whose client takes "
        "nothing of its answers for this long.",
    ),
    ConfigKey(
        "connections.max.reauth.ms",
        LONG,
        "0",
        "When positive, a SASL client must authenticate again within this time or is disconnected.",
    ),
    ConfigKey(
        "delete.records.purgatory.purge.interval.requests",
        INT,
        "1",
        "How many finished record deletions may wait in the purgatory before it is tidied.",
    ),
    ConfigKey(
        "early.start.listeners",
        LIST,
        None,
        "Listeners that may be served before the authorizer is ready.",
        importance=HIGH,
    ),
    ConfigKey(
        "fetch.max.bytes",
        INT,
        "57671680",
        "Upper bound of one fetch response, whatever the client asks for.",
        at_least(1024),
    ),
    ConfigKey(
        "fetch.purgatory.purge.interval.requests",
        INT,
        "1000",
        "How many finished fetches may wait in the purgatory before it is tidied.",
    ),
    ConfigKey(
        "inter.broker.listener.name",
        STRING,
        None,
        "The listener over which brokers talk to each other. Give either this or "
        "`security.inter.broker.protocol`.",
    ),
    ConfigKey(
        "listener.security.protocol.map",
        STRING,
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "Which security protocol each listener name stands for, as NAME:PROTOCOL pairs.",
        importance=LOW,
    ),
    ConfigKey(
        "listeners",
        LIST,
        "PLAINTEXT://:9092",
        "Addresses to listen on, as NAME://host:port. An empty host means all interfaces; "
        "several listeners serve several protocols at once.",
        importance=HIGH,
    ),
    ConfigKey(
        "max.connection.creation.rate",
        INT,
        "2147483647",
        "New connections per second that the broker accepts.",
        at_least(0),
        mode=CLUSTER_WIDE,
    ),
    ConfigKey(
        "max.connections",
        INT,
        "2147483647",
        "Connections that the broker holds at a time; never more than the process's limit of open "
        "files has room for.",
        at_least(0),
        mode=CLUSTER_WIDE,
    ),
    ConfigKey(
        "max.connections.per.ip",
        INT,
        "2147483647",
        "Connections that the broker holds at a time from one address.",
        at_least(0),
        mode=CLUSTER_WIDE,
    ),
    ConfigKey(
        "max.connections.per.ip.overrides",
        STRING,
        "",
        "Exceptions from `max.connections.per.ip`, as host:count pairs.",
        mode=CLUSTER_WIDE,
    ),
    ConfigKey(
        "max.incremental.fetch.session.cache.slots",
        INT,
        "1000",
        "Incremental fetch sessions that the broker remembers.",
        at_least(0),
    ),
    ConfigKey(
        "max.request.partition.size.limit",
        INT,
        "2000",
        "Partitions that one answer may describe; a client asks again for the rest.",
        at_least(1),
    ),
    ConfigKey(
        "num.io.threads",
        INT,
        "8",
        "Threads that work on requests, disk access included.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "num.network.threads",
        INT,
        "3",
        "Threads that move bytes between sockets and requests.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "producer.purgatory.purge.interval.requests",
        INT,
        "1000",
        "How many finished produces may wait in the purgatory before it is tidied.",
    ),
    ConfigKey(
        "queued.max.request.bytes",
        LONG,
        "-1",
        "Bytes of requests that may wait for a thread before reading from sockets pauses; -1 "
        "sets no limit.",
    ),
    ConfigKey(
        "queued.max.requests",
        INT,
        "500",
        "Unanswered requests of one connection before reading from it pauses; above 128 it makes "
        "no difference. Other connections are not affected.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "request.timeout.ms",
        INT,
        "30000",
        "How long the broker waits for an answer to a request of its own before trying again.",
        importance=HIGH,
    ),
    ConfigKey(
        "security.inter.broker.protocol",
        STRING,
        "PLAINTEXT",
        "Security protocol between brokers. Give either this or `inter.broker.listener.name`.",
        one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    ),
    ConfigKey(
        "socket.connection.setup.timeout.max.ms",
        LONG,
        "30000",
        "Longest wait for a connection of the broker's own to be made; waits grow up to this.",
    ),
    ConfigKey(
        "socket.connection.setup.timeout.ms",
        LONG,
        "10000",
        "First wait for a connection of the broker's own to be made.",
    ),
    ConfigKey(
        "socket.listen.backlog.size",
        INT,
        "50",
        "Connections that the operating system may queue before they are accepted.",
        at_least(1),
    ),
    ConfigKey(
        "socket.receive.buffer.bytes",
        INT,
        "102400",
        "Receive buffer of server sockets; -1 leaves it to the operating system.",
        importance=HIGH,
    ),
    ConfigKey(
        "socket.request.max.bytes",
        INT,
        "104857600",
        "Largest request; a size field above it closes the connection before any memory is taken.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "socket.send.buffer.bytes",
        INT,
        "102400",
        "Send buffer of server sockets; -1 leaves it to the operating system.",
        importance=HIGH,
    ),
)
