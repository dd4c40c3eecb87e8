"""The values of records that consumer and share groups write alike, behind keys of their own."""

from __future__ import annotations

from headrace.wire.schema import data, struct, tagged
from headrace.wire.types import Int32, Int64, Uuid


@data(versions="0", flexible=0)
class TargetAssignmentMetadataValue:
    assignment_epoch: Int32
    assignment_timestamp: Int64 = tagged(0, since=0, default=0, ignorable=True)


@struct
class TargetPartitions:
    """The partitions of one topic in the target assignment of a member."""

    topic_id: Uuid
    partitions: list[Int32]


@data(versions="0", flexible=0)
class TargetAssignmentMemberValue:
    topic_partitions: list[TargetPartitions]
