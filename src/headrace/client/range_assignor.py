"""Partitions dealt to the members of a consumer group, topic by topic in ranges (`range`).

It is the first choice of every consumer of Kafka, so a group may hold members of any kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from headrace.wire.consumer_protocol import (
    ConsumerProtocolAssignment,
    TopicPartitions,
    decode_subscription,
    encode_assignment,
)

NAME = "range"
_VERSION = 1


def assigned(members: Mapping[str, bytes], partitions: Mapping[str, int]) -> dict[str, bytes]:
    """The assignment of each member, from what all want and how many partitions there are."""
    wanted: defaultdict[str, list[str]] = defaultdict(list)
    for member in sorted(members):
        for topic in decode_subscription(members[member]).topics:
            wanted[topic].append(member)
    dealt: dict[str, list[TopicPartitions]] = {member: [] for member in members}
    for topic, owners in sorted(wanted.items()):
        whole, more = divmod(partitions.get(topic, 0), len(owners))
        first = 0
        for place, owner in enumerate(owners):
            count = whole + (place < more)
            if count:
                numbers = list(range(first, first + count))
                dealt[owner].append(TopicPartitions(topic=topic, partitions=numbers))
            first += count
    return {
        member: encode_assignment(
            ConsumerProtocolAssignment(assigned_partitions=given, user_data=None), _VERSION
        )
        for member, given in dealt.items()
    }


def subscribed(members: Mapping[str, bytes]) -> set[str]:
    """All topics that some member wants."""
    return {topic for data in members.values() for topic in decode_subscription(data).topics}
