"""Fetch, v4-v18.

Behaviour:
- answers below the high watermark, or below the last stable offset for read_committed, with ranges
  of log files that go to the socket without a copy;
- a fetch in the middle of a batch gets the whole batch; at least one batch is always returned,
  however small the limits;
- fewer than `min_bytes` parks the request until enough is appended or `max_wait_ms` is over;
- sessions (KIP-227) answer only partitions with news;
- a follower reads up to the end of the log, and is believed to have what lies before its offset;
  it is parked until the next append;
- a client over its quota gets a throttle time and no records, and is muted; it gets no
  more at once than its quota leaves, or than is worth a wait if that is more;
- a topic with `compression.type=zstd` is UNSUPPORTED_COMPRESSION_TYPE before v10 (KIP-110);
- who names the epoch of its last record learns where its log diverges from ours (KIP-595);
- a client that names its rack is sent to the in-sync replica there if `replica.selector.class` is
  set, and may read from a follower what that one knows to be committed (KIP-392); every other
  client of a follower gets NOT_LEADER_OR_FOLLOWER, with the leader and its address.

Version notes: v4 isolation level · v5 log start offset · v7 sessions · v9 leader epoch (KIP-320) ·
v11 rack · v12 flexible · v13 topic ids (KIP-516) · v15 replica state (KIP-903) · v16 leader
discovery (KIP-951).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from headrace.broker.membership import leader_hints
from headrace.broker.net.call import LATER
from headrace.broker.net.handler import Answer, Handler
from headrace.broker.sessions import NO_SESSION
from headrace.errors import ClientFault, Error
from headrace.replica.leadership import ReplicaFetch
from headrace.replica.read_replica import FROM_LEADER, select_read_replica
from headrace.replica.waiters import FetchWaiter
from headrace.types import NO_EPOCH, ZERO_UUID
from headrace.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

if TYPE_CHECKING:
    from headrace.broker.membership.isr import IsrKeeper
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call
    from headrace.broker.net.quotas import Quotas
    from headrace.broker.net.reporter import Reporter
    from headrace.broker.sessions import FetchPlan, FetchSessions, WantedPartition
    from headrace.broker.storage.replication_throttle import ReplicationThrottle
    from headrace.broker.storage.storage import Storage
    from headrace.replica.partition import Partition
    from headrace.replica.traffic import TopicTraffic
    from headrace.runtime.clock import Clock

_READ_COMMITTED: Final = 1
_ZSTD_SINCE: Final = 10
_RACKS_SINCE: Final = 11
_TOPIC_IDS_SINCE: Final = 13
_HINTS_SINCE: Final = 16
_LONGEST_WAIT_MS: Final = 0x7FFFFFFF
_EMPTY: Final = memoryview(b"")


@dataclass(frozen=True, slots=True)
class Parts:
    """What Fetch needs of the broker."""

    metadata: Metadata
    storage: Storage
    quotas: Quotas
    fetch_sessions: FetchSessions
    isr: IsrKeeper | None
    throttle: ReplicationThrottle | None
    reporter: Reporter
    clock: Clock
    loop: asyncio.AbstractEventLoop
    max_fetch_bytes: int


class _Fetch:
    """One fetch from its first look at the logs to its answer."""

    __slots__ = (
        "_at_once",
        "_call",
        "_is_limited",
        "_parts",
        "_plan",
        "_rack",
        "_replica_epoch",
        "_replica_id",
        "_request",
        "_timer",
        "_waiter",
        "_watched",
    )

    def __init__(self, parts: Parts, request: FetchRequest, call: Call, plan: FetchPlan) -> None:
        self._parts = parts
        self._request = request
        self._call = call
        self._plan = plan
        state = request.replica_state
        self._replica_id = request.replica_id if state is None else state.replica_id
        self._replica_epoch = -1 if state is None else state.replica_epoch
        if self._replica_id >= 0:
            parts.reporter.follower_fetches += 1
            if call.watch is not None:
                call.watch = call.watch.of_followers()
        if self._replica_id >= 0:
            parts.quotas.exempt(call)
        self._rack = request.rack_id if call.version >= _RACKS_SINCE else ""
        self._at_once = False  # something must be told without waiting for records
        self._is_limited = False  # the client has a quota
        self._timer: asyncio.TimerHandle | None = None
        self._waiter: FetchWaiter | None = None
        self._watched: list[list[FetchWaiter]] = []

    def begin(self) -> Answer[FetchResponse]:
        request = self._request
        answers, size = self._read()
        missing = request.min_bytes - size
        if missing > 0 and self._parts.quotas.active:
            missing = min(request.min_bytes, self._most_bytes()) - size
        if missing <= 0 or self._at_once or request.max_wait_ms <= 0 or not self._plan.partitions:
            return self._answer(answers, size)
        self._park(missing)
        return LATER

    def _read(self) -> tuple[list[tuple[WantedPartition, PartitionData]], int]:
        """Look at every partition in turn; returns the answers and their bytes."""
        read_one = self._read_for_client if self._replica_id < 0 else self._read_for_replica
        left = self._most_bytes()
        size = 0
        answers = []
        may_skip = self._replica_id >= 0 and self._plan.incremental
        for wanted in self._plan.partitions:
            if may_skip and self._has_no_news(wanted):
                continue
            # A partition that finds the answer full is still told its offsets, with no records.
            limit = max(min(wanted.max_bytes, left), 0)
            try:
                answer = read_one(wanted, limit, size == 0)
            except (ClientFault, OSError) as fault:
                if isinstance(fault, OSError):
                    fault = self._parts.storage.on_disk_fault(wanted.topic, wanted.index, fault)
                self._at_once = True
                self._traffic_of(wanted).failed_fetch_requests += 1
                answer = _refused(wanted.index, fault.error)
            else:
                got = len(answer.records or _EMPTY)
                size += got
                left -= got
            answers.append((wanted, answer))
        return answers, size

    def _read_for_client(
        self, wanted: WantedPartition, limit: int, at_least_one: bool
    ) -> PartitionData:
        partition = _find(self._parts, wanted)
        partition.traffic.fetch_requests += 1
        partition.check_leader_epoch(wanted.current_leader_epoch)
        if not partition.is_leader:
            if not self._rack:
                raise ClientFault(Error.NOT_LEADER_OR_FOLLOWER)
        elif self._rack:
            closer = self._closer_replica(partition, wanted)
            if closer != FROM_LEADER:
                self._at_once = True
                return _told(partition, wanted, preferred_read_replica=closer)
        log = partition.log
        if self._call.version < _ZSTD_SINCE and log.config.compression_type == "zstd":
            raise ClientFault(Error.UNSUPPORTED_COMPRESSION_TYPE)
        if wanted.last_fetched_epoch != NO_EPOCH:
            diverging = _divergence(partition, wanted)
            if diverging is not None:
                self._at_once = True
                return _told(partition, wanted, diverging_epoch=diverging)
        committed_only = self._request.isolation_level == _READ_COMMITTED
        records: Any = _EMPTY
        if limit > 0 or at_least_one:
            records = partition.read(
                wanted.fetch_offset,
                limit,
                committed_only=committed_only,
                at_least_one=at_least_one,
            )
            if self._is_limited and len(records) == limit:
                # A quota must not be used up by parts of batches that no client can read.
                records = records.whole_batches()
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

    def _closer_replica(self, partition: Partition, wanted: WantedPartition) -> int:
        """The replica in the client's rack that should serve it, or FROM_LEADER."""
        parts = self._parts
        if not parts.metadata.settings.config.get("replica.selector.class"):
            return FROM_LEADER
        racks = {each.id: each.rack for each in parts.metadata.image.brokers.values()}
        return select_read_replica(
            partition.leadership, racks, self._rack, partition.followers, wanted.fetch_offset
        )

    def _has_no_news(self, wanted: WantedPartition) -> bool:
        """Whether a follower asks again what it asked before, and would be told the same.

        A follower of a thousand partitions fetches hundreds of times per second because of one of
        them: the others must cost next to nothing.
        """
        partition = wanted.partition
        if partition is None or partition.leader_epoch != wanted.current_leader_epoch:
            return False
        log = partition.log
        return (
            log.log_end_offset == wanted.fetch_offset
            and log.high_watermark == wanted.high_watermark
            and log.log_start_offset == wanted.log_start_offset
            and log.last_stable_offset == wanted.last_stable_offset
            and partition.on_idle_fetch(
                self._replica_id, self._replica_epoch, self._parts.clock.monotonic_ms()
            )
        )

    def _read_for_replica(
        self, wanted: WantedPartition, limit: int, at_least_one: bool
    ) -> PartitionData:
        parts = self._parts
        partition = _find(parts, wanted)
        partition.traffic.fetch_requests += 1
        partition.check_leader_epoch(wanted.current_leader_epoch)
        throttle = self._throttle_of(partition)
        if throttle is not None and not throttle.allows(parts.clock.monotonic_ms()):
            limit, at_least_one = 0, False
        read = partition.read_for_replica(
            ReplicaFetch(
                self._replica_id,
                self._replica_epoch,
                wanted.fetch_offset,
                wanted.last_fetched_epoch,
                wanted.follower_log_start,
            ),
            limit,
            at_least_one=at_least_one,
            now_ms=parts.clock.monotonic_ms(),
        )
        wanted.partition = None if read.error or read.diverging is not None else partition
        wanted.seen_end_offset = partition.log.log_end_offset
        if read.can_join and parts.isr is not None:
            parts.isr.nudge(partition)
        records: Any = _EMPTY if read.records is None else read.records
        if throttle is not None:
            throttle.record(len(records), parts.clock.monotonic_ms())
        diverging = None
        if read.error or read.diverging is not None:
            self._at_once = True
        if read.diverging is not None:
            diverging = EpochEndOffset(
                epoch=read.diverging.epoch, end_offset=read.diverging.end_offset
            )
        return PartitionData(
            partition_index=wanted.index,
            error_code=read.error,
            high_watermark=read.high_watermark,
            last_stable_offset=read.last_stable_offset,
            log_start_offset=read.log_start_offset,
            diverging_epoch=diverging,
            aborted_transactions=None,
            records=records,
        )

    def _throttle_of(self, partition: Partition) -> ReplicationThrottle | None:
        """The quota that this follower falls under: only while it is not in sync (KIP-73)."""
        throttle = self._parts.throttle
        if (
            throttle is not None
            and throttle.is_set
            and self._replica_id not in partition.leadership.isr
            and throttle.covers(partition.topic_partition, self._parts.metadata.broker_id)
        ):
            return throttle
        return None

    # -- waiting ----------------------------------------------------------------------------------

    def _park(self, missing_bytes: int) -> None:
        loop = self._parts.loop
        waiter = FetchWaiter(missing_bytes, self._wake)
        self._waiter = waiter
        outdated = False
        for wanted in self._plan.partitions:
            partition = wanted.partition or _find(self._parts, wanted)
            waiting = partition.fetch_waiters if self._replica_id < 0 else partition.replica_waiters
            waiting.append(waiter)
            self._watched.append(waiting)
            if self._replica_id >= 0 and partition.log.log_end_offset > wanted.seen_end_offset:
                outdated = True
        wait_ms = min(self._request.max_wait_ms, _LONGEST_WAIT_MS)
        self._timer = loop.call_later(wait_ms / 1000, waiter.release)
        self._call.on_abandoned = self._forget
        if outdated:
            # A follower's fetch commits records, and what waited for that may have written more to
            # a partition that was read before: the end of a transaction, for instance.
            waiter.release()

    def _wake(self) -> None:
        # Not now: whoever woke us (an append) answers its own client first.
        self._parts.loop.call_soon(self._finish)

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for waiting in self._watched:
            if self._waiter in waiting:
                waiting.remove(self._waiter)
        self._watched.clear()

    def _finish(self) -> None:
        self._forget()
        if not self._call.connection.closed:
            self._call.reply(self._answer(*self._read()))

    # -- the answer -------------------------------------------------------------------------------

    def _most_bytes(self) -> int:
        """How many bytes of records may be answered."""
        parts, most = self._parts, self._request.max_bytes
        if self._replica_id < 0:
            most = min(most, parts.max_fetch_bytes)
            if parts.quotas.active:
                portion = parts.quotas.most_fetched(self._call)
                self._is_limited = portion < most
                most = int(min(most, max(portion, 1)))
        return most

    def _answer(
        self, answers: list[tuple[WantedPartition, PartitionData]], size: int
    ) -> FetchResponse:
        parts = self._parts
        if self._replica_id < 0 and parts.quotas.active:
            wait_ms = parts.quotas.on_fetched(self._call, size)
            if wait_ms:
                return self._throttled(wait_ms)
        return self._response(answers)

    def _throttled(self, wait_ms: int) -> FetchResponse:
        """Nothing was told, so nothing is remembered as told; a session begins with the next."""
        session = self._plan.session
        if session is not None and not self._plan.incremental:
            self._parts.fetch_sessions.drop(session)
            session = None
        session_id = NO_SESSION if session is None else session.id
        return FetchResponse(
            throttle_time_ms=wait_ms, error_code=0, session_id=session_id, responses=[]
        )

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
            if answer.records:
                self._count_out(wanted, len(answer.records))
        response = FetchResponse(
            error_code=0, session_id=session.id if session is not None else 0, responses=topics
        )
        if self._at_once:
            for _, answer in answers:
                if answer.error_code:
                    self._parts.reporter.fetch_errors[answer.error_code] += 1
            if self._call.version >= _HINTS_SINCE:
                self._add_hints(answers, response)
        return response

    def _count_out(self, wanted: WantedPartition, size: int) -> None:
        traffic = self._traffic_of(wanted)
        if self._replica_id < 0:
            traffic.bytes_out += size
        else:
            traffic.replication_bytes_out += size

    def _traffic_of(self, wanted: WantedPartition) -> TopicTraffic:
        parts = self._parts
        name = parts.metadata.image.topic_names.get(wanted.topic_id, wanted.topic)
        return parts.storage.traffic_of(name)

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
                and answer.diverging_epoch is None
                and answer.preferred_read_replica == FROM_LEADER
                and answer.high_watermark == wanted.high_watermark
                and answer.log_start_offset == wanted.log_start_offset
                and answer.last_stable_offset == wanted.last_stable_offset
            ):
                continue
            # Who must cut its log first takes over no high watermark: it is told once more.
            is_taken = answer.diverging_epoch is None
            wanted.high_watermark = answer.high_watermark if is_taken else -1
            wanted.log_start_offset = answer.log_start_offset
            wanted.last_stable_offset = answer.last_stable_offset
            news.append((wanted, answer))
        return news

    def _add_hints(
        self, answers: list[tuple[WantedPartition, PartitionData]], response: FetchResponse
    ) -> None:
        """Tell who leads the partitions that are not led here."""
        parts = self._parts
        leaders = []
        for wanted, answer in answers:
            if answer.error_code in leader_hints.HINTED:
                name = parts.metadata.image.topic_names.get(wanted.topic_id, wanted.topic)
                leader, epoch = leader_hints.leader_of(parts.metadata, name, wanted.index)
                answer.current_leader = LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch)
                leaders.append(leader)
        response.node_endpoints = [
            NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
            for node in leader_hints.nodes(parts.metadata, self._call, leaders)
        ]


