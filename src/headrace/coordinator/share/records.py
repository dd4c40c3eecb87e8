"""The records of `__share_group_state`: a snapshot of each share partition, and changes since.

    TYPE  KEY               VALUE               WRITTEN VERSION
       0  ShareSnapshotKey  ShareSnapshotValue  0
       1  ShareUpdateKey    ShareUpdateValue    0

The bytes are those of Apache Kafka 4.3; docs/formats/share-group-state.md describes them.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.formats import RecordFormats, RecordType
from headrace.wire.schema import data, struct, tagged
from headrace.wire.types import Int8, Int16, Int32, Int64, Uuid


@data(versions="0")
class ShareSnapshotKey:
    group_id: str
    topic_id: Uuid
    partition: Int32


@data(versions="0")
class ShareUpdateKey:
    group_id: str
    topic_id: Uuid
    partition: Int32


@struct
class RecordedBatch:
    """Offsets in the same state: 0 available · 2 acknowledged · 4 archived."""

    first_offset: Int64
    last_offset: Int64
    delivery_state: Int8
    delivery_count: Int16


@data(versions="0", flexible=0)
class ShareSnapshotValue:
    snapshot_epoch: Int32
    state_epoch: Int32
    leader_epoch: Int32
    start_offset: Int64
    delivery_complete_count: Int32 = tagged(0, since=0, default=-1)
    create_timestamp: Int64
    write_timestamp: Int64
    state_batches: list[RecordedBatch]


@data(versions="0", flexible=0)
class ShareUpdateValue:
    """What changed; a start offset of -1 did not."""

    snapshot_epoch: Int32
    leader_epoch: Int32
    start_offset: Int64
    delivery_complete_count: Int32 = tagged(0, since=0, default=-1)
    state_batches: list[RecordedBatch]


ShareRecord: TypeAlias = StateRecord[
    ShareSnapshotKey | ShareUpdateKey, ShareSnapshotValue | ShareUpdateValue
]

FORMATS: Final[
    RecordFormats[ShareSnapshotKey | ShareUpdateKey, ShareSnapshotValue | ShareUpdateValue]
] = RecordFormats(
    "__share_group_state",
    {
        0: RecordType(ShareSnapshotKey, ShareSnapshotValue),
        1: RecordType(ShareUpdateKey, ShareUpdateValue),
    },
)
encode_record: Final = FORMATS.encode
decode_record: Final = FORMATS.decode
