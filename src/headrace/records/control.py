"""Control records: what brokers write between the records of clients and readers never see.

The key says what a control record is, the value depends on it:

    OFFSET  SIZE  TYPE   FIELD OF THE KEY
    0       2     int16  version
    2       2     int16  type: 0 abort, 1 commit, 2 leader change, 3 and up quorum matters

    OFFSET  SIZE  TYPE   FIELD OF THE VALUE OF ABORT AND COMMIT
    0       2     int16  version
    2       4     int32  coordinator_epoch

Later versions may add fields at the end; they are skipped.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

from headrace.errors import CorruptData
from headrace.records.builder import BatchBuilder
from headrace.records.record import Record
from headrace.types import NO_EPOCH

_KEY: Final = Struct(">hh")
_MARKER: Final = Struct(">hi")
_VERSION: Final = 0


class ControlType(IntEnum):
    """The types that end a transaction. All others are skipped by readers."""

    ABORT = 0
    COMMIT = 1


class EndTxnMarker(NamedTuple):
    """The end of one producer's transaction in one partition."""

    commit: bool
    coordinator_epoch: int

    @property
    def is_abort(self) -> bool:
        return not self.commit


def parse_control(record: Record) -> EndTxnMarker | None:
    """The marker in a record of a control batch; None for a type that ends no transaction."""
    key = record.key
    if key is None or len(key) < _KEY.size:
        raise CorruptData(f"the control record at offset {record.offset} has the key {key!r}")
    version, kind = _KEY.unpack_from(key)
    if version < 0:
        raise CorruptData(f"the control record at offset {record.offset} has version {version}")
    if kind not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    value = record.value
    if value is None or len(value) < _MARKER.size:
        raise CorruptData(f"the marker at offset {record.offset} has the value {value!r}")
    version, coordinator_epoch = _MARKER.unpack_from(value)
    if version < 0:
        raise CorruptData(f"the marker at offset {record.offset} has version {version}")
    return EndTxnMarker(kind == ControlType.COMMIT, coordinator_epoch)


def build_end_txn_marker(
    marker: EndTxnMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = NO_EPOCH,
) -> bytes:
    """The control batch that ends a producer's transaction. Markers have no sequence."""
    builder = BatchBuilder(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
        base_offset=base_offset,
        leader_epoch=leader_epoch,
    )
    kind = ControlType.COMMIT if marker.commit else ControlType.ABORT
    builder.append(
        _KEY.pack(_VERSION, kind), _MARKER.pack(_VERSION, marker.coordinator_epoch), timestamp
    )
    return builder.build()
