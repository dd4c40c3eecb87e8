"""Settings of a topic.

A topic key that is not set on the topic takes the value of its broker keys, which often have other
names and sometimes other units: `TOPIC_SYNONYMS` lists them in the order in which they are asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from headrace.cluster.config_types import (
    BOOLEAN,
    CLUSTER_WIDE,
    DOUBLE,
    FOREVER,
    HIGH,
    INT,
    LIST,
    LONG,
    STRING,
    Allowed,
    ConfigKey,
    at_least,
    between,
    list_of,
    matching,
    one_of,
)

_THROTTLED_REPLICAS: Final = matching(
    r"\*|[0-9]+:[0-9]+", "'*', or a list of partition:broker such as 0:1,1:2"
)

TOPIC_KEYS: Final = (
    ConfigKey(
        "cleanup.policy",
        LIST,
        "delete",
        "What happens to old segments: `delete` drops them by age or size, `compact` keeps the "
        "latest record of every key, both together do both. Empty keeps everything.",
        list_of("compact", "delete"),
    ),
    ConfigKey(
        "compression.gzip.level",
        INT,
        "-1",
        "Level used when the broker itself compresses with gzip; -1 is the library's own choice.",
        Allowed("1 to 9, or -1", lambda value: value == -1 or 1 <= value <= 9),
    ),
    ConfigKey(
        "compression.lz4.level",
        INT,
        "9",
        "Level used when the broker itself compresses with lz4.",
        between(1, 17),
    ),
    ConfigKey(
        "compression.type",
        STRING,
        "producer",
        "Codec of the stored batches. `producer` keeps each batch as it arrived; any other value "
        "makes the broker compress again what arrives in another codec.",
        one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    ),
    ConfigKey(
        "compression.zstd.level",
        INT,
        "3",
        "Level used when the broker itself compresses with zstd.",
        between(-131072, 22),
    ),
    ConfigKey(
        "delete.retention.ms",
        LONG,
        "86400000",
        "How long a compacted topic keeps tombstones, so that a reader that starts within this "
        "time still sees every deletion.",
        at_least(0),
    ),
    ConfigKey(
        "file.delete.delay.ms",
        LONG,
        "60000",
        "Wait between renaming a segment to `.deleted` and removing its files.",
        at_least(0),
    ),
    ConfigKey(
        "flush.messages",
        LONG,
        FOREVER,
        "Force the log to disk after this many messages. By default the operating system decides "
        "and replication protects what is not yet on disk.",
        at_least(1),
    ),
    ConfigKey(
        "flush.ms",
        LONG,
        FOREVER,
        "Force the log to disk when a message has waited this long.",
        at_least(0),
    ),
    ConfigKey(
        "follower.replication.throttled.replicas",
        LIST,
        "",
        "Replicas whose fetching is throttled while partitions move, as partition:broker pairs; "
        "`*` means all of the topic.",
        _THROTTLED_REPLICAS,
    ),
    ConfigKey(
        "index.interval.bytes",
        INT,
        "4096",
        "Add an entry to the offset index after about this many bytes of log. Smaller values make "
        "reads jump closer and indexes larger.",
        at_least(0),
    ),
    ConfigKey(
        "leader.replication.throttled.replicas",
        LIST,
        "",
        "Replicas whose serving to followers is throttled while partitions move, as "
        "partition:broker pairs; `*` means all of the topic.",
        _THROTTLED_REPLICAS,
    ),
    ConfigKey(
        "local.retention.bytes",
        LONG,
        "-2",
        "Size of the part of a tiered log that stays on the broker; -2 means `retention.bytes`. "
        "Without tiered storage it has no effect.",
        at_least(-2),
    ),
    ConfigKey(
        "local.retention.ms",
        LONG,
        "-2",
        "Age of the part of a tiered log that stays on the broker; -2 means `retention.ms`. "
        "Without tiered storage it has no effect.",
        at_least(-2),
    ),
    ConfigKey(
        "max.compaction.lag.ms",
        LONG,
        FOREVER,
        "Longest time that a record may stay uncompacted in a compacted topic.",
        at_least(1),
    ),
    ConfigKey(
        "max.message.bytes",
        INT,
        "1048588",
        "Largest record batch, after compression, that the topic accepts.",
        at_least(0),
    ),
    ConfigKey(
        "message.timestamp.after.max.ms",
        LONG,
        "3600000",
        "How far a producer's timestamp may lie in the future of the broker's clock. Ignored with "
        "LogAppendTime.",
        at_least(0),
    ),
    ConfigKey(
        "message.timestamp.before.max.ms",
        LONG,
        FOREVER,
        "How far a producer's timestamp may lie in the past of the broker's clock. Ignored with "
        "LogAppendTime.",
        at_least(0),
    ),
    ConfigKey(
        "message.timestamp.type",
        STRING,
        "CreateTime",
        "Whether records keep the time that their producer gave them or get the broker's time of "
        "append. `0` and `1` are taken for CreateTime and LogAppendTime.",
        one_of("CreateTime", "LogAppendTime"),
        aliases={"0": "CreateTime", "1": "LogAppendTime"},
    ),
    ConfigKey(
        "min.cleanable.dirty.ratio",
        DOUBLE,
        "0.5",
        "Share of a compacted log that must be uncompacted before the cleaner takes it up. Lower "
        "values clean more often and waste less space.",
        between(0, 1),
    ),
    ConfigKey(
        "min.compaction.lag.ms",
        LONG,
        "0",
        "Shortest time that a record stays uncompacted in a compacted topic.",
        at_least(0),
    ),
    ConfigKey(
        "min.insync.replicas",
        INT,
        "1",
        "With acks=all, the number of in-sync replicas below which writes are refused. Reads "
        "and other acks are not affected.",
        at_least(1),
    ),
    ConfigKey(
        "preallocate",
        BOOLEAN,
        "false",
        "Reserve the whole segment on disk when it is created.",
    ),
    ConfigKey(
        "remote.log.copy.disable",
        BOOLEAN,
        "false",
        "Stop copying segments of a tiered topic. Without tiered storage it has no effect.",
    ),
    ConfigKey(
        "remote.log.delete.on.disable",
        BOOLEAN,
        "false",
        "Remove what was tiered when tiering is switched off. Without tiered storage it has no "
        "effect.",
    ),
    ConfigKey(
        "remote.storage.enable",
        BOOLEAN,
        "false",
        "Keep old segments in remote storage. There is no tiered storage here: `true` is refused.",
    ),
    ConfigKey(
        "retention.bytes",
        LONG,
        "-1",
        "With cleanup policy `delete`, the size of a partition above which its oldest segments "
        "go; -1 sets no limit.",
    ),
    ConfigKey(
        "retention.ms",
        LONG,
        "604800000",
        "With cleanup policy `delete`, the age above which segments go; -1 keeps them for ever.",
        at_least(-1),
    ),
    ConfigKey(
        "segment.bytes",
        INT,
        "1073741824",
        "Size at which a new segment is begun. Retention and compaction work on whole segments. "
        "Values below 1 MiB, which Kafka 4 refuses, are taken.",
        # Kafka 4 refuses segments below 1 MiB. Lessons on retention and compaction use tiny ones,
        # which Kafka took until 3.9, and nothing here suffers from them.
        at_least(14),
    ),
    ConfigKey(
        "segment.index.bytes",
        INT,
        "10485760",
        "Largest size of an index file; a segment whose index is full is rolled.",
        at_least(4),
    ),
    ConfigKey(
        "segment.jitter.ms",
        LONG,
        "0",
        "Random time, at most this long, by which rolling is brought forward, so that not all "
        "partitions roll in the same moment.",
        at_least(0),
    ),
    ConfigKey(
        "segment.ms",
        LONG,
        "604800000",
        "Age at which a new segment is begun even if the old one is not full.",
        at_least(1),
    ),
    ConfigKey(
        "unclean.leader.election.enable",
        BOOLEAN,
        "false",
        "Whether a replica that is not in sync may lead when no other is left. It brings the "
        "partition back and may lose acknowledged records.",
    ),
)


@dataclass(frozen=True, slots=True)
class Synonym:
    """A broker key that gives a topic key its value; `unit` converts it to the topic key's."""

    name: str
    unit: int = 1


