"""Subscriptions by regular expression: when they are resolved, and to which topics (KIP-848).

All topics are looked at once for all expressions of a group, not for each member that joins: after
a heartbeat, in a step of its own, and at most every ten seconds. A member whose expression was not
resolved yet gets nothing for it until then.
"""

from __future__ import annotations

from enum import Enum, auto
from functools import lru_cache
from typing import Final

from headrace.coordinator.group.consumer.member import Member
from headrace.coordinator.group.consumer.persistence import (
    RECORDS,
    ResolvedRegex,
    regex_record,
    regex_tombstone,
)
from headrace.coordinator.group.consumer.roster import Roster
from headrace.coordinator.group.consumer.timers import REGEX
from headrace.coordinator.group.modern.subscriptions import metadata_hash
from headrace.coordinator.group.modern.timers import TimerKey
from headrace.coordinator.group.records import GroupRecord
from headrace.coordinator.patterns import InvalidRegex, Pattern, compile_regex
from headrace.errors import ClientFault, Error

MIN_REFRESH_INTERVAL_MS: Final = 10_000

_compiled = lru_cache(maxsize=1_000)(compile_regex)


class RegexChange(Enum):
    """What a request did to the member's regular expression."""

    NONE = auto()
    UNRESOLVED = auto()  # it is another one, whose topics are not known yet
    RESOLVED = auto()  # it is another one, or there is none any more, and the topics are known


def check_regex(text: str) -> None:
    """Refuse what is no regular expression."""
    try:
        _compiled(text)
    except InvalidRegex as reason:
        raise ClientFault(
            Error.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{text}` is not a regular expression of RE2: {reason}",
        ) from None


def change_regex(
    group: Roster, before: Member, after: Member, now_ms: int, records: list[GroupRecord]
) -> RegexChange:
    """Note what became of a member's expression, and see to it that all are resolved."""
    old, new = before.subscribed_topic_regex, after.subscribed_topic_regex
    if old == new and not group.regex_subscribers:
        return RegexChange.NONE
    subscribers = dict(group.regex_subscribers)
    change = RegexChange.NONE
    is_new = False
    if old != new:
        change = RegexChange.UNRESOLVED
        if old and subscribers.get(old) == 1:
            records.append(regex_tombstone(group.group_id, old))
            del subscribers[old]
        if new:
            is_new = new not in subscribers
            if is_new:
                check_regex(new)
            elif new in group.regexes:
                change = RegexChange.RESOLVED
            subscribers[new] = subscribers.get(new, 0) + 1
        else:
            change = RegexChange.RESOLVED
    if subscribers and _must_refresh(group, len(subscribers), now_ms, is_new=is_new):
        group.timers.set(TimerKey(REGEX, group.group_id), now_ms)
    return change


def _must_refresh(group: Roster, count: int, now_ms: int, *, is_new: bool) -> bool:
    last = next(iter(group.regexes.values()), None)
    if last is None:
        return True
    age_ms = now_ms - last.timestamp_ms
    if age_ms <= MIN_REFRESH_INTERVAL_MS:
        return False
    return (
        is_new
        or count != len(group.regexes)
        or last.version != group.topics.epoch
        or age_ms > group.settings.group_consumer_regex_refresh_interval_ms
    )


def resolve_regexes(group: Roster, now_ms: int) -> list[GroupRecord]:
    """Find the topics of all expressions; a new epoch if the group's topics are others now."""
    records: list[GroupRecord] = []
    names = list(group.topics.names())
    wanted: set[str] = set()
    stands_for_others = False
    for member in group.members.values():
        wanted |= member.subscribed_topic_names
    for regex in sorted(group.regex_subscribers):
        topics = frozenset(_matching(regex, names))
        wanted |= topics
        known = group.regexes.get(regex)
        stands_for_others |= topics != (frozenset() if known is None else known.topics)
        resolved = ResolvedRegex(topics, group.topics.epoch, now_ms)
        records.append(regex_record(group.group_id, regex, resolved))
    hashed = metadata_hash(wanted, group.topics)
    # Topics that the group knew already by another name may be new to the members of this one.
    if hashed != group.metadata_hash or stands_for_others:
        records.append(RECORDS.epoch(group.group_id, group.group_epoch + 1, hashed))
    if hashed != group.metadata_hash:
        group.topics_were_seen = True
    return records


def _matching(regex: str, names: list[str]) -> list[str]:
    try:
        pattern: Pattern = _compiled(regex)
    except InvalidRegex:
        return []  # from the log of a broker that took it
    return [name for name in names if pattern.matches(name)]
