"""Members of groups over a bare connection, in both protocols, one request at a time."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.errors import Error
from headrace.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from headrace.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from headrace.wire.messages.describe_groups import DescribeGroupsRequest
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from headrace.wire.messages.heartbeat import HeartbeatRequest
from headrace.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from headrace.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from headrace.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from headrace.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.clients.contract import eventually
from tests.clients.raw import Connection

JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, LEAVE_VERSION = 9, 5, 4, 5
COMMIT_VERSION, FETCH_VERSION = 9, 9
TIMEOUT_MS = 20_000


def find_coordinator(connection: Connection, group: str) -> None:
    """As every client does first: the internal topic may have to be made, and loaded."""
    find = FindCoordinatorRequest(coordinator_keys=[group])
    look = DescribeGroupsRequest(groups=[group])

    def found() -> bool:
        (coordinator,) = connection.ask(find, 4).coordinators
        assert coordinator.error_code in (Error.NONE, Error.COORDINATOR_NOT_AVAILABLE)
        (shown,) = connection.ask(look, 5).groups
        return bool(coordinator.error_code == shown.error_code == Error.NONE)

    eventually(found, "a coordinator of the group")


def join_request(group: str, member_id: str = "", **options: Any) -> JoinGroupRequest:
    """A member that can speak one protocol, whose metadata says nothing."""
    protocols: Mapping[str, bytes] = options.pop("protocols", {"range": b"m"})
    return JoinGroupRequest(
        group_id=group,
        member_id=member_id,
        session_timeout_ms=options.pop("session_timeout_ms", TIMEOUT_MS),
        rebalance_timeout_ms=options.pop("rebalance_timeout_ms", TIMEOUT_MS),
        protocol_type=options.pop("protocol_type", "consumer"),
        protocols=[
            JoinGroupRequestProtocol(name=name, metadata=metadata)
            for name, metadata in protocols.items()
        ],
        **options,
    )


def sync_request(
    group: str, joined: Any, assignments: Mapping[str, bytes] | None = None, **options: Any
) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=group,
        generation_id=options.pop("generation_id", joined.generation_id),
        member_id=options.pop("member_id", joined.member_id),
        protocol_type=options.pop("protocol_type", joined.protocol_type),
        protocol_name=options.pop("protocol_name", joined.protocol_name),
        assignments=[
            SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
            for member_id, assignment in (assignments or {}).items()
        ],
        **options,
    )


def joined_alone(connection: Connection, group: str, **options: Any) -> Any:
    """The only member of a new group, which has been given its member id (KIP-394)."""
    find_coordinator(connection, group)
    first = connection.ask(join_request(group, **options), JOIN_VERSION)
    if first.error_code == Error.MEMBER_ID_REQUIRED:
        request = join_request(group, first.member_id, **options)
        first = connection.ask(request, JOIN_VERSION)
    assert first.error_code == Error.NONE, Error(first.error_code).name
    return first


def stable_alone(
    connection: Connection, group: str, *, assignment: bytes = b"a", **options: Any
) -> Any:
    """The only member of a new group, with an assignment; its answer to JoinGroup."""
    joined = joined_alone(connection, group, **options)
    request = sync_request(group, joined, {joined.member_id: assignment})
    answer = connection.ask(request, SYNC_VERSION)
    assert answer.error_code == Error.NONE, Error(answer.error_code).name
    assert answer.assignment == assignment
    return joined


def heartbeat(connection: Connection, group: str, joined: Any, **options: Any) -> Error:
    request = HeartbeatRequest(
        group_id=group,
        generation_id=options.pop("generation_id", joined.generation_id),
        member_id=options.pop("member_id", joined.member_id),
        **options,
    )
    return Error(connection.ask(request, HEARTBEAT_VERSION).error_code)


def await_rebalance(connection: Connection, group: str, member: Any) -> None:
    """Wait until the broker has read that somebody else joins, on another connection."""
    eventually(
        lambda: heartbeat(connection, group, member) == Error.REBALANCE_IN_PROGRESS, "a rebalance"
    )


def leave(connection: Connection, group: str, *members: MemberIdentity) -> Any:
    request = LeaveGroupRequest(group_id=group, members=list(members))
    return connection.ask(request, LEAVE_VERSION)


def described(connection: Connection, group: str, version: int = 5) -> Any:
    """A classic group as DescribeGroups shows it; up to v5 one that is unknown is Dead."""
    find_coordinator(connection, group)
    (found,) = connection.ask(DescribeGroupsRequest(groups=[group]), version).groups
    return found


def described_consumer(connection: Connection, group: str) -> Any:
    """A consumer group as ConsumerGroupDescribe shows it."""
    request = ConsumerGroupDescribeRequest(group_ids=[group])
    (found,) = connection.ask(request, 1).groups
    return found


def commit_request(
    group: str,
    topic: str,
    offset: int,
    *,
    partition: int = 0,
    metadata: str | None = "",
    leader_epoch: int = -1,
    **options: Any,
) -> OffsetCommitRequest:
    """From outside of the group, unless the options name a member."""
    wanted = OffsetCommitRequestPartition(
        partition_index=partition,
        committed_offset=offset,
        committed_leader_epoch=leader_epoch,
        committed_metadata=metadata,
    )
    topic_id = options.pop("topic_id", uuid.UUID(int=0))
    topics = [OffsetCommitRequestTopic(name=topic, topic_id=topic_id, partitions=[wanted])]
    return OffsetCommitRequest(
        group_id=group, member_id=options.pop("member_id", ""), topics=topics, **options
    )


def commit(
    connection: Connection,
    group: str,
    topic: str,
    offset: int,
    *,
    version: int = COMMIT_VERSION,
    **options: Any,
) -> Error:
    """Commit one offset; the partition's error."""
    find_coordinator(connection, group)
    request = commit_request(group, topic, offset, **options)
    ((result,),) = [each.partitions for each in connection.ask(request, version).topics]
    return Error(result.error_code)


