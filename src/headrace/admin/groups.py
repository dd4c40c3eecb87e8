"""Consumer groups as their coordinators know them, and what can be done to them from outside.

Groups of both protocols look alike here: what only the new one has (KIP-848), epochs and a target
assignment, is None for the old. Members' hosts stay as brokers write them, with a slash in front.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable
from struct import Struct
from typing import Any, Final, NamedTuple

from headrace.admin.client import Admin
from headrace.admin.faults import Fault, Refused, fault_in, raise_for
from headrace.admin.routing import at_coordinator, coordinator_of
from headrace.admin.views import by_topic
from headrace.client.connection import Unsupported
from headrace.errors import Error
from headrace.types import TopicPartition

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
CLASSIC: Final = "Classic"
CONSUMER: Final = "Consumer"
DEAD: Final = "Dead"
CONSUMER_PROTOCOL: Final = "consumer"
_NOT_OF_THIS_KIND: Final = (Error.GROUP_ID_NOT_FOUND, Error.UNSUPPORTED_VERSION)
_ABSENT_IS_AN_ERROR: Final = 6
"""The first version of DescribeGroups that does not call an unknown group a dead one (KIP-1043)."""


class GroupListing(NamedTuple):
    """A group as it is listed; type and state are empty where a broker is too old to tell."""

    group: str
    protocol: str
    state: str
    type: str


class MemberView(NamedTuple):
    """`is_upgraded` tells which protocol a member of a mixed group speaks, if that is known."""

    id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]
    target_assignment: tuple[TopicPartition, ...] | None
    epoch: int | None
    is_upgraded: bool | None


class GroupView(NamedTuple):
    group: str
    type: str
    state: str
    assignor: str
    coordinator: tuple[int, str, int]
    group_epoch: int | None
    assignment_epoch: int | None
    members: tuple[MemberView, ...]
    is_simple: bool = False
    """Whether it only keeps offsets: it never had members of a protocol."""

    @property
    def is_mixed(self) -> bool:
        """Whether members of both protocols are in it."""
        return any(member.is_upgraded is False for member in self.members)


def list_groups(
    admin: Admin, *, states: Collection[str] = (), types: Collection[str] = ()
) -> list[GroupListing]:
    """The groups of all coordinators, by name; brokers too old for a filter are not asked to."""
    from headrace.wire.messages.list_groups import ListGroupsRequest

    found: dict[str, GroupListing] = {}
    for broker in sorted(admin.describe_cluster().ids):
        connection = admin.connection(broker)
        request = ListGroupsRequest(states_filter=[], types_filter=[])
        version = connection.newest(ListGroupsRequest)
        if version >= 4:
            request.states_filter = list(states)
        if version >= 5:
            request.types_filter = list(types)
        answer = connection.call(request)
        if answer.error_code == Error.COORDINATOR_NOT_AVAILABLE:
            continue  # This one coordinates nothing yet.
        raise_for(answer.error_code, None)
        for each in answer.groups:
            found[each.group_id] = GroupListing(
                each.group_id, each.protocol_type, each.group_state, each.group_type.capitalize()
            )
    return sorted(found.values())


def list_consumer_groups(
    admin: Admin, *, states: Collection[str] = (), types: Collection[str] = ()
) -> list[GroupListing]:
    """Those that consumers use, whichever protocol they speak; not those of Connect and queues."""
    wanted = types or (CLASSIC, CONSUMER)
    return [
        each
        for each in list_groups(admin, states=states, types=types)
        if each.protocol in ("", CONSUMER_PROTOCOL) and (not each.type or each.type in wanted)
    ]


def describe_group(admin: Admin, group: str) -> GroupView:
    """A consumer group of either protocol; `Refused` with GROUP_ID_NOT_FOUND if there is none."""
    from headrace.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest

    try:
        told = the_group(admin, group, ConsumerGroupDescribeRequest(group_ids=[group]))
    except Unsupported:
        return _describe_classic(admin, group)
    if told.error_code in _NOT_OF_THIS_KIND:
        return _describe_classic(admin, group)
    raise_for(told.error_code, told.error_message)
    return GroupView(
        group,
        CONSUMER,
        told.group_state,
        told.assignor_name,
        coordinator_of(admin, group),
        told.group_epoch,
        told.assignment_epoch,
        tuple(_member(each) for each in told.members),
    )


def find_group(admin: Admin, group: str) -> GroupView | None:
    """Like `describe_group`; None if there is none, which older brokers call a dead one."""
    try:
        found = describe_group(admin, group)
    except Refused as error:
        if error.error is not Error.GROUP_ID_NOT_FOUND:
            raise
        return None
    return None if found.state == DEAD else found


def _member(each: Any) -> MemberView:
    return MemberView(
        each.member_id,
        each.instance_id,
        each.client_id,
        each.client_host,
        places_in(each.assignment),
        places_in(each.target_assignment),
        each.member_epoch,
        None if each.member_type < 0 else bool(each.member_type),
    )


def places_in(assignment: Any) -> tuple[TopicPartition, ...]:
    """The partitions of an assignment on the wire."""
    return tuple(
        sorted(
            TopicPartition(topic.topic_name, number)
            for topic in assignment.topic_partitions
            for number in topic.partitions
        )
    )


def _describe_classic(admin: Admin, group: str) -> GroupView:
    from headrace.wire.messages.describe_groups import DescribeGroupsRequest

    told = the_group(admin, group, DescribeGroupsRequest(groups=[group]))
    raise_for(told.error_code, told.error_message)
    if told.protocol_type not in ("", CONSUMER_PROTOCOL):
        raise Refused(
            Error.INVALID_GROUP_ID,
            f"GroupId {group} is not a consumer group ({told.protocol_type}).",
        )
    return GroupView(
        group,
        CLASSIC,
        told.group_state,
        told.protocol_data,
        coordinator_of(admin, group),
        None,
        None,
        tuple(
            MemberView(
                each.member_id,
                each.group_instance_id,
                each.client_id,
                each.client_host,
                read_assignment(bytes(each.member_assignment)),
                None,
                None,
                None,
            )
            for each in told.members
        ),
        is_simple=not told.protocol_type,
    )


def read_assignment(data: bytes) -> tuple[TopicPartition, ...]:
    """The partitions that a classic member was given; none if the bytes say nothing of that kind.

    Any client may have written them: version, topics with their partitions, data of its own.
    """
    places = []
    try:
        (topics,) = _INT32.unpack_from(data, _INT16.size)
        position = _INT16.size + _INT32.size
        for _ in range(min(topics, len(data))):
            (length,) = _INT16.unpack_from(data, position)
            position += _INT16.size
            if length < 0 or position + length > len(data):
                return ()
            name = data[position : position + length].decode()
            position += length
            (count,) = _INT32.unpack_from(data, position)
            position += _INT32.size
            for _ in range(min(count, len(data))):
                places.append(TopicPartition(name, *_INT32.unpack_from(data, position)))
                position += _INT32.size
    except (struct.error, UnicodeDecodeError):
        return ()
    return tuple(sorted(places))


# -- changing -------------------------------------------------------------------------------------


def delete_group(admin: Admin, group: str) -> Fault | None:
    """Forget a group and its offsets; why not, if it has members or does not exist."""
    from headrace.wire.messages.delete_groups import DeleteGroupsRequest

    request = DeleteGroupsRequest(groups_names=[group])
    result = at_coordinator(admin, group, request, lambda answer: answer.results[0])
    return fault_in(result.error_code)


def delete_offsets(
    admin: Admin, group: str, places: Iterable[TopicPartition]
) -> dict[TopicPartition, Fault | None]:
    """Forget what a group has committed of these; `Refused` if it concerns the whole group."""
    from headrace.wire.messages.offset_delete import (
        OffsetDeleteRequest,
        OffsetDeleteRequestPartition,
        OffsetDeleteRequestTopic,
    )

    topics = [
        OffsetDeleteRequestTopic(
            name=name,
            partitions=[OffsetDeleteRequestPartition(partition_index=each) for each in numbers],
        )
        for name, numbers in by_topic(list(places)).items()
    ]
    answer = at_coordinator(admin, group, OffsetDeleteRequest(group_id=group, topics=topics))
    raise_for(answer.error_code, None)
    return {
        TopicPartition(topic.name, each.partition_index): fault_in(each.error_code)
        for topic in answer.topics
        for each in topic.partitions
    }


class Leaving(NamedTuple):
    """A member to remove: by its id, or by the name of a static member."""

    member_id: str
    instance_id: str | None


def remove_members(
    admin: Admin, group: str, leaving: Iterable[Leaving], reason: str
) -> dict[Leaving, Fault | None]:
    """Take members out of a group; `Refused` if it concerns the whole group."""
    from headrace.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity

    members = [
        MemberIdentity(member_id=each.member_id, group_instance_id=each.instance_id, reason=reason)
        for each in leaving
    ]
    answer = at_coordinator(admin, group, LeaveGroupRequest(group_id=group, members=members))
    raise_for(answer.error_code, None)
    return {
        Leaving(each.member_id, each.group_instance_id): fault_in(each.error_code)
        for each in answer.members
    }


def the_group(admin: Admin, group: str, request: Any) -> Any:
    """What the coordinator says of the one group that a request names."""
    return at_coordinator(admin, group, request, lambda answer: answer.groups[0])