MINUTE_MS: Final = 60_000
HOUR_MS: Final = 3_600_000

TOPIC_SYNONYMS: Final[dict[str, tuple[Synonym, ...]]] = {
    "cleanup.policy": (Synonym("log.cleanup.policy"),),
    "compression.gzip.level": (Synonym("compression.gzip.level"),),
    "compression.lz4.level": (Synonym("compression.lz4.level"),),
    "compression.type": (Synonym("compression.type"),),
    "compression.zstd.level": (Synonym("compression.zstd.level"),),
    "delete.retention.ms": (Synonym("log.cleaner.delete.retention.ms"),),
    "file.delete.delay.ms": (Synonym("log.segment.delete.delay.ms"),),
    "flush.messages": (Synonym("log.flush.interval.messages"),),
    "flush.ms": (Synonym("log.flush.interval.ms"), Synonym("log.flush.scheduler.interval.ms")),
    "index.interval.bytes": (Synonym("log.index.interval.bytes"),),
    "local.retention.bytes": (Synonym("log.local.retention.bytes"),),
    "local.retention.ms": (Synonym("log.local.retention.ms"),),
    "max.compaction.lag.ms": (Synonym("log.cleaner.max.compaction.lag.ms"),),
    "max.message.bytes": (Synonym("message.max.bytes"),),
    "message.timestamp.after.max.ms": (Synonym("log.message.timestamp.after.max.ms"),),
    "message.timestamp.before.max.ms": (Synonym("log.message.timestamp.before.max.ms"),),
    "message.timestamp.type": (Synonym("log.message.timestamp.type"),),
    "min.cleanable.dirty.ratio": (Synonym("log.cleaner.min.cleanable.ratio"),),
    "min.compaction.lag.ms": (Synonym("log.cleaner.min.compaction.lag.ms"),),
    "min.insync.replicas": (Synonym("min.insync.replicas"),),
    "preallocate": (Synonym("log.preallocate"),),
    "retention.bytes": (Synonym("log.retention.bytes"),),
    "retention.ms": (
        Synonym("log.retention.ms"),
        Synonym("log.retention.minutes", MINUTE_MS),
        Synonym("log.retention.hours", HOUR_MS),
    ),
    "segment.bytes": (Synonym("log.segment.bytes"),),
    "segment.index.bytes": (Synonym("log.index.size.max.bytes"),),
    "segment.jitter.ms": (
        Synonym("log.roll.jitter.ms"),
        Synonym("log.roll.jitter.hours", HOUR_MS),
    ),
    "segment.ms": (Synonym("log.roll.ms"), Synonym("log.roll.hours", HOUR_MS)),
    "unclean.leader.election.enable": (Synonym("unclean.leader.election.enable"),),
}

