"""AlterReplicaLogDirs (key 34): move replicas to another disk of their broker (KIP-113)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Int16, Int32


@request(key=34, versions="1-2", flexible=2)
class AlterReplicaLogDirsRequest:
    """Which partitions each directory shall have. v2 flexible."""

    dirs: list[AlterReplicaLogDir]


@struct
class AlterReplicaLogDir:
    """A directory of `log.dirs` by its absolute path, and what shall come to it."""

    path: str
    topics: list[AlterReplicaLogDirTopic]


@struct
class AlterReplicaLogDirTopic:
    """Partitions of one topic."""

    name: str
    partitions: list[Int32]


@response(key=34, versions="1-2", flexible=2)
class AlterReplicaLogDirsResponse:
    """The outcomes by topic. v2 flexible."""

    throttle_time_ms: Int32 = 0
    results: list[AlterReplicaLogDirTopicResult]


@struct
class AlterReplicaLogDirTopicResult:
    """The outcomes of one topic."""

    topic_name: str
    partitions: list[AlterReplicaLogDirPartitionResult]


@struct
class AlterReplicaLogDirPartitionResult:
    """Whether the move of one partition has begun."""

    partition_index: Int32
    error_code: Int16