def fetch_offsets(
    connection: Connection, group: str, topic: str | None, partitions: Sequence[int] = (0,)
) -> Any:
    """The group's part of OffsetFetch; without a topic all there is."""
    topics = None
    if topic is not None:
        topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=list(partitions))]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)])
    (answer,) = connection.ask(request, FETCH_VERSION).groups
    return answer


def committed(connection: Connection, group: str, topic: str, partition: int = 0) -> Any:
    """What a group has committed for a partition: offset, leader epoch, metadata, error."""
    answer = fetch_offsets(connection, group, topic, [partition])
    assert answer.error_code == Error.NONE, Error(answer.error_code).name
    ((found,),) = [each.partitions for each in answer.topics]
    return found


@dataclass
class NewMember:
    """A member of the consumer protocol (KIP-848) that does what the coordinator says."""

    connection: Connection
    group: str
    topics: Sequence[str] = ()
    member_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    instance_id: str | None = None
    epoch: int = 0
    owned: dict[uuid.UUID, list[int]] = field(default_factory=dict)

    def join(self, **options: Any) -> Any:
        """Become a member, or come back as one with another epoch."""
        find_coordinator(self.connection, self.group)
        request = self.request(
            member_epoch=0,
            rebalance_timeout_ms=TIMEOUT_MS,
            topic_partitions=[],
            subscribed_topic_names=list(self.topics),
            **options,
        )
        return self._heard(self.connection.ask(request, 1))

    def beat(self, **options: Any) -> Any:
        """A sign of life that says what is owned; what comes back is taken at once."""
        owned = [
            TopicPartitions(topic_id=topic_id, partitions=partitions)
            for topic_id, partitions in self.owned.items()
        ]
        return self._heard(self.connection.ask(self.request(topic_partitions=owned, **options), 1))

    def leave(self, *, epoch: int = -1) -> Any:
        return self.connection.ask(self.request(member_epoch=epoch), 1)

    def request(self, **options: Any) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(
            group_id=options.pop("group_id", self.group),
            member_id=options.pop("member_id", self.member_id),
            member_epoch=options.pop("member_epoch", self.epoch),
            instance_id=options.pop("instance_id", self.instance_id),
            **options,
        )

    @property
    def partitions(self) -> list[int]:
        """The numbers of the partitions it owns, whatever their topics."""
        return sorted(number for numbers in self.owned.values() for number in numbers)

    def _heard(self, answer: Any) -> Any:
        if answer.error_code == Error.NONE:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.owned = {
                    each.topic_id: list(each.partitions)
                    for each in answer.assignment.topic_partitions
                }
        return answer


def reconciled(*members: NewMember, partitions: int) -> None:
    """Let members of one group send signs of life until they own so many, and none shall move.

    A controller may answer before the coordinator has heard of a new topic.
    """

    def done() -> bool:
        answers = [member.beat() for member in members]
        assert {each.error_code for each in answers} == {Error.NONE}
        shown = described_consumer(members[0].connection, members[0].group)
        owned = sum(len(member.partitions) for member in members)
        return bool(owned == partitions and shown.group_state == "Stable") and all(
            each.assignment is None and each.member_epoch == shown.group_epoch for each in answers
        )

    eventually(done, "a stable group")
