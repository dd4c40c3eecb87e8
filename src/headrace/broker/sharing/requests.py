"""What ShareFetch and ShareAcknowledge have in common: who asks, and what is acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, TypeVar
from uuid import UUID

from headrace.broker.groups.tickets import Gathering
from headrace.broker.membership import leader_hints
from headrace.broker.sharing.sessions import SessionName
from headrace.errors import ClientFault, Error
from headrace.replica.sharing.states import Acknowledgement, AcknowledgeType
from headrace.types import SharePartitionKey

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.sharing.partitions import SharePartitions

Outcomes = dict[SharePartitionKey, Error]


class _Batch(Protocol):
    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


class _AskedPartition(Protocol):
    partition_index: int

    @property
    def acknowledgement_batches(self) -> Sequence[_Batch]: ...


class _AskedTopic(Protocol):
    topic_id: UUID

    @property
    def partitions(self) -> Sequence[_AskedPartition]: ...


P = TypeVar("P")


def session_name(group_id: str | None, member_id: str | None) -> SessionName:
    if not group_id or not member_id:
        raise ClientFault(Error.INVALID_REQUEST, "a share session needs a group and a member id")
    return SessionName(group_id, member_id)


def acknowledgements(batches: Sequence[_Batch], *, may_renew: bool) -> list[Acknowledgement]:
    """The batches of a request, if they are in order and say something about each offset."""
    for before, after in pairwise(batches):
        if after.first_offset <= before.last_offset:
            raise ClientFault(Error.INVALID_REQUEST, "acknowledgements overlap or are not in order")
    last_type = AcknowledgeType.RENEW if may_renew else AcknowledgeType.REJECT
    taken = []
    for batch in batches:
        types = tuple(batch.acknowledge_types)
        count = batch.last_offset - batch.first_offset + 1
        if count < 1 or len(types) not in (1, count):
            raise ClientFault(
                Error.INVALID_REQUEST, f"{len(types)} types of acknowledgement for {count} offsets"
            )
        if any(not 0 <= each <= last_type for each in types):
            raise ClientFault(Error.INVALID_REQUEST, "unknown type of acknowledgement")
        taken.append(Acknowledgement(batch.first_offset, batch.last_offset, types))
    return taken


def acknowledged_parts(
    group_id: str, topics: Iterable[_AskedTopic]
) -> Iterator[tuple[SharePartitionKey, Sequence[_Batch]]]:
    """The partitions of a request that have something to acknowledge."""
    for topic in topics:
        for asked in topic.partitions:
            if asked.acknowledgement_batches:
                key = SharePartitionKey(group_id, topic.topic_id, asked.partition_index)
                yield key, asked.acknowledgement_batches


def acknowledge_all(
    share_partitions: SharePartitions,
    name: SessionName,
    parts: Sequence[tuple[SharePartitionKey, Sequence[_Batch]]],
    *,
    may_renew: bool,
    done: Callable[[Outcomes], None],
) -> None:
    """Take the acknowledgements of one request; `done` is called when each is kept or refused."""
    gathering: Gathering[Error] = Gathering(
        len(parts),
        lambda errors: done({key: error for (key, _), error in zip(parts, errors, strict=True)}),
    )
    for index, (key, batches) in enumerate(parts):
        tell = partial(gathering.put, index)
        try:
            taken = acknowledgements(batches, may_renew=may_renew)
            led = share_partitions.find(key)
        except ClientFault as fault:
            tell(fault.error)
        else:
            share_partitions.acknowledge(led, name.member_id, taken, tell)


def leader_of(metadata: Metadata, key: SharePartitionKey, error: int) -> tuple[int, int]:
    """Who leads a partition that is not led here; (0, 0) where nobody needs to know, as Kafka."""
    if error not in leader_hints.HINTED:
        return 0, 0
    name = metadata.image.topic_names.get(key.topic_id, "")
    return leader_hints.leader_of(metadata, name, key.partition)


def by_topic(parts: Iterable[tuple[SharePartitionKey, P]]) -> dict[UUID, list[P]]:
    topics: dict[UUID, list[P]] = {}
    for key, part in parts:
        topics.setdefault(key.topic_id, []).append(part)
    return topics
