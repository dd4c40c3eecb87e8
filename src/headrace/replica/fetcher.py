"""A follower's conversation with one leader: what to ask for, what to do with the answers.

Sans-io. The shell asks for the next request, sends it, and hands in the answer or the news that
there will be none. At most one request is under way. Partitions fail alone: one that cannot go on
pauses while the others are fetched.

Duties of the shell after `on_response`: write the checkpoints of the directories in which logs
were cut before the next request; flush what `flush_first` names, for those partitions are left out
until `Partition.on_flushed`; hand disk faults to the storage; report what is in `errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from headrace.errors import CorruptData, Error, InvariantViolated
from headrace.log import Appended
from headrace.replica import following
from headrace.replica.fetch_session import FetchKey, FetchSession, Question
from headrace.replica.following import Truncation
from headrace.replica.leadership import EpochEnd
from headrace.replica.partition import Partition
from headrace.types import BrokerId, TopicPartition
from headrace.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)

_STALE_SESSION: Final = frozenset(
    {
        Error.FETCH_SESSION_ID_NOT_FOUND,
        Error.INVALID_FETCH_SESSION_EPOCH,
        Error.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)


@dataclass(frozen=True, slots=True)
class PartitionFault:
    """Why a partition pauses: what its leader answered, or what was wrong with the answer."""

    error: Error
    message: str


@dataclass(slots=True)
class Fetched:
    """What an answer did."""

    error: Error = Error.NONE
    """Of the whole answer; everything else is empty then."""
    appended: dict[TopicPartition, Appended] = field(default_factory=dict)
    truncated: dict[TopicPartition, Truncation] = field(default_factory=dict)
    errors: dict[TopicPartition, PartitionFault] = field(default_factory=dict)
    disk_faults: dict[TopicPartition, OSError] = field(default_factory=dict)
    violated: dict[TopicPartition, InvariantViolated] = field(default_factory=dict)
    """Partitions whose leader contradicts itself; they are among the errors too and stand still."""
    flush_first: list[Partition] = field(default_factory=list)
    size_bytes: int = 0
    unexpected: int = 0
    """Answers about partitions that were not asked for."""


class _Followed:
    """A partition of the conversation."""

    __slots__ = ("key", "partition", "retry_at_ms")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.key = FetchKey(partition.topic_id, partition.topic_partition.partition)
        self.retry_at_ms = 0


class ReplicaFetcher:
    """See the module. `is_throttled` tells whether a partition that lags must wait (quotas)."""

    def __init__(
        self,
        *,
        broker_id: BrokerId,
        broker_epoch: int,
        leader_id: BrokerId,
        max_wait_ms: int,
        min_bytes: int,
        max_bytes: int,
        partition_max_bytes: int,
        backoff_ms: int,
        is_throttled: Callable[[TopicPartition, int], bool] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.leader_id = leader_id
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.partition_max_bytes = partition_max_bytes
        self.backoff_ms = backoff_ms
        self.in_flight = False
        self.is_throttled = is_throttled
        self._followed: dict[TopicPartition, _Followed] = {}
        self._by_key: dict[FetchKey, _Followed] = {}
        self._questions: dict[FetchKey, Question] = {}  # of all who are ready, first come first
        # With thousands of partitions most have no news most of the time: only these are looked at.
        self._to_check: dict[TopicPartition, None] = {}
        self._lagging: dict[TopicPartition, None] = {}  # a quota may stop these at any time
        self._changed: dict[FetchKey, None] = {}  # since the last request
        self._session = FetchSession()
        self._retry_at_ms = 0  # the whole conversation pauses until then
        self._stale_sessions = 0  # how often in a row the leader did not know ours

    # -- partitions -------------------------------------------------------------------------------

    def add(self, partition: Partition) -> None:
        """Follow a partition, or begin anew with one whose leader epoch has changed."""
        self.remove(partition.topic_partition)
        followed = _Followed(partition)
        self._followed[partition.topic_partition] = followed
        self._by_key[followed.key] = followed
        self._to_check[partition.topic_partition] = None
        self._lagging[partition.topic_partition] = None

    def remove(self, topic_partition: TopicPartition) -> None:
        """What is still on its way for this partition will be ignored."""
        followed = self._followed.pop(topic_partition, None)
        if followed is not None:
            del self._by_key[followed.key]
            self._to_check.pop(topic_partition, None)
            self._lagging.pop(topic_partition, None)
            self._ask_no_more(followed)

    @property
    def partitions(self) -> list[Partition]:
        return [followed.partition for followed in self._followed.values()]

    # -- asking -----------------------------------------------------------------------------------

    def next_request(self, now_ms: int) -> FetchRequest | None:
        """What to send now; None if nothing can be asked, see `retry_at_ms`."""
        assert not self.in_flight, "the answer to the last request is still awaited"
        if now_ms < self._retry_at_ms:
            return None
        self._refresh(now_ms)
        if not self._questions:
            return None
        ask = self._session.ask(self._questions, self._changed)
        self._changed = {}
        self.in_flight = True
        return FetchRequest(
            replica_state=ReplicaState(replica_id=self.broker_id, replica_epoch=self.broker_epoch),
            max_wait_ms=self.max_wait_ms,
            min_bytes=self.min_bytes,
            max_bytes=self.max_bytes,
            session_id=ask.session_id,
            session_epoch=ask.epoch,
            topics=_by_topic(ask.changed),
            forgotten_topics_data=_forgotten(ask.forgotten),
        )

    def retry_at_ms(self, now_ms: int) -> int | None:
        """When a paused partition or the whole conversation may go on; None if only `add`,
        a finished flush or a quota can change anything.
        """
        times = [
            max(followed.retry_at_ms, self._retry_at_ms)
            for followed in self._followed.values()
            if not followed.partition.offline_reason
        ]
        later = [time for time in times if time > now_ms]
        return min(later, default=None)

    def _refresh(self, now_ms: int) -> None:
        """Look at the partitions that have moved, or could not be asked for the last time."""
        waiting: dict[TopicPartition, None] = {}
        if self.is_throttled is not None:
            self._to_check |= self._lagging
        for where in self._to_check:
            followed = self._followed[where]
            if self._is_ready(followed, now_ms):
                question = self._question(followed.partition)
                if self._questions.get(followed.key) != question:
                    # Who has moved goes to the back, so that full answers do not starve others.
                    self._questions.pop(followed.key, None)
                    self._questions[followed.key] = question
                    self._changed[followed.key] = None
            else:
                waiting[where] = None
                self._ask_no_more(followed)
        self._to_check = waiting

    def _ask_no_more(self, followed: _Followed) -> None:
        if self._questions.pop(followed.key, None) is not None:
            self._changed[followed.key] = None

    def _is_ready(self, followed: _Followed, now_ms: int) -> bool:
        partition = followed.partition
        return (
            now_ms >= followed.retry_at_ms
            and partition.leadership.leader == self.leader_id
            and not partition.offline_reason
            and not partition.flush_pending
            and (
                self.is_throttled is None
                or partition.topic_partition not in self._lagging
                or not self.is_throttled(partition.topic_partition, now_ms)
            )
        )

    def _question(self, partition: Partition) -> Question:
        offset, last_epoch = following.position(partition)
        return Question(
            offset=offset,
            last_fetched_epoch=last_epoch,
            leader_epoch=partition.leader_epoch,
            log_start_offset=partition.log.log_start_offset,
            max_bytes=self.partition_max_bytes,
        )

    # -- answers ----------------------------------------------------------------------------------

    def on_lost(self, now_ms: int) -> None:
        """There will be no answer: the connection is gone. Begin anew after a pause."""
        self.in_flight = False
        self._session.forget()
        self._retry_at_ms = now_ms + self.backoff_ms

    def on_response(self, response: FetchResponse, now_ms: int) -> Fetched:
        """Do what the leader's answer says, partition by partition."""
        fetched = Fetched()
        for _ in self.take(response, now_ms, fetched, wall_ms=now_ms):
            pass
        return fetched

    def take(
        self, response: FetchResponse, now_ms: int, fetched: Fetched, *, wall_ms: int
    ) -> Iterator[None]:
        """The same in steps, after each of which the caller may do something else, even take
        partitions away; what the answer did is noted in `fetched`. `wall_ms` is the time of day,
        which the log remembers; pauses go by `now_ms`, which nobody sets back.
        """
        self.in_flight = False
        if response.error_code:
            self._on_refused(_error(response.error_code), fetched, now_ms)
            return
        self._stale_sessions = 0
        asked = self._session.asked
        for topic in response.responses:
            for data in topic.partitions:
                key = FetchKey(topic.topic_id, data.partition_index)
                question = asked.get(key)
                if question is None:
                    fetched.unexpected += 1
                    continue
                followed = self._by_key.get(key)
                if followed is not None:
                    self._to_check[followed.partition.topic_partition] = None
                    if self._still_asks(followed.partition, question):
                        self._take(followed, data, fetched, now_ms, wall_ms)
                        yield
        self._session.on_answer(response.session_id)
        if fetched.unexpected:
            self._session.reset()

    def _still_asks(self, partition: Partition, question: Question) -> bool:
        """Whether an answer is still of use: since it was asked for, the partition may have got
        another leader, or records from elsewhere, or may have lost its disk.
        """
        return (
            not partition.offline_reason
            and not partition.is_leader
            and partition.leader_epoch == question.leader_epoch
            and partition.log.log_end_offset == question.offset
        )

    def _on_refused(self, error: Error, fetched: Fetched, now_ms: int) -> None:
        fetched.error = error
        self._session.forget()
        self._stale_sessions += 1
        if error not in _STALE_SESSION or self._stale_sessions > 1:
            self._retry_at_ms = now_ms + self.backoff_ms

    def _take(
        self,
        followed: _Followed,
        data: PartitionData,
        fetched: Fetched,
        now_ms: int,
        wall_ms: int,
    ) -> None:
        where = followed.partition.topic_partition
        try:
            error = _error(data.error_code)
            if error is Error.NONE:
                self._take_records(followed, data, fetched, wall_ms)
            elif error is Error.OFFSET_OUT_OF_RANGE and data.log_start_offset >= 0:
                fetched.truncated[where] = following.start_over(
                    followed.partition, data.log_start_offset
                )
            else:
                self._pause(followed, now_ms)
                fetched.errors[where] = PartitionFault(error, _cause(error, self.leader_id))
        except CorruptData as fault:
            self._pause(followed, now_ms)
            fetched.errors[where] = PartitionFault(Error.CORRUPT_MESSAGE, str(fault))
        except InvariantViolated as fault:
            # Nobody knows what is true: better to stand still than to cut.
            self._pause(followed, now_ms)
            fetched.errors[where] = PartitionFault(Error.UNKNOWN_SERVER_ERROR, str(fault))
            fetched.violated[where] = fault
        except OSError as fault:
            self._pause(followed, now_ms)
            fetched.disk_faults[where] = fault

    def _take_records(
        self, followed: _Followed, data: PartitionData, fetched: Fetched, wall_ms: int
    ) -> None:
        partition = followed.partition
        where = partition.topic_partition
        if data.diverging_epoch is not None:
            agreed = EpochEnd(data.diverging_epoch.epoch, data.diverging_epoch.end_offset)
            fetched.truncated[where] = following.truncate_to_agree(partition, agreed)
            return
        records = memoryview(data.records or b"")
        if records:
            appended = following.append_fetched(partition, records, wall_ms)
            if not appended.size:
                raise CorruptData(
                    f"{where}: the leader sent a part of a batch that it must send whole"
                )
            fetched.appended[where] = appended
            fetched.size_bytes += appended.size
        following.follow_offsets(
            partition,
            high_watermark=data.high_watermark,
            log_start_offset=data.log_start_offset,
        )
        if partition.log.log_end_offset >= data.high_watermark:
            self._lagging.pop(where, None)
        else:
            self._lagging[where] = None
        if partition.flush_pending:
            fetched.flush_first.append(partition)

    def _pause(self, followed: _Followed, now_ms: int) -> None:
        followed.retry_at_ms = now_ms + self.backoff_ms