# Broker keys that stand for each other, the strongest first: every member of a chain has it. The
# flush scheduler's period is a setting of its own that only lends its value.
BROKER_SYNONYMS: Final[dict[str, tuple[Synonym, ...]]] = {
    member.name: chain
    for chain in TOPIC_SYNONYMS.values()
    if len(chain) > 1
    for member in chain
    if member.name != "log.flush.scheduler.interval.ms"
}

_HIGH: Final = {
    "compression.type",
    "file.delete.delay.ms",
    "flush.messages",
    "max.message.bytes",
    "min.insync.replicas",
    "retention.bytes",
    "segment.bytes",
    "unclean.leader.election.enable",
}
_DOCUMENTATION: Final = {
    "compression.type": "Codec of stored batches for topics that set none; `producer` keeps "
    "batches as they arrive.",
    "max.message.bytes": "Largest record batch, after compression, for topics that set no "
    "`max.message.bytes`.",
    "message.timestamp.type": "Default of the topic key `message.timestamp.type`; `0` and `1` are "
    "taken too.",
    "segment.bytes": "Default of the topic key `segment.bytes`. Values below 1 MiB, which Kafka 4 "
    "refuses, are taken.",
}


def _broker_default(key: ConfigKey, name: str) -> ConfigKey:
    """The broker key that is the default of a topic key: the same under another name."""
    topic_key = "of the same name" if name == key.name else f"`{key.name}`"
    documentation = _DOCUMENTATION.get(key.name, f"Default of the topic key {topic_key}.")
    importance = HIGH if key.name in _HIGH else key.importance
    return replace(
        key, name=name, documentation=documentation, importance=importance, mode=CLUSTER_WIDE
    )


TOPIC_DEFAULT_KEYS: Final = tuple(
    _broker_default(key, chain[0].name)
    for key in TOPIC_KEYS
    if len(chain := TOPIC_SYNONYMS.get(key.name, ())) == 1
)
"""Broker keys that need no declaration of their own. Those with other units have one each."""
