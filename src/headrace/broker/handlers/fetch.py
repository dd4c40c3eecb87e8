"""Fetch, v4-v18.

Behaviour:
- answers below the high watermark, or below the last stable offset for read_committed, with ranges
  of log files that go to the socket without a copy;
- a fetch in the middle of a batch gets the whole batch; at least one batch is always returned,
  however small the limits;
- fewer than `min_bytes` parks the request until enough is appended or `max_wait_ms` is over;
- sessions (KIP-227) answer only partitions with news.

Version notes: v4 isolation level · v5 log start offset · v7 sessions · v9 leader epoch (KIP-320) ·
v11 rack · v12 flexible · v13 topic ids (KIP-516) · v15 replica state (KIP-903) · v16 leader
discovery (KIP-951).

Not done: fetches by followers, diverging epochs, reading from the closest replica.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from headrace.broker.dispatch import LATER, Answer, Handler, reply
from headrace.errors import ClientFault, Error
from headrace.replica.waiters import FetchWaiter
from headrace.types import ZERO_UUID
from headrace.wire.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.connection import Call
    from headrace.broker.sessions import FetchPlan, WantedPartition
    from headrace.replica.partition import Partition

_READ_COMMITTED: Final = 1
_TOPIC_IDS_SINCE: Final = 13
_LONGEST_WAIT_MS: Final = 0x7FFFFFFF
_EMPTY: Final = memoryview(b"")


class _Fetch:
    """One fetch from its first look at the logs to its answer."""

    __slots__ = ("_broker", "_call", "_plan", "_request", "_timer", "_waiter", "_watched")

    def __init__(self, broker: Broker, request: FetchRequest, call: Call, plan: FetchPlan) -> None:
        self._broker = broker
        self._request = request
        self._call = call
        self._plan = plan
        self._timer: Any = None
        self._waiter: FetchWaiter | None = None
        self._watched: list[Partition] = []

    def begin(self) -> Answer:
        request = self._request
        answers, size, faulty = self._read()
        missing = request.min_bytes - size
        if missing <= 0 or faulty or request.max_wait_ms <= 0 or not self._plan.partitions:
            return self._response(answers)
        self._park(missing)
        return LATER

    def _read(self) -> tuple[list[tuple[WantedPartition, PartitionData]], int, bool]:
        """Look at every partition in turn; returns the answers, their bytes, whether any failed."""
        request = self._request
        committed_only = request.isolation_level == _READ_COMMITTED
        left = min(request.max_bytes, self._broker.max_fetch_bytes)
        size = 0
        faulty = False
        answers = []
        for wanted in self._plan.partitions:
            try:
                answer = self._read_one(wanted, left, committed_only, size == 0)
            except ClientFault as fault:
                faulty = True
                answer = _refused(wanted.index, fault.error)
            else:
                got = len(answer.records or _EMPTY)
                size += got
                left -= got
            answers.append((wanted, answer))
        return answers, size, faulty

    def _read_one(
        self, wanted: WantedPartition, left: int, committed_only: bool, at_least_one: bool
    ) -> PartitionData:
        partition = _find(self._broker, wanted)
        partition.check_leader_epoch(wanted.current_leader_epoch)
        log = partition.log
        # A partition that finds the answer full is still told its offsets, with no records.
        limit = min(wanted.max_bytes, left)
        records: Any = _EMPTY
        if limit > 0 or at_least_one:
            records = partition.read(
                wanted.fetch_offset,
                max(limit, 0),
                committed_only=committed_only,
                at_least_one=at_least_one,
            )
        aborted = None
        if committed_only:
            aborted = [
                AbortedTransaction(producer_id=entry.producer_id, first_offset=entry.first_offset)
                for entry in log.aborted_transactions(wanted.fetch_offset, log.last_stable_offset)
            ]
        return PartitionData(
            partition_index=wanted.index,
            error_code=0,
            high_watermark=log.high_watermark,
            last_stable_offset=log.last_stable_offset,
            log_start_offset=log.log_start_offset,
            aborted_transactions=aborted,
            records=records,
        )

    # -- waiting ----------------------------------------------------------------------------------

    def _park(self, missing_bytes: int) -> None:
        loop = self._broker.loop
        waiter = FetchWaiter(missing_bytes, self._wake)
        self._waiter = waiter
        for wanted in self._plan.partitions:
            partition = _find(self._broker, wanted)
            partition.fetch_waiters.append(waiter)
            self._watched.append(partition)
        wait_ms = min(self._request.max_wait_ms, _LONGEST_WAIT_MS)
        self._timer = loop.call_later(wait_ms / 1000, waiter.release)
        self._call.on_abandoned = self._forget

    def _wake(self) -> None:
        # Not now: whoever woke us (an append) answers its own client first.
        self._broker.loop.call_soon(self._finish)

    def _forget(self) -> None:
        self._timer.cancel()
        for partition in self._watched:
            if self._waiter in partition.fetch_waiters:
                partition.fetch_waiters.remove(self._waiter)
        self._watched.clear()

    def _finish(self) -> None:
        self._forget()
        if not self._call.connection.closed:
            reply(self._call, self._response(self._read()[0]))

    # -- the answer -------------------------------------------------------------------------------

    def _response(self, answers: list[tuple[WantedPartition, PartitionData]]) -> FetchResponse:
        session = self._plan.session
        if session is not None:
            answers = self._with_news(answers)
        topics: list[FetchableTopicResponse] = []
        for wanted, answer in answers:
            last = topics[-1] if topics else None
            if last is None or last.topic != wanted.topic or last.topic_id != wanted.topic_id:
                last = FetchableTopicResponse(
                    topic=wanted.topic, topic_id=wanted.topic_id, partitions=[]
                )
                topics.append(last)
            last.partitions.append(answer)
        return FetchResponse(
            error_code=0, session_id=session.id if session is not None else 0, responses=topics
        )

    def _with_news(
        self, answers: list[tuple[WantedPartition, PartitionData]]
    ) -> list[tuple[WantedPartition, PartitionData]]:
        """Leave out what the client knows; who got records goes to the back of the queue."""
        session = self._plan.session
        assert session is not None
        news = []
        for wanted, answer in answers:
            if answer.records:
                session.move_to_end(wanted)
            elif (
                self._plan.incremental
                and not answer.error_code
                and answer.high_watermark == wanted.high_watermark
                and answer.log_start_offset == wanted.log_start_offset
                and answer.last_stable_offset == wanted.last_stable_offset
            ):
                continue
            wanted.high_watermark = answer.high_watermark
            wanted.log_start_offset = answer.log_start_offset
            wanted.last_stable_offset = answer.last_stable_offset
            news.append((wanted, answer))
        return news


def _find(broker: Broker, wanted: WantedPartition) -> Partition:
    topic = wanted.topic
    if wanted.topic_id != ZERO_UUID:
        known = broker.metadata.image.topic_names.get(wanted.topic_id)
        if known is None:
            raise ClientFault(Error.UNKNOWN_TOPIC_ID)
        topic = known
    return broker.storage.find(topic, wanted.index)


def _refused(index: int, error: Error) -> PartitionData:
    return PartitionData(
        partition_index=index,
        error_code=error,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=None,
        records=_EMPTY,
    )


def handle(broker: Broker, request: FetchRequest, call: Call) -> Answer:
    plan = broker.fetch_sessions.resolve(
        request, broker.clock.monotonic_ms(), by_topic_id=call.version >= _TOPIC_IDS_SINCE
    )
    if plan.error:
        return FetchResponse(error_code=plan.error, session_id=0, responses=[])
    return _Fetch(broker, request, call, plan).begin()


HANDLER = Handler(key=1, versions=(4, 18), request=FetchRequest, handle=handle)
