"""Offsets by time: ListOffsets, one request per leader, all of them under way at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from headrace.client.cluster import Cluster, Route
from headrace.client.connection import Reply
from headrace.client.faults import BrokerRefused
from headrace.client.retrying import PASSING, Deadline
from headrace.errors import Error, HeadraceError
from headrace.types import TopicPartition
from headrace.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

EARLIEST: Final = -2
LATEST: Final = -1
_CONSUMER: Final = -1


class FoundOffset(NamedTuple):
    """Offset -1: no record is that young. The timestamp is -1 for both ends of the log."""

    offset: int
    timestamp: int
    leader_epoch: int


def list_offsets(
    cluster: Cluster, at: Mapping[TopicPartition, int], *, read_committed: bool
) -> dict[TopicPartition, FoundOffset]:
    """The first offset of each partition whose record is no older than its timestamp.

    `LATEST` is the last stable offset for read_committed, otherwise the high watermark.
    """
    deadline = cluster.deadline(f"looking up the offsets of {_names(at)}")
    found: dict[TopicPartition, FoundOffset] = {}
    while len(found) < len(at):
        missing = {place: time for place, time in at.items() if place not in found}
        failure = _look_up(cluster, missing, found, read_committed, deadline)
        if failure is not None:
            deadline.rest(failure)
    return found


def _look_up(
    cluster: Cluster,
    missing: Mapping[TopicPartition, int],
    found: dict[TopicPartition, FoundOffset],
    read_committed: bool,
    deadline: Deadline,
) -> HeadraceError | None:
    """Ask every leader once; returns a reason if something is still missing."""
    failure: HeadraceError | None = None
    replies: list[tuple[Reply, list[TopicPartition]]] = []
    for routes in _by_leader(cluster, missing, deadline):
        try:
            connection = next(iter(routes.values())).connection
            connection.set_timeout(deadline.request_s)
            reply = connection.request(_request(routes, missing, read_committed))
            replies.append((reply, list(routes)))
        except PASSING as error:
            failure = _forget(cluster, routes, error)
    for reply, places in replies:
        try:
            for topic in reply.result().topics:
                for answer in topic.partitions:
                    place = TopicPartition(topic.name, answer.partition_index)
                    _note(found, place, answer)
            if not found.keys() >= set(places):
                raise BrokerRefused(
                    Error.UNKNOWN_SERVER_ERROR,
                    f"looking up the offsets of {_names(places)}",
                    "an answer that leaves partitions out",
                )
        except PASSING as error:
            failure = _forget(cluster, places, error)
    return failure


def _by_leader(
    cluster: Cluster, places: Iterable[TopicPartition], deadline: Deadline
) -> list[dict[TopicPartition, Route]]:
    by_leader: defaultdict[int, dict[TopicPartition, Route]] = defaultdict(dict)
    for place in places:
        route = cluster.route(*place, within=deadline)
        by_leader[route.leader][place] = route
    return list(by_leader.values())


def _request(
    routes: Mapping[TopicPartition, Route], at: Mapping[TopicPartition, int], read_committed: bool
) -> ListOffsetsRequest:
    topics: defaultdict[str, list[ListOffsetsPartition]] = defaultdict(list)
    for place, route in routes.items():
        topics[place.topic].append(
            ListOffsetsPartition(
                partition_index=place.partition,
                current_leader_epoch=route.leader_epoch,
                timestamp=at[place],
            )
        )
    return ListOffsetsRequest(
        replica_id=_CONSUMER,
        isolation_level=int(read_committed),
        topics=[ListOffsetsTopic(name=name, partitions=asked) for name, asked in topics.items()],
    )


def _note(
    found: dict[TopicPartition, FoundOffset],
    place: TopicPartition,
    answer: ListOffsetsPartitionResponse,
) -> None:
    if answer.error_code:
        raise BrokerRefused(answer.error_code, f"looking up an offset of {place}")
    found[place] = FoundOffset(answer.offset, answer.timestamp, answer.leader_epoch)


def _forget(
    cluster: Cluster, places: Iterable[TopicPartition], error: HeadraceError
) -> HeadraceError:
    for topic in {place.topic for place in places}:
        cluster.forget(topic)
    return error


def _names(places: Iterable[TopicPartition]) -> str:
    return ", ".join(sorted({place.topic for place in places}))
