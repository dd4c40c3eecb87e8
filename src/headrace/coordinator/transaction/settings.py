"""What an operator may set about transactions, with Kafka's defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """Kafka's keys, as far as the coordinator of transactions needs them."""

    # transaction.max.timeout.ms
    transaction_max_timeout_ms: int = 900_000
    # transactional.id.expiration.ms
    transactional_id_expiration_ms: int = 604_800_000
    # transaction.abort.timed.out.transaction.cleanup.interval.ms
    abort_timed_out_interval_ms: int = 10_000
    # transaction.remove.expired.transaction.cleanup.interval.ms
    remove_expired_interval_ms: int = 3_600_000
    # The finalized level of the feature transaction.version.
    transaction_version: int = 2
