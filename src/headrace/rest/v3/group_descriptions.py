"""Consumer groups as brokers describe them, whichever of the two protocols they speak.

Groups of the newer protocol (KIP-848) are described by ConsumerGroupDescribe, those of the classic
one by DescribeGroups; both become one `Group`. The bytes in which classic members keep their
assignment are read here: they come from any client, so a malformed one is an empty assignment.
"""

from __future__ import annotations

from struct import Struct, error
from typing import Any, Final, NamedTuple

from headrace.client.cluster import Cluster
from headrace.client.connection import Connection, Unsupported
from headrace.client.coordinators import with_coordinator
from headrace.client.faults import BrokerRefused
from headrace.client.retrying import Deadline
from headrace.errors import Error
from headrace.rest.v3 import faults
from headrace.rest.v3.asking import ask_broker, describe_cluster
from headrace.types import TopicPartition
from headrace.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from headrace.wire.messages.describe_groups import DescribeGroupsRequest
from headrace.wire.messages.list_groups import ListGroupsRequest

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_CONSUMER_PROTOCOL: Final = "consumer"
_CLASSIC_MEMBER: Final = 0
_NOT_OF_THIS_PROTOCOL: Final = (
    Error.GROUP_ID_NOT_FOUND,
    Error.UNSUPPORTED_VERSION,
    Error.INVALID_REQUEST,
)
_DEAD: Final = "Dead"


class Member(NamedTuple):
    """A member of a group and the partitions that it has now."""

    consumer_id: str
    instance_id: str | None
    client_id: str
    assignment: tuple[TopicPartition, ...]


class Group(NamedTuple):
    """A group with all that the resources show of it."""

    group_id: str
    is_simple: bool
    assignor: str
    state: str
    type: str
    is_mixed: bool
    coordinator: int
    members: tuple[Member, ...]

    def member(self, consumer_id: str) -> Member:
        for member in self.members:
            if member.consumer_id == consumer_id:
                return member
        raise faults.not_found(f"Consumer {consumer_id} of {self.group_id} cannot be found.")

    def owner(self, place: TopicPartition) -> Member | None:
        """Who reads this partition now."""
        return next((each for each in self.members if place in each.assignment), None)


def list_groups(cluster: Cluster) -> list[str]:
    """The names of all consumer groups, asked of every broker: each knows its own."""
    names: set[str] = set()
    for broker in describe_cluster(cluster).brokers:
        response = ask_broker(cluster, broker.broker_id, ListGroupsRequest(), "listing groups")
        if response.error_code:
            raise faults.of_code(response.error_code)
        names |= {
            group.group_id
            for group in response.groups
            if group.protocol_type in (_CONSUMER_PROTOCOL, "")
        }
    return sorted(names)


def describe_group(cluster: Cluster, group_id: str) -> Group:
    """The group; one that does not exist is not found."""
    described = _describe_consumer(cluster, group_id) or _describe_classic(cluster, group_id)
    if described is None:
        raise faults.not_found(f"Consumer group {group_id} cannot be found.")
    return described


def _describe_consumer(cluster: Cluster, group_id: str) -> Group | None:
    """The group if it speaks the newer protocol."""

    def once(connection: Connection, deadline: Deadline) -> Group | None:
        request = ConsumerGroupDescribeRequest(group_ids=[group_id])
        try:
            found = cluster.call(connection, request, deadline).groups[0]
        except Unsupported:
            return None
        if found.error_code in _NOT_OF_THIS_PROTOCOL:
            return None
        _check(found, group_id)
        return Group(
            group_id,
            is_simple=False,
            assignor=found.assignor_name,
            state=found.group_state,
            type="CONSUMER",
            is_mixed=any(member.member_type == _CLASSIC_MEMBER for member in found.members),
            coordinator=_node(cluster, group_id),
            members=tuple(_consumer_member(member) for member in found.members),
        )

    return with_coordinator(cluster, group_id, f"describing the group {group_id}", once)


def _consumer_member(member: Any) -> Member:
    places = [
        TopicPartition(topic.topic_name, partition)
        for topic in member.assignment.topic_partitions
        for partition in topic.partitions
    ]
    return Member(member.member_id, member.instance_id, member.client_id, tuple(sorted(places)))


def _describe_classic(cluster: Cluster, group_id: str) -> Group | None:
    def once(connection: Connection, deadline: Deadline) -> Group | None:
        request = DescribeGroupsRequest(groups=[group_id])
        found = cluster.call(connection, request, deadline).groups[0]
        if found.error_code == Error.GROUP_ID_NOT_FOUND or found.group_state == _DEAD:
            return None
        _check(found, group_id)
        members = [
            Member(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                read_assignment(bytes(member.member_assignment)),
            )
            for member in found.members
        ]
        return Group(
            group_id,
            is_simple=not found.protocol_type,
            assignor=found.protocol_data,
            state=found.group_state,
            type="CLASSIC",
            is_mixed=False,
            coordinator=_node(cluster, group_id),
            members=tuple(members),
        )

    return with_coordinator(cluster, group_id, f"describing the group {group_id}", once)


def _check(found: Any, group_id: str) -> None:
    if found.error_code:
        raise BrokerRefused(
            found.error_code, f"describing the group {group_id}", found.error_message
        )


def _node(cluster: Cluster, group_id: str) -> int:
    """The broker behind the connection to a group's coordinator."""
    where = cluster.coordinator(group_id).where
    for broker in describe_cluster(cluster).brokers:
        if (broker.host, broker.port) == where:
            return broker.broker_id
    return -1


def read_assignment(data: bytes) -> tuple[TopicPartition, ...]:
    """The partitions in a classic member's assignment: version, then topics with partitions."""
    places = []
    try:
        (topics,) = _INT32.unpack_from(data, 2)
        position = 6
        for _ in range(min(topics, len(data))):
            (length,) = _INT16.unpack_from(data, position)
            position += 2
            if length < 0 or position + length > len(data):
                return ()
            name = data[position : position + length].decode()
            position += length
            (count,) = _INT32.unpack_from(data, position)
            position += 4
            for _ in range(min(count, len(data))):
                places.append(TopicPartition(name, *_INT32.unpack_from(data, position)))
                position += 4
    except (error, UnicodeDecodeError):
        return ()
    return tuple(sorted(places))