def _error(code: int) -> Error:
    """A leader of a later version may know errors that we do not."""
    try:
        return Error(code)
    except ValueError:
        return Error.UNKNOWN_SERVER_ERROR


def _cause(error: Error, leader_id: BrokerId) -> str:
    text = {
        Error.FENCED_LEADER_EPOCH: "has a newer leader epoch than we know; the news is on its way",
        Error.UNKNOWN_LEADER_EPOCH: "does not know our leader epoch yet",
        Error.NOT_LEADER_OR_FOLLOWER: "does not lead the partition",
        Error.UNKNOWN_TOPIC_ID: "does not know the topic yet, or no more",
        Error.UNKNOWN_TOPIC_OR_PARTITION: "does not know the partition yet, or no more",
        Error.INCONSISTENT_TOPIC_ID: "has another topic of the same name",
        Error.KAFKA_STORAGE_ERROR: "cannot read its log directory",
    }.get(error, f"answered {error.name}")
    return f"broker {leader_id} {text}"


def _by_topic(questions: dict[FetchKey, Question]) -> list[FetchTopic]:
    """In the order of the questions: the leader fills its answer from the first one on."""
    topics: list[FetchTopic] = []
    for key, question in questions.items():
        if not topics or topics[-1].topic_id != key.topic_id:
            topics.append(FetchTopic(topic_id=key.topic_id, partitions=[]))
        topics[-1].partitions.append(
            FetchPartition(
                partition=key.partition,
                current_leader_epoch=question.leader_epoch,
                fetch_offset=question.offset,
                last_fetched_epoch=question.last_fetched_epoch,
                log_start_offset=question.log_start_offset,
                partition_max_bytes=question.max_bytes,
            )
        )
    return topics


def _forgotten(keys: list[FetchKey]) -> list[ForgottenTopic]:
    topics: dict[object, ForgottenTopic] = {}
    for key in keys:
        known = topics.setdefault(
            key.topic_id, ForgottenTopic(topic_id=key.topic_id, partitions=[])
        )
        known.partitions.append(key.partition)
    return list(topics.values())
