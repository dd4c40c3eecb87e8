"""Requests to the broker that must answer them: a coordinator, or the leader of a partition.

It is asked again for as long as it says that it is only just moving or loading, within the client's
time. What the requests mean is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from headrace.admin.client import Admin
from headrace.admin.faults import Refused
from headrace.client.connection import Connection
from headrace.client.coordinators import with_coordinator
from headrace.client.faults import BrokerRefused
from headrace.client.retrying import Deadline
from headrace.errors import Error
from headrace.types import TopicPartition

_MOVING: Final = (
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_COORDINATOR,
    Error.CONCURRENT_TRANSACTIONS,
    Error.NOT_LEADER_OR_FOLLOWER,
    Error.LEADER_NOT_AVAILABLE,
)


def _whole(answer: Any) -> Any:
    return answer


def at_coordinator(
    admin: Admin,
    key: str,
    request: Any,
    part: Callable[[Any], Any] = _whole,
    *,
    transactional: bool = False,
) -> Any:
    """What the coordinator of a group, or of a transactional id, answers.

    `part` finds in the answer what has the error code.
    """
    what = f"asking for the {'transactional id' if transactional else 'group'} {key}"

    def once(connection: Connection, deadline: Deadline) -> Any:
        found = part(admin.cluster.call(connection, request, deadline))
        if found.error_code in _MOVING:
            raise BrokerRefused(found.error_code, what)
        return found

    return with_coordinator(admin.cluster, key, what, once, transactional=transactional)


def patiently(admin: Admin, what: str, ask: Callable[[], Any]) -> Any:
    """What a broker answers once it no longer says that something is moving or loading."""
    deadline = admin.cluster.deadline(what)
    while True:
        found = ask()
        if found.error_code not in _MOVING:
            return found
        deadline.rest(BrokerRefused(found.error_code, what))


def at_leader(
    admin: Admin, place: TopicPartition, request: Any, part: Callable[[Any], Any] = _whole
) -> Any:
    """What a partition's leader answers."""
    return patiently(
        admin,
        f"asking the leader of {place}",
        lambda: part(admin.ask_broker(leader_of(admin, place), request)),
    )


def leader_of(admin: Admin, place: TopicPartition) -> int:
    """The id of the leader; `Refused` if there is no such partition, or it has none."""
    leader = admin.partition(place).leader
    if leader is None:
        raise Refused(
            Error.LEADER_NOT_AVAILABLE,
            f'partition {place.partition} of topic "{place.topic}" has no leader',
        )
    return leader


def coordinator_of(admin: Admin, key: str, *, transactional: bool = False) -> tuple[int, str, int]:
    """The id and the address of the coordinator of a group, or of a transactional id."""
    connection = admin.cluster.coordinator(key, transactional=transactional)
    addresses: Mapping[tuple[str, int], int] = {
        (each.host, each.port): each.id for each in admin.describe_cluster().brokers
    }
    return (addresses.get(connection.where, -1), *connection.where)
