"""A member of a classic group, for services that share work or choose one of themselves.

Consumers belong to librdkafka. What the group protocol gives besides (who is alive, and a decision
that all members hear in the same generation) is of use to services too: the Schema Registry elects
its primary with it, Connect spreads its tasks. They say who they are in their metadata and hand out
decisions as assignments; the module carries both as bytes and refuses to know what they mean.

    OUT ──join, sync──> IN ──rebalance──> OUT (the assignment stands until the next one)
                        IN ──session lost, unknown member──> OUT (`on_lost`)

Everything happens in a thread of the member's own, the callbacks too: they must return soon, or
heartbeats stop. Whoever loses the coordinator counts as out once its session must have ended, even
if nobody could tell it so.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from headrace.client.cluster import Cluster
from headrace.client.connection import Connection
from headrace.client.faults import BrokerRefused
from headrace.client.settings import ClientSettings
from headrace.errors import Error, HeadraceError
from headrace.wire.messages.heartbeat import HeartbeatRequest
from headrace.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from headrace.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from headrace.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

_LOG: Final = logging.getLogger(__name__)

_LEAVES_BY_LIST: Final = 3
_NO_GENERATION: Final = -1
_MARGIN_S: Final = 5.0
"""How much longer than the broker may wait for other members its answer is waited for."""
_MAX_PAUSE_S: Final = 1.0

_OUT: Final = (Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION, Error.FENCED_INSTANCE_ID)
_MOVED: Final = (Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE)


@dataclass(frozen=True, slots=True)
class GroupProtocol:
    """What a group is for, and how quickly it notices a member that is gone."""

    group: str
    protocol_type: str
    protocol_name: str
    session_timeout_ms: int = 6_000
    heartbeat_interval_ms: int = 1_000
    rebalance_timeout_ms: int = 10_000


class Members(dict[str, bytes]):
    """The metadata of every member of a generation, for the leader: under the protocol that all
    offered, as `member_id` of `generation`."""

    def __init__(
        self, metadata: Mapping[str, bytes], *, generation: int, member_id: str, protocol: str
    ) -> None:
        super().__init__(metadata)
        self.generation = generation
        self.member_id = member_id
        self.protocol = protocol


class Assignment(NamedTuple):
    """What this member was told, in which generation, and under which name it is known."""

    generation: int
    member_id: str
    data: bytes


class GroupMember:
    """Start it, and it stays in the group until it is closed.

    `metadata` is what it says of itself when it joins: of the one protocol that it speaks, or of
    several by name, the preferred one first. `assign` is called in the member that the coordinator
    made the leader of the group: it gets the metadata of every member and returns the assignment
    of each. `may_rejoin` is asked before a
    member gives up its assignment for the next one; it may wait that long and say no, and is asked
    again for as long as the rebalance lets it.
    """

    def __init__(
        self,
        settings: ClientSettings,
        protocol: GroupProtocol,
        *,
        metadata: Callable[[], bytes | Mapping[str, bytes]],
        assign: Callable[[Members], Mapping[str, bytes]],
        on_assigned: Callable[[Assignment], None],
        on_lost: Callable[[], None],
        may_rejoin: Callable[[float], bool] = lambda wait_s: True,
    ) -> None:
        # No question may take longer than the session: whoever hangs must learn that it is out.
        limit_ms = min(settings.api_timeout_ms, protocol.session_timeout_ms)
        self._settings = replace(settings, api_timeout_ms=limit_ms, connection_timeout_ms=limit_ms)
        self._protocol = protocol
        self._metadata = metadata
        self._assign = assign
        self._on_assigned = on_assigned
        self._on_lost = on_lost
        self._may_rejoin = may_rejoin
        self._cluster = Cluster(self._settings)
        self._member_id = ""
        self._generation = _NO_GENERATION
        self._is_in = False
        self._heard = 0.0
        self._closing = threading.Event()
        self._joins_anew = threading.Event()
        self._woken = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"member of {protocol.group}", daemon=True
        )

    @property
    def heard(self) -> float:
        """When (`time.monotonic`) the coordinator last said that the assignment stands."""
        return self._heard

    def start(self) -> None:
        """Begin to join; the callbacks tell what comes of it."""
        self._thread.start()

    def rejoin(self) -> None:
        """Join again soon, because the metadata has changed."""
        self._joins_anew.set()
        self._woken.set()

    def close(self, timeout_s: float = 5.0) -> None:
        """Leave the group, so that the others need not wait for the session to end."""
        self._closing.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    # -- the thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        pause_s = self._settings.retry_backoff_ms / 1000
        while not self._closing.is_set():
            try:
                self._join()
                pause_s = self._settings.retry_backoff_ms / 1000
                self._stay()
            except HeadraceError as error:
                self._fail(error)
                self._closing.wait(pause_s)
                pause_s = min(pause_s * 2, _MAX_PAUSE_S)
        self._leave()
        self._cluster.close()

    def _join(self) -> None:
        """One round of JoinGroup and SyncGroup; returns as a member of a new generation."""
        protocol = self._protocol
        wait_s = protocol.rebalance_timeout_ms / 1000 + _MARGIN_S
        joined = self._ask_to_join(wait_s)
        assignments: list[SyncGroupRequestAssignment] = []
        chosen = joined.protocol_name or protocol.protocol_name
        if joined.leader == joined.member_id:
            members = Members(
                {member.member_id: bytes(member.metadata) for member in joined.members},
                generation=joined.generation_id,
                member_id=joined.member_id,
                protocol=chosen,
            )
            assignments = [
                SyncGroupRequestAssignment(member_id=member_id, assignment=data)
                for member_id, data in self._assign(members).items()
            ]
        answer = self._call(
            SyncGroupRequest(
                group_id=protocol.group,
                generation_id=joined.generation_id,
                member_id=joined.member_id,
                protocol_type=protocol.protocol_type,
                protocol_name=chosen,
                assignments=assignments,
            ),
            wait_s,
        )
        self._check(answer.error_code, "receiving the assignment")
        self._generation = joined.generation_id
        self._is_in = True
        self._heard = time.monotonic()
        self._on_assigned(
            Assignment(joined.generation_id, joined.member_id, bytes(answer.assignment))
        )

    def _ask_to_join(self, wait_s: float) -> JoinGroupResponse:
        protocol = self._protocol
        self._joins_anew.clear()  # what is said from here on is new enough
        while True:
            answer: JoinGroupResponse = self._call(
                JoinGroupRequest(
                    group_id=protocol.group,
                    session_timeout_ms=protocol.session_timeout_ms,
                    rebalance_timeout_ms=protocol.rebalance_timeout_ms,
                    member_id=self._member_id,
                    protocol_type=protocol.protocol_type,
                    protocols=self._offered(),
                ),
                wait_s,
            )
            if answer.error_code == Error.MEMBER_ID_REQUIRED and not self._member_id:
                self._member_id = answer.member_id
                continue
            self._check(answer.error_code, "joining")
            self._member_id = answer.member_id
            return answer

    def _offered(self) -> list[JoinGroupRequestProtocol]:
        told = self._metadata()
        by_name = {self._protocol.protocol_name: told} if isinstance(told, bytes) else told
        return [
            JoinGroupRequestProtocol(name=name, metadata=data) for name, data in by_name.items()
        ]

    def _stay(self) -> None:
        """Heartbeats until there is a reason to join again."""
        interval_s = self._protocol.heartbeat_interval_ms / 1000
        request = HeartbeatRequest(
            group_id=self._protocol.group,
            generation_id=self._generation,
            member_id=self._member_id,
        )
        leaves_at: float | None = None
        while not self._rested(0.0 if leaves_at else interval_s):
            answer = self._call(request, self._protocol.session_timeout_ms / 1000)
            if answer.error_code != Error.REBALANCE_IN_PROGRESS:
                self._check(answer.error_code, "a heartbeat")
            self._heard = time.monotonic()
            if answer.error_code or self._joins_anew.is_set():
                # The coordinator waits that long for members that still have something to do.
                leaves_at = leaves_at or self._heard + self._protocol.rebalance_timeout_ms / 1000
                if self._may_rejoin(interval_s) or self._heard >= leaves_at:
                    return

    def _rested(self, seconds: float) -> bool:
        """Wait for the next heartbeat, or until there is a reason to hurry; true: to leave."""
        self._woken.wait(seconds)
        self._woken.clear()
        return self._closing.is_set()

    def _leave(self) -> None:
        if not self._member_id:
            return
        try:
            connection = self._cluster.coordinator(self._protocol.group)
            version = connection.newest(LeaveGroupRequest)
            if version >= _LEAVES_BY_LIST:
                who = MemberIdentity(member_id=self._member_id, reason="the service stops")
                request = LeaveGroupRequest(group_id=self._protocol.group, members=[who])
            else:
                request = LeaveGroupRequest(
                    group_id=self._protocol.group, member_id=self._member_id
                )
            connection.set_timeout(_MAX_PAUSE_S)
            connection.call(request, version)
        except HeadraceError as error:
            _LOG.info("leaving the group %s failed: %s", self._protocol.group, error)
        self._lose()

    # -- failures ---------------------------------------------------------------------------------

    def _fail(self, error: HeadraceError) -> None:
        code = error.error if isinstance(error, BrokerRefused) else None
        if code is None or code in _MOVED:
            self._cluster.forget_coordinator(self._protocol.group)
        if code is Error.REBALANCE_IN_PROGRESS:
            return  # Another one joined meanwhile: the next round follows at once.
        is_grave = code is not None and not code.retriable and code not in _OUT
        _LOG.log(logging.WARNING if is_grave else logging.INFO, "%s", error)
        session_s = self._protocol.session_timeout_ms / 1000
        if code in _OUT or time.monotonic() - self._heard > session_s:
            if code in _OUT:
                self._member_id = ""
            self._lose()

    def _lose(self) -> None:
        if self._is_in:
            self._is_in = False
            self._on_lost()

    def _check(self, code: int, what: str) -> None:
        if code:
            raise BrokerRefused(code, f"{what} in the group {self._protocol.group}")

    def _call(self, request: Any, wait_s: float) -> Any:
        """At the coordinator, on a connection of this thread's own."""
        connection: Connection = self._cluster.coordinator(self._protocol.group)
        connection.set_timeout(wait_s)
        return connection.call(request)
