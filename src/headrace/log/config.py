"""The settings of one log, as values: Kafka's topic-level keys with dots written as underscores.

Where a value comes from (topic, broker, built-in default) is decided elsewhere, and so is what the
defaults are; the log reads the outcome, at every append.
"""

from __future__ import annotations

from dataclasses import dataclass

NEVER = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """A retention of -1 means "no limit"."""

    segment_bytes: int
    segment_ms: int
    segment_jitter_ms: int
    segment_index_bytes: int
    index_interval_bytes: int
    preallocate: bool

    max_message_bytes: int
    message_timestamp_type: str
    message_timestamp_before_max_ms: int
    message_timestamp_after_max_ms: int
    compression_type: str
    compression_gzip_level: int
    compression_lz4_level: int
    compression_zstd_level: int

    flush_messages: int
    flush_ms: int

    cleanup_policy: tuple[str, ...]
    retention_ms: int
    retention_bytes: int
    file_delete_delay_ms: int
    delete_retention_ms: int
    min_cleanable_dirty_ratio: float
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int

    producer_id_expiration_ms: int
    min_insync_replicas: int
    unclean_leader_election_enable: bool
