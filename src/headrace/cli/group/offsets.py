"""What a group has committed, where the logs end, and so how far behind it is."""

from __future__ import annotations

from typing import NamedTuple

from headrace.admin.client import Admin
from headrace.admin.groups import GroupView, MemberView
from headrace.admin.records import led_offsets
from headrace.client.group_offsets import committed_offsets
from headrace.client.offsets import LATEST
from headrace.types import Offset, TopicPartition


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


def read_committed(admin: Admin, group: str) -> dict[TopicPartition, Offset]:
    """The offsets that the group has committed."""
    return {place: offset for place, (offset, _) in committed_offsets(admin.cluster, group).items()}


def read_standings(admin: Admin, group: GroupView) -> list[Standing]:
    """One row for each partition that the group has committed to, or that a member owns."""
    committed = read_committed(admin, group.group)
    owners = {place: member for member in group.members for place in member.assignment}
    places = sorted(committed.keys() | owners.keys())
    ends = led_offsets(admin, places, LATEST)
    return [_stand(each, committed.get(each), ends.get(each), owners.get(each)) for each in places]


def _stand(
    place: TopicPartition, current: Offset | None, end: Offset | None, owner: MemberView | None
) -> Standing:
    return Standing(
        topic=place.topic,
        partition=place.partition,
        current_offset=current,
        log_end_offset=end,
        # A log that was cut below the committed offset leaves nothing to read, not less.
        lag=None if current is None or end is None else max(end - current, 0),
        member=owner.id if owner else None,
        host=owner.host.lstrip("/") if owner else None,
        client_id=owner.client_id if owner else None,
    )
