"""The settings of one log, as values: Kafka's topic-level keys with dots written as underscores.

Where a value comes from (topic, broker, built-in default) is decided elsewhere; the log only reads
the outcome, and reads it anew at every append.
"""

from __future__ import annotations

from dataclasses import dataclass

NEVER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class LogConfig:
    """Kafka's defaults. A retention of -1 means "no limit"."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10_485_760
    index_interval_bytes: int = 4_096
    preallocate: bool = False

    max_message_bytes: int = 1_048_588
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = NEVER
    message_timestamp_after_max_ms: int = 3_600_000
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3

    flush_messages: int = NEVER
    flush_ms: int = NEVER

    cleanup_policy: tuple[str, ...] = ("delete",)
    retention_ms: int = 604_800_000
    retention_bytes: int = -1
    file_delete_delay_ms: int = 60_000
    delete_retention_ms: int = 86_400_000
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = NEVER

    producer_id_expiration_ms: int = 86_400_000
    min_insync_replicas: int = 1
    unclean_leader_election_enable: bool = False
