"""How share partitions get and lose their durable state, from the group's side.

The share coordinator is asked after the log says so, and the outcome is written when it is known.
Who asks again does it in a new epoch of the group: whatever of the first attempt is still on its
way then comes with a lower state epoch and is refused, so it cannot undo what members have done
since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from headrace.coordinator.effects import Effects
from headrace.coordinator.group.effects import GroupEffects, ShareStatesBegin, ShareStatesEnd
from headrace.coordinator.group.share.partitions import TopicShare
from headrace.coordinator.group.share.roster import ShareRoster
from headrace.errors import Error
from headrace.types import SharePartitionKey

BY_SETTING: Final = -1  # the start offset follows share.auto.offset.reset
RETRY_AFTER_MS: Final = 1_000


def missing_partitions(
    group: ShareRoster, wanted: Iterable[str], now_ms: int
) -> dict[UUID, TopicShare]:
    """Partitions of the wanted topics that have no state yet, and for which nobody is asked."""
    missing: dict[UUID, TopicShare] = {}
    if now_ms < group.retry_at_ms:
        return missing
    for name in wanted:
        topic_id = group.topics.topic_id(name)
        if topic_id is None or topic_id in group.ending:
            continue
        keys = (
            SharePartitionKey(group.group_id, topic_id, number)
            for number in range(group.topics.partition_count(name))
        )
        numbers = frozenset(
            key.partition
            for key in keys
            if key not in group.beginning and not group.partitions.is_initialized(key)
        )
        if numbers:
            missing[topic_id] = TopicShare(name, numbers)
    return missing


def is_repetition(group: ShareRoster, shares: Mapping[UUID, TopicShare]) -> bool:
    """Whether the share coordinator may have been asked for some of these before."""
    known = group.partitions
    return any(
        topic_id in known.deleting
        or (topic_id in known.initializing and known.initializing[topic_id].partitions & numbers)
        for topic_id, (_, numbers) in shares.items()
    )


def begin(group: ShareRoster, shares: Mapping[UUID, TopicShare], state_epoch: int) -> GroupEffects:
    """Let these partitions be initialized where the setting says."""
    starts = {
        SharePartitionKey(group.group_id, topic_id, number): BY_SETTING
        for topic_id in sorted(shares)
        for number in sorted(shares[topic_id].partitions)
    }
    group.beginning.update(dict.fromkeys(starts, state_epoch))
    return Effects(
        records=[group.partitions.begin(shares).to_record(group.group_id)],
        sends=[ShareStatesBegin(group.group_id, state_epoch, starts)],
    )


def on_begun(
    group: ShareRoster,
    change: ShareStatesBegin,
    outcomes: Mapping[SharePartitionKey, Error],
    now_ms: int,
) -> GroupEffects:
    """The share coordinator has answered: what it has initialized may be assigned.

    An answer to anything but the last question says nothing: the last one will begin anew.
    """
    last = {each for each in outcomes if group.beginning.get(each) == change.state_epoch}
    for each in last:
        del group.beginning[each]
    done = {each for each in last if outcomes[each] is Error.NONE}
    if len(done) < len(last):
        group.retry_at_ms = now_ms + RETRY_AFTER_MS
        group.is_settled = False
    after = group.partitions.begun(done)
    if after == group.partitions:
        return Effects()
    return Effects(records=[after.to_record(group.group_id)])


def forget_topics(group: ShareRoster, gone: set[UUID]) -> GroupEffects:
    """These topics have been deleted: so is what the group knew of them."""
    if not gone:
        return Effects()
    states = group.partitions.may_have_state(group.group_id)
    held = frozenset(each for each in states if each.topic_id in gone)
    for each in [each for each in group.beginning if each.topic_id in gone]:
        del group.beginning[each]
    group.ending -= gone
    after = group.partitions.without(gone)
    return Effects(
        records=[after.to_record(group.group_id)],
        sends=[ShareStatesEnd(group.group_id, held)] if held else [],
    )
