"""One record of each type of `__share_group_state`."""

from __future__ import annotations

from uuid import UUID

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.share.records import (
    RecordedBatch,
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
)

TOPIC_ID = UUID("11223344-5566-4788-99aa-bbccddeeff00")
BATCH = RecordedBatch(first_offset=42, last_offset=44, delivery_state=2, delivery_count=1)
SNAPSHOT = StateRecord(
    ShareSnapshotKey(group_id="g", topic_id=TOPIC_ID, partition=7),
    ShareSnapshotValue(
        snapshot_epoch=3,
        state_epoch=1,
        leader_epoch=5,
        start_offset=40,
        delivery_complete_count=3,
        create_timestamp=1_700_000_000_000,
        write_timestamp=1_700_000_000_001,
        state_batches=[BATCH],
    ),
)
UPDATE = StateRecord(
    ShareUpdateKey(group_id="g", topic_id=TOPIC_ID, partition=7),
    ShareUpdateValue(snapshot_epoch=3, leader_epoch=5, start_offset=-1, state_batches=[BATCH]),
)
SHARE_RECORDS = (SNAPSHOT, UPDATE)
