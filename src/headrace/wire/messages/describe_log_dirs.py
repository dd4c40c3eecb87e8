"""DescribeLogDirs (key 35): the disks of a broker and what lies on them (KIP-113)."""

from __future__ import annotations

from ..schema import request, response, struct, v
from ..types import Bool, Int16, Int32, Int64


@request(key=35, versions="1-5", flexible=2)
class DescribeLogDirsRequest:
    """The partitions of interest; null means all. v2 flexible."""

    topics: list[DescribableLogDirTopic] | None


@struct
class DescribableLogDirTopic:
    """Partitions of one topic."""

    topic: str
    partitions: list[Int32]


@response(key=35, versions="1-5", flexible=2)
class DescribeLogDirsResponse:
    """One entry per directory.

    v2 flexible · v3 an error for the whole (KIP-784) · v4 size and free space (KIP-827) · v5
    whether new partitions are kept away (KIP-1066)
    """

    throttle_time_ms: Int32 = 0
    error_code: Int16 = v(3, default=0)
    results: list[DescribeLogDirsResult]


@struct
class DescribeLogDirsResult:
    """One directory and what it holds."""

    error_code: Int16
    log_dir: str
    topics: list[DescribeLogDirsTopic]
    total_bytes: Int64 = v(4, default=-1)
    usable_bytes: Int64 = v(4, default=-1)
    is_cordoned: Bool = v(5, default=False)


@struct
class DescribeLogDirsTopic:
    """The partitions of one topic in this directory."""

    name: str
    partitions: list[DescribeLogDirsPartition]


@struct
class DescribeLogDirsPartition:
    """One replica on this disk.

    A future replica is being moved here; its lag is how far it is behind the current one.
    """

    partition_index: Int32
    partition_size: Int64
    offset_lag: Int64
    is_future_key: Bool
