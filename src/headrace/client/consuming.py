"""A consumer that reads raw batches as a member of its group.

Two threads: the member's own keeps it in the group, the caller's reads. What a rebalance means
happens in the caller's thread, inside of `poll`: `on_revoked` before partitions are given up, when
their offsets can still be committed, `on_assigned` after new ones have come. A member that was
expelled gives up with `on_lost` instead: the offsets are no longer its own.

    poll ── rebalance? ── on_revoked ── the member joins ── on_assigned ── poll
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from headrace.client import range_assignor
from headrace.client.cluster import Cluster
from headrace.client.faults import BrokerRefused
from headrace.client.group_offsets import commit_offsets, committed_offsets
from headrace.client.membership import Assignment, GroupMember, GroupProtocol
from headrace.client.offsets import EARLIEST, LATEST, list_offsets
from headrace.client.reading import PartitionsReader, Read
from headrace.client.retrying import OUTAGE
from headrace.client.settings import ClientSettings
from headrace.errors import Error, HeadraceError
from headrace.types import TopicPartition
from headrace.wire.consumer_protocol import (
    PROTOCOL_TYPE,
    ConsumerProtocolSubscription,
    decode_assignment,
    encode_subscription,
)

_SUBSCRIPTION_VERSION: Final = 1
_LOOK_FOR_MISSING_S: Final = 1.0
EXPELLED: Final = (
    Error.ILLEGAL_GENERATION,
    Error.UNKNOWN_MEMBER_ID,
    Error.REBALANCE_IN_PROGRESS,
    Error.FENCED_INSTANCE_ID,
)
"""What a commit is answered with when the partitions are somebody else's by now."""


class NoOffset(HeadraceError):
    """A partition has no committed offset, and `auto.offset.reset` is none."""


@dataclass(frozen=True, slots=True)
class Consumption:
    """What is read, and as whom. Topics are named, or found by a pattern of whole names."""

    group: str
    topics: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    read_committed: bool = False
    reset: str = "earliest"
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    rebalance_timeout_ms: int = 300_000
    metadata_max_age_ms: int = 300_000
    max_wait_ms: int = 500
    partition_bytes: int = 1 << 20
    max_bytes: int = 16 << 20


