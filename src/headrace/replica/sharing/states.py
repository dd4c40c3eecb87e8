"""The nouns of share partitions: states of records, acknowledgements, limits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple


class RecordState(IntEnum):
    """What a record is to a share group; the numbers are those of Kafka's records."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4


TRANSITIONS: Final = {
    RecordState.AVAILABLE: {RecordState.ACQUIRED, RecordState.ARCHIVED},
    RecordState.ACQUIRED: {
        RecordState.AVAILABLE,
        RecordState.ACKNOWLEDGED,
        RecordState.ARCHIVED,
    },
    RecordState.ACKNOWLEDGED: set(),
    RecordState.ARCHIVED: set(),
}

TERMINAL: Final = (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


class AcknowledgeType(IntEnum):
    """What a member says of a record."""

    GAP = 0  # there is no record at this offset
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


class Acknowledgement(NamedTuple):
    """Offsets, both ends included, with one type for all of them or one for each."""

    first_offset: int
    last_offset: int
    types: tuple[int, ...]


class Acquired(NamedTuple):
    """Records that a member holds from now on."""

    first_offset: int
    last_offset: int
    delivery_count: int


class SavedBatch(NamedTuple):
    """Offsets in one state, as they are kept for the next leader."""

    first_offset: int
    last_offset: int
    state: int
    delivery_count: int


class StateWrite(NamedTuple):
    """What is to be kept: changes, the first offset that is not done, how many behind it are."""

    start_offset: int
    delivery_complete_count: int
    batches: list[SavedBatch]


@dataclass(frozen=True, slots=True)
class ShareLimits:
    """The settings of a group, as far as its share partitions need them."""

    lock_duration_ms: int = 30_000  # share.record.lock.duration.ms
    delivery_count_limit: int = 5  # share.delivery.count.limit
    max_record_locks: int = 2000  # share.partition.max.record.locks
    renew_enabled: bool = True  # share.renew.acknowledge.enable
