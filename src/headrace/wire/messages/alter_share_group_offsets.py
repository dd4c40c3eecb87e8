"""AlterShareGroupOffsets (key 91): let a share group go on elsewhere (KIP-932)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Int16, Int32, Int64, Uuid


@request(key=91, versions="0", flexible=0)
class AlterShareGroupOffsetsRequest:
    """Where an empty share group shall begin."""

    group_id: str
    topics: list[AlterShareGroupOffsetsRequestTopic]


@struct
class AlterShareGroupOffsetsRequestTopic:
    """Partitions of one topic."""

    topic_name: str
    partitions: list[AlterShareGroupOffsetsRequestPartition]


@struct
class AlterShareGroupOffsetsRequestPartition:
    partition_index: Int32
    start_offset: Int64


@response(key=91, versions="0", flexible=0)
class AlterShareGroupOffsetsResponse:
    """The outcome per partition, or for the whole."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    responses: list[AlterShareGroupOffsetsResponseTopic]


@struct
class AlterShareGroupOffsetsResponseTopic:
    """Partitions of one topic; a topic that does not exist has no id."""

    topic_name: str
    topic_id: Uuid
    partitions: list[AlterShareGroupOffsetsResponsePartition]


@struct
class AlterShareGroupOffsetsResponsePartition:
    partition_index: Int32
    error_code: Int16 = 0
    error_message: str | None = None