class GroupConsumer:
    """Begin with `start`, then `poll` again and again in one thread, and `close` there."""

    def __init__(
        self,
        settings: ClientSettings,
        wanted: Consumption,
        *,
        on_assigned: Callable[[Collection[TopicPartition]], Mapping[TopicPartition, int]],
        on_revoked: Callable[[Collection[TopicPartition]], None],
        on_lost: Callable[[Collection[TopicPartition]], None],
    ) -> None:
        self._wanted = wanted
        self._on_assigned = on_assigned
        self._on_revoked = on_revoked
        self._on_lost = on_lost
        self.cluster = Cluster(settings)
        self._reader = PartitionsReader(
            self.cluster,
            read_committed=wanted.read_committed,
            max_bytes=wanted.max_bytes,
            partition_bytes=wanted.partition_bytes,
            max_wait_ms=wanted.max_wait_ms,
        )
        self._seen: dict[str, int] | None = None
        self._look_at = 0.0
        self._outage: HeadraceError | None = None
        self._member_id = ("", -1)
        # Between the two threads, under the condition's lock.
        self._changed = threading.Condition()
        self._subscribed: list[str] = []
        self._must_give_up = False
        self._was_expelled = False
        self._given: Assignment | None = None
        self._of_member = Cluster(settings)
        self._member = GroupMember(
            settings,
            GroupProtocol(
                wanted.group,
                PROTOCOL_TYPE,
                range_assignor.NAME,
                wanted.session_timeout_ms,
                wanted.heartbeat_interval_ms,
                wanted.rebalance_timeout_ms,
            ),
            metadata=self._metadata,
            assign=self._assign,
            on_assigned=self._assigned,
            on_lost=self._expelled,
            may_rejoin=self._has_given_up,
        )

    # -- the caller's thread ----------------------------------------------------------------------

    def start(self) -> None:
        """Look at the topics and join the group."""
        self._look()
        self._member.start()

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        """The next offset of each partition that is this member's."""
        return self._reader.positions

    @property
    def fault(self) -> HeadraceError | None:
        """Why something cannot be read at the moment."""
        return self._outage or self._reader.fault

    def poll(self, *, wait_s: float = 0.5) -> list[Read]:
        """What came. `advance` says where to go on; what is not advanced comes again."""
        self._outage = None
        self._look()
        self._follow()
        if not self._reader.positions:
            self._idle(wait_s)
            return []
        found = []
        for read in self._reader.poll():
            if read.fetched is not None:
                found.append(read)
            else:
                self._reset(read.place)
        return found

    def stay(self, *, wait_s: float = 0.5) -> None:
        """Remain a member for a while without reading; rebalances are followed as in `poll`."""
        self._outage = None
        self._look()
        self._follow()
        self._idle(wait_s)

    def advance(self, place: TopicPartition, offset: int) -> None:
        """Go on with `offset`; also to go back to it."""
        self._reader.advance(place, offset)

    def ask(self) -> None:
        """Let the brokers work on the next answers."""
        self._reader.ask()

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit as a member; BrokerRefused with one of EXPELLED if it is none any more."""
        values = {place: (offset, "") for place, offset in offsets.items()}
        commit_offsets(self.cluster, self._wanted.group, values, member=self._member_id)

    def close(self) -> None:
        """Give up all partitions, leave the group, and let the connections go."""
        try:
            if self._reader.positions and not self._was_expelled:
                self._give_up(self._on_revoked)
        finally:
            with self._changed:
                self._must_give_up = False
                self._changed.notify_all()
            self._member.close()
            self._of_member.close()
            self.cluster.close()

    def _idle(self, wait_s: float) -> None:
        with self._changed:
            self._changed.wait_for(self._has_news, wait_s)
        self._follow()

    def _has_news(self) -> bool:
        return self._must_give_up or self._was_expelled or self._given is not None

    def _follow(self) -> None:
        """Do what the other thread has heard of."""
        with self._changed:
            expelled, revoked, given = self._was_expelled, self._must_give_up, self._given
            self._was_expelled, self._given = False, None
        if expelled or revoked:
            self._give_up(self._on_lost if expelled else self._on_revoked)
            with self._changed:
                self._must_give_up = False
                self._changed.notify_all()
        if given is not None:
            try:
                self._take(given)
            except OUTAGE as fault:
                self._outage = fault
                with self._changed:
                    self._given = self._given or given

    def _give_up(self, tell: Callable[[Collection[TopicPartition]], None]) -> None:
        places = list(self._reader.positions)
        try:
            if places:
                tell(places)
        finally:
            self._reader.assign({})

    def _take(self, given: Assignment) -> None:
        self._member_id = (given.member_id, given.generation)
        places = [
            TopicPartition(each.topic, number)
            for each in (decode_assignment(given.data).assigned_partitions if given.data else ())
            for number in each.partitions
        ]
        if not places:
            return
        group = self._wanted.group
        committed = committed_offsets(self.cluster, group, require_stable=True, partitions=places)
        found = {place: committed[place][0] for place in places if place in committed}
        found |= {place: at for place, at in self._on_assigned(places).items() if place in places}
        found |= self._begin([place for place in places if place not in found])
        self._reader.assign(found)

    def _begin(self, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Where to begin what nobody has committed."""
        if not places:
            return {}
        reset = self._wanted.reset
        if reset == "none":
            names = ", ".join(str(place) for place in places)
            raise NoOffset(
                f"the group {self._wanted.group} has no offset of {names} that its log still has, "
                "and auto.offset.reset is none: set it to earliest or latest, or commit offsets"
            )
        at = EARLIEST if reset == "earliest" else LATEST
        found = list_offsets(
            self.cluster,
            dict.fromkeys(places, at),
            read_committed=self._wanted.read_committed,
        )
        return {place: each.offset for place, each in found.items()}

    def _reset(self, place: TopicPartition) -> None:
        try:
            for found, offset in self._begin([place]).items():
                self._reader.advance(found, offset)
        except OUTAGE as fault:
            self._outage = fault  # it is asked for again, and reset then

    def _look(self) -> None:
        """Refresh the topics; if they have changed, the member joins again."""
        now = time.monotonic()
        if now < self._look_at:
            return
        names, pattern = self._wanted.topics, self._wanted.pattern
        try:
            known = self.cluster.topics(None if pattern is not None else names)
        except OUTAGE as fault:
            if self._seen is None:
                raise  # it never worked: the address may be wrong
            self._outage = fault
            return
        seen = {
            name: len(topic.partitions)
            for name, topic in known.items()
            if pattern is None or (pattern.fullmatch(name) and not topic.is_internal)
        }
        missing = not seen or len(seen) < len(names)
        age_s = self._wanted.metadata_max_age_ms / 1000
        self._look_at = now + (min(_LOOK_FOR_MISSING_S, age_s) if missing else age_s)
        if seen != self._seen:
            with self._changed:
                self._subscribed = sorted(names if pattern is None else seen)
            if self._seen is not None:
                self._member.rejoin()
            self._seen = seen

    # -- the member's thread ----------------------------------------------------------------------

    def _metadata(self) -> bytes:
        with self._changed:
            topics = list(self._subscribed)
        subscription = ConsumerProtocolSubscription(topics=topics)
        return encode_subscription(subscription, _SUBSCRIPTION_VERSION)

    def _assign(self, members: Mapping[str, bytes]) -> dict[str, bytes]:
        wanted = range_assignor.subscribed(members)
        known = self._of_member.topics(wanted) if wanted else {}
        counts = {name: len(topic.partitions) for name, topic in known.items()}
        return range_assignor.assigned(members, counts)

    def _assigned(self, given: Assignment) -> None:
        with self._changed:
            self._given = given
            self._changed.notify_all()

    def _expelled(self) -> None:
        with self._changed:
            self._was_expelled = True
            self._given = None
            self._changed.notify_all()

    def _has_given_up(self, wait_s: float) -> bool:
        with self._changed:
            self._must_give_up = bool(self._reader.positions)
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not self._must_give_up, wait_s)


def is_expelled(fault: HeadraceError) -> bool:
    """Whether a commit failed because the partitions are no longer this member's."""
    return isinstance(fault, BrokerRefused) and fault.error in EXPELLED
