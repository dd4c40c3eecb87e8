"""When a transaction is too old, and when a transactional id is forgotten.

Kafka looks for both at intervals, so that many timers are due at once and each at most one interval
late. The deadlines here stand on the same grid. A timer that is due says only that it is time to
look: the transaction it was set for may be over.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from headrace.coordinator.transaction.metadata import TransactionMetadata
from headrace.coordinator.transaction.settings import TransactionSettings
from headrace.coordinator.transaction.state import TransactionState

# Kafka writes this for transactions whose end another system decides about (KIP-939).
_NO_TIMEOUT_MS: Final = (1 << 31) - 1


class TimerKind(Enum):
    """What a timer of the shard is about."""

    TRANSACTION_TIMEOUT = "transaction timeout"
    ID_EXPIRATION = "transactional id expiration"


class Timer(NamedTuple):
    """The key of a timer."""

    kind: TimerKind
    transactional_id: str


def due_ms(metadata: TransactionMetadata, kind: TimerKind, settings: TransactionSettings) -> int:
    """The first moment to look; -1 if this never happens to the metadata as it is."""
    if kind is TimerKind.TRANSACTION_TIMEOUT:
        if metadata.state is not TransactionState.ONGOING or metadata.timeout_ms == _NO_TIMEOUT_MS:
            return -1
        # A transaction may last as long as its time-out, and not a millisecond longer.
        deadline_ms = metadata.start_ms + metadata.timeout_ms + 1
        return _rounded_up(
            deadline_ms, settings.transaction_abort_timed_out_transaction_cleanup_interval_ms
        )
    if not metadata.is_idle:
        return -1
    deadline_ms = metadata.last_update_ms + settings.transactional_id_expiration_ms
    return _rounded_up(
        deadline_ms, settings.transaction_remove_expired_transaction_cleanup_interval_ms
    )


def timer_for(
    metadata: TransactionMetadata, settings: TransactionSettings
) -> tuple[Timer, int] | None:
    """The timer that the metadata needs as it is, with its deadline."""
    for kind in TimerKind:
        deadline_ms = due_ms(metadata, kind, settings)
        if deadline_ms >= 0:
            return Timer(kind, metadata.transactional_id), deadline_ms
    return None


def _rounded_up(deadline_ms: int, interval_ms: int) -> int:
    return -(-deadline_ms // interval_ms) * interval_ms
