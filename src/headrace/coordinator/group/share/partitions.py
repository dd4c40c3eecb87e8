"""Which partitions a share group has durable state for, as a value: a change makes a new one.

    subscribed ──begin──▶ initializing ──begun──▶ initialized ──end──▶ deleting ──ended──▶ gone

A partition is given to members only while it is initialized. What is initializing or deleting says
that the share coordinator was, or will be, asked; whoever loads the group and finds it there asks
again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from headrace.coordinator.effects import StateRecord
from headrace.coordinator.group.records import GroupRecord
from headrace.coordinator.group.share_records import (
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    TopicInfo,
    TopicPartitionsInfo,
)
from headrace.types import SharePartitionKey


class TopicShare(NamedTuple):
    """Partitions of a topic, and its name."""

    name: str
    partitions: frozenset[int]


Shares = Mapping[UUID, TopicShare]


@dataclass(frozen=True, slots=True)
class StatePartitions:
    """Topics by id. A partition may be both initialized and about to begin anew."""

    initializing: Shares = field(default_factory=dict)
    initialized: Shares = field(default_factory=dict)
    deleting: Mapping[UUID, str] = field(default_factory=dict)

    def topic_ids(self) -> set[UUID]:
        return {*self.initializing, *self.initialized, *self.deleting}

    def is_initialized(self, key: SharePartitionKey) -> bool:
        share = self.initialized.get(key.topic_id)
        return share is not None and key.partition in share.partitions

    def may_have_state(self, group_id: str) -> frozenset[SharePartitionKey]:
        """All partitions for which the share coordinator may hold something."""
        return frozenset(
            SharePartitionKey(group_id, topic_id, each)
            for shares in (self.initializing, self.initialized)
            for topic_id, share in shares.items()
            for each in share.partitions
        )

    def begin(self, shares: Shares) -> StatePartitions:
        """These are to be initialized, whatever they were."""
        return StatePartitions(
            _joined(self.initializing, shares),
            self.initialized,
            {topic: name for topic, name in self.deleting.items() if topic not in shares},
        )

    def begun(self, partitions: Collection[SharePartitionKey]) -> StatePartitions:
        """These have been initialized; those of which nobody knows any more are left out."""
        found: dict[UUID, TopicShare] = {}
        for topic_id, share in self.initializing.items():
            done = {each.partition for each in partitions if each.topic_id == topic_id}
            numbers = share.partitions & done
            if numbers:
                found[topic_id] = TopicShare(share.name, numbers)
        return StatePartitions(
            _reduced(self.initializing, found), _joined(self.initialized, found), self.deleting
        )

    def end(self, topics: Mapping[UUID, str]) -> StatePartitions:
        """The state of these topics is to go."""
        kept = self.without(topics)
        return StatePartitions(
            kept.initializing, kept.initialized, {**kept.deleting, **dict(topics)}
        )

    def without(self, topic_ids: Collection[UUID]) -> StatePartitions:
        """Nothing is known of these topics any more."""
        return StatePartitions(
            {each: share for each, share in self.initializing.items() if each not in topic_ids},
            {each: share for each, share in self.initialized.items() if each not in topic_ids},
            {each: name for each, name in self.deleting.items() if each not in topic_ids},
        )

    def to_record(self, group_id: str) -> GroupRecord:
        """What makes the log know these; equal values are equal bytes on every broker."""
        value = ShareGroupStatePartitionMetadataValue(
            initializing_topics=_to_infos(self.initializing),
            initialized_topics=_to_infos(self.initialized),
            deleting_topics=[
                TopicInfo(topic_id=each, topic_name=self.deleting[each])
                for each in sorted(self.deleting)
            ],
        )
        return StateRecord(ShareGroupStatePartitionMetadataKey(group_id=group_id), value)


def from_value(value: ShareGroupStatePartitionMetadataValue) -> StatePartitions:
    """What a record says."""
    return StatePartitions(
        _from_infos(value.initializing_topics),
        _from_infos(value.initialized_topics),
        {each.topic_id: each.topic_name for each in value.deleting_topics},
    )


def _joined(one: Shares, other: Shares) -> dict[UUID, TopicShare]:
    joined = dict(one)
    for topic_id, share in other.items():
        known = joined.get(topic_id)
        numbers = share.partitions if known is None else share.partitions | known.partitions
        joined[topic_id] = TopicShare(share.name, numbers)
    return joined


def _reduced(shares: Shares, by: Shares) -> dict[UUID, TopicShare]:
    reduced = {}
    for topic_id, share in shares.items():
        numbers = share.partitions - (by[topic_id].partitions if topic_id in by else frozenset())
        if numbers:
            reduced[topic_id] = TopicShare(share.name, numbers)
    return reduced


def _to_infos(shares: Shares) -> list[TopicPartitionsInfo]:
    return [
        TopicPartitionsInfo(
            topic_id=each, topic_name=shares[each].name, partitions=sorted(shares[each].partitions)
        )
        for each in sorted(shares)
    ]


def _from_infos(infos: Iterable[TopicPartitionsInfo]) -> dict[UUID, TopicShare]:
    return {
        each.topic_id: TopicShare(each.topic_name, frozenset(each.partitions)) for each in infos
    }
