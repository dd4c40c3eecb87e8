"""What a group has committed, where the logs begin and end, and so how far behind it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.cli.group.view import Group, Member, TopicPart
from headrace.cli.kafka import TIMEOUT_S, admin_api, explain, explained
from headrace.cli.target import Target
from headrace.types import Offset

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient


class Standing(NamedTuple):
    """How a group stands in one partition; None is what nobody knows."""

    topic: str
    partition: int
    current_offset: Offset | None
    log_end_offset: Offset | None
    lag: int | None
    member: str | None
    host: str | None
    client_id: str | None


def read_committed(admin: AdminClient, target: Target, group: str) -> dict[TopicPart, Offset]:
    """The offsets that the group has committed."""
    from confluent_kafka import ConsumerGroupTopicPartitions

    (future,) = admin.list_consumer_group_offsets(
        [ConsumerGroupTopicPartitions(group)], request_timeout=TIMEOUT_S
    ).values()
    with explained(target, f'group "{group}"'):
        result: Any = future.result(timeout=TIMEOUT_S * 2)
    committed = {}
    for each in result.topic_partitions:
        if each.error is not None:
            raise explain(each.error, target, f"{each.topic}:{each.partition}")
        if each.offset >= 0:
            committed[TopicPart(each.topic, each.partition)] = each.offset
    return committed


def read_offsets(
    admin: AdminClient, parts: Iterable[TopicPart], spec: Any
) -> dict[TopicPart, Offset]:
    """The offset of each partition by a `OffsetSpec`; those without a leader are left out.

    A time later than every record gives -1, as the broker does.
    """
    from confluent_kafka import KafkaException, TopicPartition

    wanted = {TopicPartition(*part): spec for part in parts}
    futures = admin.list_offsets(wanted, request_timeout=TIMEOUT_S) if wanted else {}
    offsets = {}
    for where, future in futures.items():
        try:
            found = future.result(timeout=TIMEOUT_S * 2).offset
        except KafkaException:
            continue
        offsets[TopicPart(where.topic, where.partition)] = found
    return offsets


def read_standings(admin: AdminClient, target: Target, group: Group) -> list[Standing]:
    """One row for each partition that the group has committed to, or that a member owns."""
    committed = read_committed(admin, target, group.group)
    owners = {part: member for member in group.members for part in member.assignment}
    parts = sorted(committed.keys() | owners.keys())
    ends = read_offsets(admin, parts, admin_api().OffsetSpec.latest())
    return [_stand(part, committed.get(part), ends.get(part), owners.get(part)) for part in parts]


def _stand(
    part: TopicPart, current: Offset | None, end: Offset | None, owner: Member | None
) -> Standing:
    known = current is not None and end is not None
    return Standing(
        topic=part.topic,
        partition=part.partition,
        current_offset=current,
        log_end_offset=end,
        # A log that was cut below the committed offset leaves nothing to read, not less.
        lag=max(end - current, 0) if known else None,  # type: ignore[operator]
        member=owner.member if owner else None,
        host=owner.host if owner else None,
        client_id=owner.client_id if owner else None,
    )
