"""Settings of transactions and producer ids."""

from __future__ import annotations

from typing import Final

from headrace.cluster.config_types import (
    BOOLEAN,
    CLUSTER_WIDE,
    HIGH,
    INT,
    LOW,
    SHORT,
    ConfigKey,
    at_least,
)

TRANSACTIONS_KEYS: Final = (
    ConfigKey(
        "add.partitions.to.txn.retry.backoff.max.ms",
        INT,
        "100",
        "Longest that the server itself retries to add a partition to a transaction whose "
        "predecessor is still ending.",
        at_least(0),
        HIGH,
    ),
    ConfigKey(
        "add.partitions.to.txn.retry.backoff.ms",
        INT,
        "20",
        "Pause between two such retries.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        INT,
        "10000",
        "How often transactions that have run out of time are aborted.",
        at_least(1),
        LOW,
    ),
    ConfigKey(
        "transaction.max.timeout.ms",
        INT,
        "900000",
        "Longest transaction timeout that a producer may ask for.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "transaction.partition.verification.enable",
        BOOLEAN,
        "true",
        "Whether a leader checks with the coordinator that a partition belongs to the "
        "transaction that writes to it.",
        importance=LOW,
        mode=CLUSTER_WIDE,
    ),
    ConfigKey(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        INT,
        "3600000",
        "How often expired transactional ids are removed.",
        at_least(1),
        LOW,
    ),
    ConfigKey(
        "transaction.state.log.load.buffer.size",
        INT,
        "5242880",
        "Bytes read at a time while transaction state is loaded.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "transaction.state.log.min.isr",
        INT,
        "2",
        "Setting `min.insync.replicas` of the transaction topic.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "transaction.state.log.num.partitions",
        INT,
        "50",
        "Partitions of the transaction topic. Not to be changed once it exists.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "transaction.state.log.replication.factor",
        SHORT,
        "3",
        "Replication factor of the transaction topic.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "transaction.state.log.segment.bytes",
        INT,
        "104857600",
        "Segment size of the transaction topic; small, so that it is compacted and loaded fast.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "transaction.two.phase.commit.enable",
        BOOLEAN,
        "false",
        "Whether a transaction may take part in a two-phase commit that an outside system decides.",
        importance=LOW,
    ),
    ConfigKey(
        "transactional.id.expiration.ms",
        INT,
        "604800000",
        "How long a transactional id without transactions is remembered.",
        at_least(1),
        HIGH,
    ),
)
