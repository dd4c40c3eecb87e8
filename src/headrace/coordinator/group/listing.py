"""How groups look from outside: ListGroups, and the requests that describe them.

Each kind of group is described by a request of its own; the others do not find it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from headrace.coordinator.group import consumer
from headrace.coordinator.group.classic import ClassicGroup, ClassicState
from headrace.coordinator.group.consumer import ConsumerGroup
from headrace.coordinator.group.share import ShareGroup
from headrace.errors import ClientFault, Error
from headrace.wire.consumer_protocol import PROTOCOL_TYPE
from headrace.wire.messages import consumer_group_describe, describe_groups
from headrace.wire.messages.list_groups import ListedGroup

Group: TypeAlias = ClassicGroup | ConsumerGroup | ShareGroup

NOT_FOUND_SINCE: Final = 6
DEAD: Final = ClassicState.DEAD.value


def listed_groups(
    groups: Iterable[Group], states_filter: list[str], types_filter: list[str]
) -> list[ListedGroup]:
    """The groups in any of these states and of any of these types; no filter keeps all."""
    states = {state.strip().lower() for state in states_filter}
    types = {type_.lower() for type_ in types_filter}
    everything = (_listed(group) for group in groups)
    return [
        group
        for group in everything
        if (not states or group.group_state.lower() in states)
        and (not types or group.group_type in types)
    ]


def _listed(group: Group) -> ListedGroup:
    protocol_type, group_type = PROTOCOL_TYPE, "consumer"
    if isinstance(group, ClassicGroup):
        protocol_type, group_type = group.protocol_type or "", "classic"
    elif isinstance(group, ShareGroup):
        protocol_type = group_type = "share"
    return ListedGroup(
        group_id=group.group_id,
        protocol_type=protocol_type,
        group_state=group.state.value,
        group_type=group_type,
    )


def described_classic(
    group_id: str, group: Group | None, version: int
) -> describe_groups.DescribedGroup:
    """A group as DescribeGroups shows it; one that is none is dead, and from v6 on an error."""
    if isinstance(group, ClassicGroup):
        return group.describe()
    answer = refused_classic(group_id, Error.NONE, DEAD)
    if version >= NOT_FOUND_SINCE:
        answer.error_code = Error.GROUP_ID_NOT_FOUND
        answer.error_message = why_not_found(group_id, group, "classic")
    return answer


def refused_classic(group_id: str, error: Error, state: str = "") -> describe_groups.DescribedGroup:
    """A group that DescribeGroups cannot show."""
    return describe_groups.DescribedGroup(
        error_code=error,
        group_id=group_id,
        group_state=state,
        protocol_type="",
        protocol_data="",
        members=[],
    )


def described_consumer(
    group_id: str, group: Group | None
) -> consumer_group_describe.DescribedGroup:
    """A group as ConsumerGroupDescribe shows it."""
    if isinstance(group, ConsumerGroup):
        return consumer.describe(group)
    if not group_id:
        return refused_consumer(group_id, Error.INVALID_GROUP_ID)
    why = why_not_found(group_id, group, "consumer")
    return refused_consumer(group_id, Error.GROUP_ID_NOT_FOUND, why)


def refused_consumer(
    group_id: str, error: Error, message: str | None = None
) -> consumer_group_describe.DescribedGroup:
    """A group that ConsumerGroupDescribe cannot show."""
    return consumer_group_describe.DescribedGroup(
        error_code=error,
        error_message=message,
        group_id=group_id,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=[],
    )


def why_not_found(group_id: str, group: Group | None, kind: str) -> str:
    """There is no group of this kind: in Kafka's words, which clients may show."""
    if group is None:
        return f"Group {group_id} not found."
    return f"Group {group_id} is not a {kind} group."


def without_offsets(group: ShareGroup) -> ClientFault:
    """Share groups commit no offsets: what to tell whoever asks for some."""
    return ClientFault(Error.GROUP_ID_NOT_FOUND, why_not_found(group.group_id, group, "consumer"))
