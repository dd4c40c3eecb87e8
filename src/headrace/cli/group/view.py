"""Groups as their coordinators describe them, as plain data.

librdkafka knows most of it; epochs, and the states that only groups of the new protocol have, are
asked for directly where that is possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from headrace.cli.direct import Keeper, open_brokers
from headrace.cli.failures import Failure, did_you_mean
from headrace.cli.kafka import TIMEOUT_S, explained, settle
from headrace.cli.target import Target
from headrace.errors import Error, HeadraceError
from headrace.types import TopicPartition

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

# librdkafka's names of states, and Kafka's.
_STATES: Final = {
    "PREPARING_REBALANCING": "PreparingRebalance",
    "COMPLETING_REBALANCING": "CompletingRebalance",
    "STABLE": "Stable",
    "DEAD": "Dead",
    "EMPTY": "Empty",
}
UNKNOWN: Final = "Unknown"
TopicPart: TypeAlias = TopicPartition
# Kafka's states of groups in both protocols.
STATES: Final = (*_STATES.values(), "Assigning", "Reconciling")


class Member(NamedTuple):
    member: str
    instance: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPart, ...]
    target_assignment: tuple[TopicPart, ...] | None
    epoch: int | None


class Group(NamedTuple):
    """`exists` is False for what Kafka calls a dead group: one that nobody has heard of."""

    group: str
    exists: bool
    type: str
    state: str
    assignor: str | None
    coordinator: int
    coordinator_address: str
    group_epoch: int | None
    assignment_epoch: int | None
    members: tuple[Member, ...]


class Listed(NamedTuple):
    group: str
    type: str
    state: str


def list_groups(admin: AdminClient, target: Target) -> list[Listed]:
    """Every group that consumers use, by name; coordinators that do not answer fail the call."""
    with explained(target):
        result: Any = admin.list_consumer_groups(request_timeout=TIMEOUT_S).result(
            timeout=TIMEOUT_S * 2
        )
        for error in result.errors:
            raise error
    listed = {
        each.group_id: Listed(each.group_id, each.type.name.lower(), state_name(each.state))
        for each in result.valid
    }
    unnamed = [each.group for each in listed.values() if each.state == UNKNOWN]
    for name, described in _ask_directly(target, unnamed).items():
        listed[name] = listed[name]._replace(state=described.group_state)
    return [listed[name] for name in sorted(listed)]


def state_name(state: Any) -> str:
    return _STATES.get(state.name, UNKNOWN)


def read_groups(
    admin: AdminClient, target: Target, names: Iterable[str]
) -> tuple[list[Group], list[Failure]]:
    """The groups in the order of their names on the command line, and what could not be had."""
    wanted = list(dict.fromkeys(names))
    futures = admin.describe_consumer_groups(wanted, request_timeout=TIMEOUT_S)
    described, failures = settle(futures, target, "group")
    modern = [name for name, each in described.items() if each.type.name == "CONSUMER"]
    more = _ask_directly(target, modern)
    return [_group(described[name], more.get(name)) for name in wanted if name in described], (
        failures
    )


def require_groups(
    admin: AdminClient, target: Target, names: Iterable[str]
) -> tuple[list[Group], list[Failure]]:
    """Like `read_groups`, and a group that is not there is a failure with the names like it."""
    groups, failures = read_groups(admin, target, names)
    missing = [group.group for group in groups if not group.exists]
    if missing:
        known = [listed.group for listed in list_groups(admin, target)]
        failures += [no_such_group(name, known) for name in missing]
    return [group for group in groups if group.exists], failures


def no_such_group(name: str, known: Iterable[str]) -> Failure:
    hint = did_you_mean(name, known) or 'see "headrace group list"'
    return Failure(f'there is no group "{name}"', hint)


def _group(described: Any, more: Any) -> Group:
    epochs = {} if more is None else {each.member_id: each.member_epoch for each in more.members}
    node = described.coordinator
    return Group(
        group=described.group_id,
        exists=described.state.name != "DEAD",
        type=described.type.name.lower(),
        state=state_name(described.state) if more is None else more.group_state,
        assignor=described.partition_assignor or None,
        coordinator=node.id,
        coordinator_address=f"{node.host}:{node.port}",
        group_epoch=None if more is None else more.group_epoch,
        assignment_epoch=None if more is None else more.assignment_epoch,
        members=tuple(
            Member(
                member=member.member_id,
                instance=member.group_instance_id,
                client_id=member.client_id,
                host=member.host.lstrip("/"),
                assignment=_parts(member.assignment),
                target_assignment=(
                    None if member.target_assignment is None else _parts(member.target_assignment)
                ),
                epoch=epochs.get(member.member_id),
            )
            for member in sorted(described.members, key=lambda each: str(each.member_id))
        ),
    )


def _parts(assignment: Any) -> tuple[TopicPart, ...]:
    return tuple(
        sorted(TopicPart(each.topic, each.partition) for each in assignment.topic_partitions)
    )


def _ask_directly(target: Target, names: Sequence[str]) -> dict[str, Any]:
    """ConsumerGroupDescribe for each; what cannot be had this way is left out, not complained of.

    It only adds to what librdkafka has told, and a listener with SASL is closed to it.
    """
    from headrace.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest

    found: dict[str, Any] = {}
    if not names:
        return found
    try:
        with open_brokers(target) as brokers:
            for name in names:
                answer = brokers.ask_coordinator(
                    Keeper.GROUP,
                    name,
                    ConsumerGroupDescribeRequest(group_ids=[name]),
                    lambda response: int(response.groups[0].error_code),
                )
                if answer.groups[0].error_code == Error.NONE:
                    found[name] = answer.groups[0]
    except HeadraceError:
        return found
    return found
