"""ShareFetch, v1-v2.

Behaviour:
- takes the acknowledgements first, and looks for records when those are kept;
- gives records that no other member of the group holds, as ranges of log files, and locks them for
  `share.record.lock.duration.ms`; whole batches, or exactly `max_records` if the client wants so;
- fewer than `min_bytes` parks the request until enough is appended, released or no longer locked,
  or until `max_wait_ms` is over; nothing is locked for a request that is parked;
- leaves out markers and, with `share.isolation.level=read_committed`, aborted transactions;
- a partition whose state is not known yet has nothing to give; an unknown one is reported at
  once (Kafka leaves it out of the answer);
- a client over its `consumer_byte_rate` is throttled, and locks nothing;
- sessions: epoch 0 opens one, -1 closes it and frees what the member holds, and so does the end of
  its connection.

Version notes: v2 acquire mode (KIP-1206), locks can be renewed (KIP-1222): a request that does so
asks for no records.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from headrace.broker.groups.tickets import CallAnswer
from headrace.broker.membership import leader_hints
from headrace.broker.net.call import Call
from headrace.broker.net.handler import Answer, Handler
from headrace.broker.sharing.reading import find_records
from headrace.broker.sharing.requests import (
    Outcomes,
    acknowledge_all,
    acknowledged_parts,
    by_topic,
    leader_of,
    session_name,
)
from headrace.broker.sharing.sessions import FINAL_EPOCH, OPENING_EPOCH, ShareSession
from headrace.errors import ClientFault, Error
from headrace.replica.sharing.choosing import Choice, Wish
from headrace.replica.waiters import FetchWaiter
from headrace.types import SharePartitionKey
from headrace.wire.messages.share_fetch import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.quotas import Quotas
    from headrace.broker.sharing.partitions import LedShare, SharePartitions
    from headrace.broker.sharing.sessions import ShareSessions
    from headrace.broker.storage.storage import Storage
    from headrace.log import LogSlice
    from headrace.replica.sharing.partition import SharePartition
    from headrace.runtime.clock import Clock

_RECORD_LIMIT: Final = 1
_LONGEST_WAIT_MS: Final = 0x7FFFFFFF


@dataclass(frozen=True, slots=True)
class Parts:
    """What ShareFetch needs of the broker."""

    metadata: Metadata
    storage: Storage
    quotas: Quotas
    share_partitions: SharePartitions
    share_sessions: ShareSessions
    clock: Clock
    loop: asyncio.AbstractEventLoop
    max_fetch_bytes: int


class _Found:
    """What one partition has for the member, not acquired yet."""

    __slots__ = ("choice", "led", "records", "share")

    def __init__(
        self, led: LedShare, share: SharePartition, choice: Choice, records: LogSlice
    ) -> None:
        self.led = led
        self.share = share
        self.choice = choice
        self.records = records


class _ShareFetch:
    """One request from its acknowledgements to its answer."""

    __slots__ = (
        "_call",
        "_deadline",
        "_faults",
        "_limits",
        "_outcomes",
        "_parts",
        "_reply",
        "_request",
        "_session",
        "_timer",
        "_waiter",
        "_watched",
    )

    def __init__(
        self, parts: Parts, request: ShareFetchRequest, call: Call, session: ShareSession
    ) -> None:
        self._parts = parts
        self._request = request
        self._call = call
        self._session = session
        self._reply: CallAnswer[ShareFetchResponse] = CallAnswer(call)
        self._limits = parts.share_partitions.limits(session.name.group_id)
        self._deadline = 0.0
        self._outcomes: Outcomes = {}
        self._faults: Outcomes = {}
        self._timer: asyncio.TimerHandle | None = None
        self._waiter: FetchWaiter | None = None
        self._watched: list[list[FetchWaiter]] = []

    def begin(self) -> Answer[ShareFetchResponse]:
        request = self._request
        acknowledged = list(acknowledged_parts(self._session.name.group_id, request.topics))
        acknowledge_all(
            self._parts.share_partitions,
            self._session.name,
            acknowledged,
            may_renew=request.is_renew_ack,
            done=self._on_acknowledged,
        )
        return self._reply.outcome()

    def _on_acknowledged(self, outcomes: Outcomes) -> None:
        self._outcomes = outcomes
        request = self._request
        if request.share_session_epoch == FINAL_EPOCH:
            self._parts.share_sessions.close(self._session)
            self._reply.put(self._response({}))
        elif request.max_records <= 0 or request.is_renew_ack:
            self._reply.put(self._response({}))
        else:
            wait_s = min(max(request.max_wait_ms, 0), _LONGEST_WAIT_MS) / 1000
            self._deadline = self._parts.loop.time() + wait_s
            self._look()

    # -- reading ----------------------------------------------------------------------------------

    def _look(self) -> None:
        """Answer if there is enough, or if time is over; else wait."""
        if self._call.connection.closed:
            return
        is_over = self._parts.loop.time() >= self._deadline
        while True:
            found = self._find()
            size = sum(each.choice.size for each in found.values())
            if size >= max(self._request.min_bytes, 1) or self._faults or is_over:
                self._reply.put(self._answer(found, size))
                return
            # Gaps must be passed to reach what lies behind them.
            passed = {key: each for key, each in found.items() if not each.choice.acquired}
            if not passed:
                self._park()
                return
            self._acquire(passed)

    def _find(self) -> dict[SharePartitionKey, _Found]:
        """What each partition in turn has, within the limits of the request."""
        parts, request, group_id = self._parts, self._request, self._session.name.group_id
        committed_only = (
            parts.metadata.settings.group_config(group_id)["share.isolation.level"]
            == "read_committed"
        )
        is_strict = request.share_acquire_mode == _RECORD_LIMIT
        left_bytes = min(request.max_bytes, parts.max_fetch_bytes)
        if parts.quotas.active:
            left_bytes = int(min(left_bytes, max(parts.quotas.most_fetched(self._call), 1)))
        left_records = request.max_records
        self._faults = {}
        found: dict[SharePartitionKey, _Found] = {}
        for key in self._session.in_turn():
            if left_records <= 0:
                break
            try:
                led = parts.share_partitions.find(key)
                share = led.share
                if share is None:
                    continue
                records = find_records(
                    led.partition,
                    share,
                    Wish(left_records, max(request.batch_size, 1), is_strict),
                    max(left_bytes, 0),
                    self._limits,
                    committed_only=committed_only,
                    at_least_one=not found and request.max_bytes > 0,
                )
            except (ClientFault, OSError) as fault:
                if isinstance(fault, OSError):
                    fault = parts.storage.on_disk_fault(*led.partition.topic_partition, fault)
                self._faults[key] = fault.error
                continue
            if records is not None:
                found[key] = _Found(led, share, *records)
                left_bytes -= records[0].size
                left_records -= records[0].records
        return found

    def _acquire(self, found: dict[SharePartitionKey, _Found]) -> dict[SharePartitionKey, _Found]:
        for each in found.values():
            self._acquire_one(each)
        return found

    def _acquire_one(self, found: _Found) -> None:
        parts = self._parts
        found.share.acquire(
            found.choice,
            self._session.name.member_id,
            parts.clock.monotonic_ms(),
            self._limits,
        )
        if found.choice.gaps:
            parts.share_partitions.keep(found.led)
        parts.share_partitions.arm(found.led)

    # -- waiting ----------------------------------------------------------------------------------

    def _park(self) -> None:
        parts = self._parts
        waiter = self._waiter = FetchWaiter(1, self._wake)
        for key in self._session.partitions:
            try:
                led = parts.share_partitions.find(key)
            except ClientFault:
                continue
            for waiting in (led.waiters, led.partition.fetch_waiters):
                waiting.append(waiter)
                self._watched.append(waiting)
        if self._timer is None:
            self._timer = parts.loop.call_at(self._deadline, self._on_deadline)
        self._call.on_abandoned = self._forget

    def _on_deadline(self) -> None:
        self._deadline = 0.0
        if self._waiter is not None:
            self._waiter.release()

    def _wake(self) -> None:
        # Not now: whoever woke us (an append, an acknowledgement) is answered first.
        self._parts.loop.call_soon(self._look_again)

    def _forget(self) -> None:
        for waiting in self._watched:
            if self._waiter in waiting:
                waiting.remove(self._waiter)
        self._watched.clear()
        if self._call.connection.closed and self._timer is not None:
            self._timer.cancel()

    def _look_again(self) -> None:
        self._forget()
        self._look()

    # -- the answer -------------------------------------------------------------------------------

    def _answer(self, found: dict[SharePartitionKey, _Found], size: int) -> ShareFetchResponse:
        """Acquire and tell, unless a quota forbids it: then nothing is locked."""
        parts = self._parts
        wait_ms = parts.quotas.on_fetched(self._call, size) if parts.quotas.active else 0
        response = self._response({} if wait_ms else self._acquire(found))
        response.throttle_time_ms = wait_ms
        return response

    def _response(self, found: dict[SharePartitionKey, _Found]) -> ShareFetchResponse:
        if self._timer is not None:
            self._timer.cancel()
        keys: dict[SharePartitionKey, None] = dict.fromkeys(
            [key for key, each in found.items() if each.choice.acquired]
        )
        keys |= dict.fromkeys(self._faults) | dict.fromkeys(self._outcomes)
        if self._request.share_session_epoch == OPENING_EPOCH:
            keys |= self._session.partitions
        hinted: list[int] = []
        parts = [(key, self._part(key, found.get(key), hinted)) for key in keys]
        return ShareFetchResponse(
            error_code=0,
            acquisition_lock_timeout_ms=self._limits.lock_duration_ms,
            responses=[
                ShareFetchableTopicResponse(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in by_topic(parts).items()
            ],
            node_endpoints=[
                NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
                for node in leader_hints.nodes(self._parts.metadata, self._call, hinted)
            ],
        )

    def _part(
        self, key: SharePartitionKey, found: _Found | None, hinted: list[int]
    ) -> PartitionData:
        error = self._faults.get(key, Error.NONE)
        acknowledge_error = self._outcomes.get(key, Error.NONE)
        leader, epoch = leader_of(self._parts.metadata, key, error or acknowledge_error)
        if error in leader_hints.HINTED or acknowledge_error in leader_hints.HINTED:
            hinted.append(leader)
        acquired = [] if found is None else found.choice.acquired
        records: Any = b"" if found is None or not acquired else found.records
        return PartitionData(
            partition_index=key.partition,
            error_code=error,
            acknowledge_error_code=acknowledge_error,
            current_leader=LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch),
            records=records,
            acquired_records=[
                AcquiredRecords(
                    first_offset=each.first_offset,
                    last_offset=each.last_offset,
                    delivery_count=each.delivery_count,
                )
                for each in acquired
            ],
        )


def _refused(fault: ClientFault) -> ShareFetchResponse:
    return ShareFetchResponse(
        error_code=fault.error, error_message=str(fault), responses=[], node_endpoints=[]
    )


def _check_renewal(request: ShareFetchRequest) -> None:
    if request.is_renew_ack and any(
        (request.max_records, request.max_bytes, request.min_bytes, request.max_wait_ms)
    ):
        raise ClientFault(
            Error.INVALID_REQUEST,
            "a request that renews locks reads nothing: max_records, max_bytes, min_bytes and "
            "max_wait_ms must be 0",
        )


def handle(parts: Parts, request: ShareFetchRequest, call: Call) -> Answer[ShareFetchResponse]:
    epoch = request.share_session_epoch
    try:
        name = session_name(request.group_id, request.member_id)
        _check_renewal(request)
        if epoch == OPENING_EPOCH:
            if any(acknowledged_parts(name.group_id, request.topics)):
                raise ClientFault(Error.INVALID_REQUEST, "nothing is held when a session begins")
            session = parts.share_sessions.open(name, call.connection)
        else:
            session = parts.share_sessions.resume(name, epoch)
    except ClientFault as fault:
        return _refused(fault)
    if epoch != FINAL_EPOCH:
        asked = [
            SharePartitionKey(name.group_id, topic.topic_id, each.partition_index)
            for topic in request.topics
            for each in topic.partitions
        ]
        forgotten = [
            SharePartitionKey(name.group_id, topic.topic_id, index)
            for topic in request.forgotten_topics_data
            for index in topic.partitions
        ]
        session.update(asked, forgotten)
    return _ShareFetch(parts, request, call, session).begin()


HANDLER = Handler(request=ShareFetchRequest, handle=handle)
