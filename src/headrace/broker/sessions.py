"""Fetch sessions (KIP-227): what a reader asked for last time, so it need not repeat it.

A session holds the partitions of a consumer or a follower, and what it was last told about each. An
incremental fetch names only changes, and its answer only partitions with news. Synchronous state:
no sockets, time is an argument.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from headrace.errors import Error
from headrace.wire.messages.fetch import FetchRequest

if TYPE_CHECKING:
    from headrace.replica.partition import Partition

NO_SESSION: Final = 0
FULL_EPOCH: Final = 0  # asks for a new session
FINAL_EPOCH: Final = -1  # closes the session, or never had one
_MAX_EPOCH: Final = 0x7FFFFFFF

# A topic is known by its id from v13 on, before by its name. The id as a number: a UUID is hashed
# and compared in Python, and every partition of every fetch is looked up.
PartitionKey = tuple[str | int, int]


class WantedPartition:
    """One partition of a fetch: what is asked, and in a session what was last told."""

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "follower_log_start",
        "high_watermark",
        "index",
        "key",
        "last_fetched_epoch",
        "last_stable_offset",
        "log_start_offset",
        "max_bytes",
        "partition",
        "seen_end_offset",
        "topic",
        "topic_id",
    )

    def __init__(self, topic: str, topic_id: UUID, index: int) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.key: PartitionKey = (topic_id.int or topic, index)
        self.current_leader_epoch = -1
        self.fetch_offset = 0
        self.follower_log_start = -1
        self.last_fetched_epoch = -1
        self.max_bytes = 0
        self.high_watermark = -1
        self.last_stable_offset = -1
        self.log_start_offset = -1
        # For a follower: where it was read the last time, and the log's end then. None if it must
        # be looked at as if for the first time.
        self.partition: Partition | None = None
        self.seen_end_offset = -1


class FetchSession:
    __slots__ = ("by_topic_id", "epoch", "id", "last_used_ms", "partitions")

    def __init__(self, session_id: int, now_ms: int, *, by_topic_id: bool) -> None:
        self.id = session_id
        self.by_topic_id = by_topic_id  # topics are named by their ids, as from v13 on
        self.epoch = 1  # the epoch that the next request must carry
        self.last_used_ms = now_ms
        self.partitions: dict[PartitionKey, WantedPartition] = {}

    def move_to_end(self, wanted: WantedPartition) -> None:
        """Who was served goes to the back of the queue, so that no partition starves."""
        key = wanted.key
        if self.partitions.pop(key, None) is not None:
            self.partitions[key] = wanted


@dataclass(slots=True)
class FetchPlan:
    """What one request means once its session is resolved."""

    error: Error
    session: FetchSession | None
    incremental: bool
    partitions: list[WantedPartition]


def _wanted(request: FetchRequest) -> Iterable[tuple[PartitionKey, WantedPartition]]:
    for topic in request.topics:
        for asked in topic.partitions:
            wanted = WantedPartition(topic.topic, topic.topic_id, asked.partition)
            wanted.current_leader_epoch = asked.current_leader_epoch
            wanted.fetch_offset = asked.fetch_offset
            wanted.follower_log_start = asked.log_start_offset
            wanted.last_fetched_epoch = asked.last_fetched_epoch
            wanted.max_bytes = asked.partition_max_bytes
            yield wanted.key, wanted


def _update(session: FetchSession, request: FetchRequest) -> None:
    partitions = session.partitions
    for key, wanted in _wanted(request):
        known = partitions.get(key)
        if known is None:
            partitions[key] = wanted
        else:
            if known.current_leader_epoch != wanted.current_leader_epoch:
                # An answer to the question of another epoch is not read: tell all of it again.
                known.high_watermark = known.last_stable_offset = known.log_start_offset = -1
            known.current_leader_epoch = wanted.current_leader_epoch
            known.fetch_offset = wanted.fetch_offset
            known.follower_log_start = wanted.follower_log_start
            known.last_fetched_epoch = wanted.last_fetched_epoch
            known.max_bytes = wanted.max_bytes
            known.partition = None
    for topic in request.forgotten_topics_data:
        name: str | int = topic.topic_id.int or topic.topic
        for index in topic.partitions:
            partitions.pop((name, index), None)


class FetchSessions:
    """All sessions of a broker, at most `capacity`; the one idle longest makes room."""

    def __init__(self, capacity: int, evict_after_ms: int, draw_id: Callable[[], int]) -> None:
        self.capacity = capacity
        self.evict_after_ms = evict_after_ms
        self._draw_id = draw_id
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()
        self.evictions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partitions_cached(self) -> int:
        """How many partitions all sessions remember together."""
        return sum(len(session.partitions) for session in self._sessions.values())

    def resolve(
        self, request: FetchRequest, now_ms: int, *, by_topic_id: bool = False
    ) -> FetchPlan:
        """Find, create, update or close the session that a request names."""
        session_id, epoch = request.session_id, request.session_epoch
        if epoch in (FULL_EPOCH, FINAL_EPOCH):
            if session_id != NO_SESSION:
                self._sessions.pop(session_id, None)
            wanted = dict(_wanted(request))
            session = None
            if epoch == FULL_EPOCH and wanted:
                session = self._open(now_ms, by_topic_id)
            if session is not None:
                session.partitions = wanted
            return FetchPlan(Error.NONE, session, False, list(wanted.values()))
        session = self._sessions.get(session_id)
        if session is None:
            return FetchPlan(Error.FETCH_SESSION_ID_NOT_FOUND, None, True, [])
        if session.epoch != epoch:
            return FetchPlan(Error.INVALID_FETCH_SESSION_EPOCH, None, True, [])
        if session.by_topic_id != by_topic_id:
            return FetchPlan(Error.FETCH_SESSION_TOPIC_ID_ERROR, None, True, [])
        session.epoch = 1 if epoch == _MAX_EPOCH else epoch + 1
        session.last_used_ms = now_ms
        self._sessions.move_to_end(session_id)
        _update(session, request)
        return FetchPlan(Error.NONE, session, True, list(session.partitions.values()))

    def drop(self, session: FetchSession) -> None:
        """A session that its reader was not told of."""
        self._sessions.pop(session.id, None)

    def _open(self, now_ms: int, by_topic_id: bool) -> FetchSession | None:
        if len(self._sessions) >= self.capacity:
            oldest = next(iter(self._sessions.values()), None)
            if oldest is None or now_ms - oldest.last_used_ms < self.evict_after_ms:
                return None
            del self._sessions[oldest.id]
            self.evictions += 1
        session_id = self._draw_id()
        while session_id == NO_SESSION or session_id in self._sessions:
            session_id = self._draw_id()
        session = FetchSession(session_id, now_ms, by_topic_id=by_topic_id)
        self._sessions[session_id] = session
        return session
