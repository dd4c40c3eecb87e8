"""AlterReplicaLogDirs, v1-v2 (KIP-113).

Behaviour: lets partitions move to another directory of `log.dirs` while they are written and read;
the answer says that a move has begun, DescribeLogDirs shows how far it is. A path that is not in
`log.dirs` is LOG_DIR_NOT_FOUND, a directory that failed KAFKA_STORAGE_ERROR, one that is in
`cordoned.log.dirs` INVALID_REPLICA_ASSIGNMENT (KIP-1066). Asking for the
directory where a partition is calls its move off. A partition that is asked for twice goes where
it was asked to last. `replica.alter.log.dirs.io.max.bytes.per.second` holds moves back.

Version notes: v2 flexible.

Not done: a restart of the broker calls moves off, where Apache Kafka resumes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.errors import ClientFault, Error
from headrace.types import TopicPartition
from headrace.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

if TYPE_CHECKING:
    from headrace.broker.membership.moves import Moves
    from headrace.broker.net.call import Call


def handle(
    moves: Moves, request: AlterReplicaLogDirsRequest, call: Call
) -> Answer[AlterReplicaLogDirsResponse]:
    wanted = {
        TopicPartition(topic.name, index): directory.path
        for directory in request.dirs
        for topic in directory.topics
        for index in topic.partitions
    }
    topics: dict[str, AlterReplicaLogDirTopicResult] = {}
    for (name, index), path in wanted.items():
        error = Error.NONE
        try:
            moves.begin(name, index, path)
        except ClientFault as fault:
            # Of a replica that is elsewhere this API says that it is not available, as Kafka does.
            is_elsewhere = fault.error is Error.NOT_LEADER_OR_FOLLOWER
            error = Error.REPLICA_NOT_AVAILABLE if is_elsewhere else fault.error
        outcome = AlterReplicaLogDirPartitionResult(partition_index=index, error_code=error)
        result = topics.setdefault(
            name, AlterReplicaLogDirTopicResult(topic_name=name, partitions=[])
        )
        result.partitions.append(outcome)
    return AlterReplicaLogDirsResponse(results=list(topics.values()))


HANDLER = Handler(request=AlterReplicaLogDirsRequest, handle=handle)