def _find(parts: Parts, wanted: WantedPartition) -> Partition:
    topic = wanted.topic
    if wanted.topic_id != ZERO_UUID:
        known = parts.metadata.image.topic_names.get(wanted.topic_id)
        if known is None:
            raise ClientFault(Error.UNKNOWN_TOPIC_ID)
        topic = known
    return parts.storage.find(topic, wanted.index)


def _divergence(partition: Partition, wanted: WantedPartition) -> EpochEndOffset | None:
    """Where the log of a reader stops being ours, if it does before its offset."""
    log = partition.log
    epoch, end = log.leader_epochs.end_offset_for(wanted.last_fetched_epoch, log.log_end_offset)
    if epoch == NO_EPOCH:
        raise ClientFault(Error.OFFSET_OUT_OF_RANGE)
    if epoch < wanted.last_fetched_epoch or end < wanted.fetch_offset:
        return EpochEndOffset(epoch=epoch, end_offset=end)
    return None


def _told(partition: Partition, wanted: WantedPartition, **what: Any) -> PartitionData:
    """An answer without records."""
    log = partition.log
    return PartitionData(
        partition_index=wanted.index,
        error_code=0,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.log_start_offset,
        aborted_transactions=None,
        records=_EMPTY,
        **what,
    )


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


def handle(parts: Parts, request: FetchRequest, call: Call) -> Answer[FetchResponse]:
    plan = parts.fetch_sessions.resolve(
        request, parts.clock.monotonic_ms(), by_topic_id=call.version >= _TOPIC_IDS_SINCE
    )
    if plan.error:
        parts.reporter.fetch_errors[plan.error] += 1
        return FetchResponse(error_code=plan.error, session_id=0, responses=[])
    return _Fetch(parts, request, call, plan).begin()


HANDLER = Handler(request=FetchRequest, handle=handle)
