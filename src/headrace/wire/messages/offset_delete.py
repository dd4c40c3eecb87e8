"""OffsetDelete (key 47): forget offsets of a group (KIP-496); no version of it is flexible."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Int16, Int32


@request(key=47, versions="0")
class OffsetDeleteRequest:
    """Partitions whose offsets shall go."""

    group_id: str
    topics: list[OffsetDeleteRequestTopic]


@struct
class OffsetDeleteRequestTopic:
    """Partitions of one topic."""

    name: str
    partitions: list[OffsetDeleteRequestPartition]


@struct
class OffsetDeleteRequestPartition:
    """One partition."""

    partition_index: Int32


@response(key=47, versions="0")
class OffsetDeleteResponse:
    """The outcome per partition; with an error for the whole no topic is listed."""

    error_code: Int16
    throttle_time_ms: Int32 = 0
    topics: list[OffsetDeleteResponseTopic]


@struct
class OffsetDeleteResponseTopic:
    """The outcome for one topic."""

    name: str
    partitions: list[OffsetDeleteResponsePartition]


@struct
class OffsetDeleteResponsePartition:
    """The outcome for one partition; GROUP_SUBSCRIBED_TO_TOPIC while members read it."""

    partition_index: Int32
    error_code: Int16
