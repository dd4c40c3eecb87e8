"""Committed offsets of a group, read and written.

From outside the group needs no members; while it has some, brokers take commits from these only.
Versions with topic ids are left alone: an offset belongs to a name here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from headrace.client.cluster import Cluster
from headrace.client.connection import Connection
from headrace.client.coordinators import with_coordinator
from headrace.client.faults import BrokerRefused
from headrace.client.retrying import Deadline
from headrace.errors import Error
from headrace.types import TopicPartition
from headrace.wire.messages.delete_groups import DeleteGroupsRequest
from headrace.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)

_LAST_WITH_NAMES: Final = 9
_FIRST_WITH_GROUPS: Final = 8
_FIRST_STABLE: Final = 7
_NO_OFFSET: Final = -1


class Committed(NamedTuple):
    """What a group has committed of one partition; the epoch is -1 where it told none."""

    offset: int
    metadata: str
    leader_epoch: int


def committed_offsets(
    cluster: Cluster,
    group: str,
    *,
    require_stable: bool = False,
    partitions: Collection[TopicPartition] | None = None,
) -> dict[TopicPartition, tuple[int, str]]:
    """The offsets of the group with their metadata: of these partitions, or all there are.

    With `require_stable` the call waits until no transaction is about to change them (KIP-447).
    Apache Kafka does so only for partitions that it knows of: one whose first offset ever is in an
    undecided transaction is left out of "all", so name the partitions where that matters, or read
    after the next producer of the transactional id has begun.
    """
    found = committed_positions(
        cluster, group, require_stable=require_stable, partitions=partitions
    )
    return {place: (each.offset, each.metadata) for place, each in found.items()}


def committed_positions(
    cluster: Cluster,
    group: str,
    *,
    require_stable: bool = False,
    partitions: Collection[TopicPartition] | None = None,
) -> dict[TopicPartition, Committed]:
    """Like `committed_offsets`, with the leader epochs of the records in front of them."""
    what = f"reading the offsets of the group {group}"

    def read(connection: Connection, deadline: Deadline) -> dict[TopicPartition, Committed]:
        version = connection.newest(OffsetFetchRequest, at_most=_LAST_WITH_NAMES)
        request = _fetch_request(group, version, require_stable, partitions)
        return _offsets(cluster.call(connection, request, deadline, version), what)

    return with_coordinator(cluster, group, what, read)


def commit_offsets(
    cluster: Cluster,
    group: str,
    offsets: Mapping[TopicPartition, tuple[int, str]],
    *,
    member: tuple[str, int] = ("", -1),
) -> None:
    """Commit offset and metadata of each partition: as a member, by its id and generation, or from
    outside, which is refused while the group has members.
    """
    what = f"committing offsets of the group {group}"
    topics: defaultdict[str, list[OffsetCommitRequestPartition]] = defaultdict(list)
    for place, (offset, metadata) in offsets.items():
        topics[place.topic].append(
            OffsetCommitRequestPartition(
                partition_index=place.partition,
                committed_offset=offset,
                committed_metadata=metadata,
            )
        )
    request = OffsetCommitRequest(
        group_id=group,
        member_id=member[0],
        generation_id_or_member_epoch=member[1],
        topics=[
            OffsetCommitRequestTopic(name=name, partitions=partitions)
            for name, partitions in topics.items()
        ],
    )

    def commit(connection: Connection, deadline: Deadline) -> None:
        version = connection.newest(OffsetCommitRequest, at_most=_LAST_WITH_NAMES)
        for topic in cluster.call(connection, request, deadline, version).topics:
            for answer in topic.partitions:
                if answer.error_code:
                    raise BrokerRefused(
                        answer.error_code, f"{what} for {topic.name}-{answer.partition_index}"
                    )

    if offsets:
        with_coordinator(cluster, group, what, commit)


def delete_groups(cluster: Cluster, groups: Collection[str]) -> None:
    """Forget these groups and their offsets; those that are gone already are fine."""
    for group in groups:
        _delete_group(cluster, group)


def _delete_group(cluster: Cluster, group: str) -> None:
    what = f"deleting the group {group}"

    def delete(connection: Connection, deadline: Deadline) -> None:
        request = DeleteGroupsRequest(groups_names=[group])
        for result in cluster.call(connection, request, deadline).results:
            if result.error_code not in (Error.NONE, Error.GROUP_ID_NOT_FOUND):
                raise BrokerRefused(result.error_code, what)

    with_coordinator(cluster, group, what, delete)


def _fetch_request(
    group: str,
    version: int,
    require_stable: bool,
    partitions: Collection[TopicPartition] | None,
) -> OffsetFetchRequest:
    stable = require_stable and version >= _FIRST_STABLE
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    for topic, partition in partitions or ():
        numbers[topic].append(partition)
    if version >= _FIRST_WITH_GROUPS:
        some = [
            OffsetFetchRequestTopics(name=name, partition_indexes=asked)
            for name, asked in numbers.items()
        ]
        asked_for = OffsetFetchRequestGroup(
            group_id=group, topics=None if partitions is None else some
        )
        return OffsetFetchRequest(groups=[asked_for], require_stable=stable)
    older = [
        OffsetFetchRequestTopic(name=name, partition_indexes=asked)
        for name, asked in numbers.items()
    ]
    return OffsetFetchRequest(
        group_id=group, topics=None if partitions is None else older, require_stable=stable
    )


def _offsets(response: OffsetFetchResponse, what: str) -> dict[TopicPartition, Committed]:
    answers: list[OffsetFetchResponseGroup | OffsetFetchResponse] = [*response.groups]
    found = {}
    for answer in answers or [response]:
        if answer.error_code == Error.GROUP_ID_NOT_FOUND:
            continue
        if answer.error_code:
            raise BrokerRefused(answer.error_code, what)
        for topic in answer.topics:
            for partition in topic.partitions:
                if partition.error_code:
                    raise BrokerRefused(partition.error_code, what)
                if partition.committed_offset != _NO_OFFSET:
                    place = TopicPartition(topic.name, partition.partition_index)
                    found[place] = Committed(
                        partition.committed_offset,
                        partition.metadata or "",
                        partition.committed_leader_epoch,
                    )
    return found
