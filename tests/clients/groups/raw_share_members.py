"""Members of share groups by bare requests, and what an administrator asks about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

from headrace.errors import Error
from headrace.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from headrace.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from headrace.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from headrace.wire.messages.share_group_describe import ShareGroupDescribeRequest
from headrace.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from tests.clients.contract import eventually
from tests.clients.groups.raw_members import find_coordinator
from tests.clients.raw import Connection

VERSION = 1


class ShareMember:
    """A member of a share group, which fetches nothing."""

    def __init__(self, connection: Connection, group: str, topics: list[str]) -> None:
        self.connection = connection
        self.group = group
        self.topics = topics
        self.member_id = str(uuid4())
        self.epoch = 0
        self.partitions: dict[UUID, list[int]] = {}

    def beat(self, *, epoch: int | None = None, **fields: Any) -> ShareGroupHeartbeatResponse:
        """One heartbeat, in the member's epoch unless told otherwise."""
        request = ShareGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=self.epoch if epoch is None else epoch,
            **fields,
        )
        answer: ShareGroupHeartbeatResponse = self.connection.ask(request, VERSION)
        if not answer.error_code:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.partitions = {
                    each.topic_id: each.partitions for each in answer.assignment.topic_partitions
                }
        return answer

    def join(self, **fields: Any) -> ShareGroupHeartbeatResponse:
        find_coordinator(self.connection, self.group)
        return self.beat(epoch=0, subscribed_topic_names=self.topics, **fields)

    def await_partitions(self, count: int) -> None:
        """Signs of life until it may fetch from so many."""

        def done() -> bool:
            assert self.beat().error_code == Error.NONE
            return sum(map(len, self.partitions.values())) == count

        eventually(done, f"{count} assigned partitions")

    def leave(self) -> ShareGroupHeartbeatResponse:
        return self.beat(epoch=-1)


def described_share(connection: Connection, group: str) -> Any:
    (found,) = connection.ask(ShareGroupDescribeRequest(group_ids=[group]), VERSION).groups
    return found


def share_offsets(
    connection: Connection,
    group: str,
    topics: Mapping[str, list[int]] | None = None,
    *,
    version: int = 1,
) -> Any:
    """How far a group is in some topics, or in all that it has begun."""
    asked = None
    if topics is not None:
        asked = [
            DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=partitions)
            for name, partitions in topics.items()
        ]
    wanted = DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=asked)
    request = DescribeShareGroupOffsetsRequest(groups=[wanted])
    (found,) = connection.ask(request, version).groups
    return found


def alter_share_offsets(connection: Connection, group: str, **topics: dict[int, int]) -> Any:
    request = AlterShareGroupOffsetsRequest(
        group_id=group,
        topics=[
            AlterShareGroupOffsetsRequestTopic(
                topic_name=name,
                partitions=[
                    AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=at)
                    for index, at in offsets.items()
                ],
            )
            for name, offsets in topics.items()
        ],
    )
    return connection.ask(request, 0)


def delete_share_offsets(connection: Connection, group: str, *topics: str) -> Any:
    request = DeleteShareGroupOffsetsRequest(
        group_id=group,
        topics=[DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in topics],
    )
    return connection.ask(request, 0)
