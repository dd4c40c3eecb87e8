"""DescribeLogDirs, v1-v5.

Behaviour: each directory of `log.dirs` with the size of every partition in it, and how much room
there is (KIP-827); a directory that failed is listed with KAFKA_STORAGE_ERROR. A partition on its
way to a directory is listed there as well, as a future one with its lag. Null asks for all
partitions, an empty list for none.

Version notes: v2 flexible · v3 top-level error · v4 total and usable bytes · v5 cordoned
directories (KIP-1066).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.errors import Error
from headrace.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

if TYPE_CHECKING:
    from headrace.broker.membership.moves import Moves
    from headrace.broker.net.call import Call
    from headrace.broker.storage.storage import Storage


def handle(
    storage: Storage, moves: Moves, request: DescribeLogDirsRequest, call: Call
) -> Answer[DescribeLogDirsResponse]:
    asked: set[tuple[str, int]] | None = None
    if request.topics is not None:
        asked = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
    results = []
    for directory in storage.directories:
        if not directory.online:
            results.append(
                DescribeLogDirsResult(
                    error_code=Error.KAFKA_STORAGE_ERROR, log_dir=directory.path, topics=[]
                )
            )
            continue
        found = [(key, log.size_bytes, 0, False) for key, log in directory.logs.items()]
        arriving = moves.arriving_in(directory)
        found += [(key, size, lag, True) for key, size, lag in arriving]
        topics: dict[str, DescribeLogDirsTopic] = {}
        for (name, index), size, lag, is_future in sorted(found):
            if asked is not None and (name, index) not in asked:
                continue
            topic = topics.setdefault(name, DescribeLogDirsTopic(name=name, partitions=[]))
            topic.partitions.append(
                DescribeLogDirsPartition(
                    partition_index=index,
                    partition_size=size,
                    offset_lag=lag,
                    is_future_key=is_future,
                )
            )
        total, usable = directory.room()
        results.append(
            DescribeLogDirsResult(
                error_code=0,
                log_dir=directory.path,
                topics=list(topics.values()),
                total_bytes=total,
                usable_bytes=usable,
                is_cordoned=directory.path in storage.cordoned,
            )
        )
    return DescribeLogDirsResponse(error_code=0, results=results)


HANDLER = Handler(request=DescribeLogDirsRequest, handle=handle)
