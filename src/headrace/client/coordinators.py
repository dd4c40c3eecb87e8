"""Something done at a coordinator: tried again, elsewhere if it has moved, until time is up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from headrace.client.cluster import Cluster
from headrace.client.connection import Connection
from headrace.client.faults import BrokerRefused
from headrace.client.retrying import PASSING, Deadline
from headrace.errors import Error, HeadraceError

T = TypeVar("T")

_MOVED: Final = (Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE)


def with_coordinator(
    cluster: Cluster,
    key: str,
    what: str,
    once: Callable[[Connection, Deadline], T],
    *,
    transactional: bool = False,
) -> T:
    """What `once` returns at the coordinator of a group, or of a transactional id."""
    deadline = cluster.deadline(what)
    while True:
        connection = cluster.coordinator(key, transactional=transactional, within=deadline)
        try:
            return once(connection, deadline)
        except PASSING as error:
            if _has_moved(error):
                cluster.forget_coordinator(key, transactional=transactional)
            deadline.rest(error)


def _has_moved(error: HeadraceError) -> bool:
    return not isinstance(error, BrokerRefused) or error.error in _MOVED
