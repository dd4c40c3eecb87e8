"""A worker in its group: what it says when it joins, what it is given, and how it leads.

    joins with (url, how far it has read, what it runs) ── the leader assigns ── `on_round`

Work goes on during a rebalance. What is revoked is given up before the worker joins again, which it
does by itself then; `settled` says that this is done. What a round means for connectors and tasks
is for the herder to know.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from headrace.client.membership import Assignment as Told
from headrace.client.membership import GroupMember, GroupProtocol, Members
from headrace.client.settings import ClientSettings
from headrace.pipelines.connect.config.worker import WorkerConfig
from headrace.pipelines.connect.group.protocol import (
    CONFIG_MISMATCH,
    EAGER,
    NAMES,
    PROTOCOL_TYPE,
    VERSIONS,
    Assignment,
    TaskId,
    Work,
    WorkerState,
    decode_assignment,
    decode_state,
    encode_assignment,
    offered,
)
from headrace.pipelines.connect.herder.assignor import Memory, Piece
from headrace.pipelines.connect.herder.leading import held_after, lead
from headrace.pipelines.connect.state.config_log import Snapshot
from headrace.runtime.clock import Clock

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Round:
    """What a completed rebalance made of this worker."""

    generation: int
    member_id: str
    assignment: Assignment
    held: Work

    @property
    def is_leader(self) -> bool:
        """Whether this worker leads the cluster."""
        return self.assignment.leader == self.member_id


class Member:
    """Its callbacks come from the thread of the group's member, and must return soon.

    `snapshot(offset)` gives the settings, read as far as `offset` if that is possible at once.
    """

    def __init__(
        self,
        client: ClientSettings,
        settings: WorkerConfig,
        url: str,
        clock: Clock,
        *,
        snapshot: Callable[[int], Snapshot],
        on_round: Callable[[Round], None],
        on_joining: Callable[[], None],
        on_lost: Callable[[], None],
        give_up: Callable[[], None],
    ) -> None:
        self.url = url
        self._clock = clock
        self._snapshot = snapshot
        self._on_round = on_round
        self._on_joining = on_joining
        self._give_up = give_up
        self._version = VERSIONS[settings.text("connect.protocol")]
        self._max_delay_ms = settings.number("scheduled.rebalance.max.delay.ms")
        self._session_s = settings.number("session.timeout.ms") / 1000
        self._patience_s = settings.number("task.shutdown.graceful.timeout.ms") / 1000 + 1.0
        self._lock = threading.Lock()
        self._round: Round | None = None
        self._last: Assignment | None = None
        self._memory = Memory()
        self._owners: Mapping[Piece, str] = {}
        self.settled = threading.Event()
        """Set by the herder when what was revoked has stopped."""
        self.settled.set()
        self._member = GroupMember(
            client,
            GroupProtocol(
                settings.text("group.id"),
                PROTOCOL_TYPE,
                NAMES[self._version],
                settings.number("session.timeout.ms"),
                settings.number("heartbeat.interval.ms"),
                settings.number("rebalance.timeout.ms"),
            ),
            metadata=self._metadata,
            assign=self._assign,
            on_assigned=self._assigned,
            on_lost=on_lost,
            may_rejoin=self._may_rejoin,
        )

    def start(self) -> None:
        """Join the group."""
        self._member.start()

    def close(self) -> None:
        """Leave it; what the worker had is waited for as if it had died."""
        self._member.close()

    def rejoin(self) -> None:
        """Begin a rebalance."""
        self._member.rejoin()

    def forget_work(self) -> None:
        """Say at the next joining that nothing is held."""
        with self._lock:
            self._last = None

    @property
    def is_out(self) -> bool:
        """Whether the coordinator has not been heard of for so long that others have the work."""
        return time.monotonic() - self._member.heard > self._session_s

    def owner(self, piece: Piece) -> str | None:
        """The address of the worker that has a connector or task; the leader knows."""
        with self._lock:
            return self._owners.get(piece)

    # -- the member's thread ----------------------------------------------------------------------

    def _metadata(self) -> dict[str, bytes]:
        # What was revoked must have stopped before the leader may give it to another worker.
        self.settled.wait(self._patience_s)
        snapshot = self._snapshot(-1)
        with self._lock:
            state = WorkerState(self.url, snapshot.offset, self._last)
        return dict(offered(state, self._version))

    def _may_rejoin(self, wait_s: float) -> bool:
        self._on_joining()
        with self._lock:
            is_eager = self._last is not None and self._last.version == EAGER
        if is_eager:
            self._give_up()
            self.forget_work()
        return self.settled.wait(wait_s)

    def _assign(self, members: Members) -> dict[str, bytes]:
        states = {name: decode_state(data) for name, data in members.items()}
        version = states[members.member_id].version
        snapshot = self._snapshot(max(state.config_offset for state in states.values()))
        with self._lock:
            last = -1 if self._round is None else self._round.generation
            self._memory, given = lead(
                self._memory,
                snapshot,
                states,
                members.member_id,
                version=version,
                last_generation=last,
                generation=members.generation,
                now_ms=self._clock.monotonic_ms(),
                max_delay_ms=self._max_delay_ms,
            )
            self._owners = _owners(states, given)
        _LOG.info(
            "generation %d of %s: %d members under the protocol %s",
            members.generation,
            self.url,
            len(members),
            members.protocol,
        )
        return {name: encode_assignment(assignment) for name, assignment in given.items()}

    def _assigned(self, told: Told) -> None:
        given = decode_assignment(told.data)
        with self._lock:
            before = Work() if self._last is None else self._last.given
            if given.error == CONFIG_MISMATCH:
                held = before
            else:
                held = held_after(before, given)
                self._last = Assignment(
                    given.leader,
                    given.leader_url,
                    given.config_offset,
                    held,
                    delay_ms=given.delay_ms,
                    version=given.version,
                )
            made = self._round = Round(told.generation, told.member_id, given, held)
            if not made.is_leader:
                self._memory, self._owners = Memory(), {}
        self.settled.clear()
        self._on_round(made)


def _owners(states: Mapping[str, WorkerState], given: Mapping[str, Assignment]) -> dict[Piece, str]:
    owners: dict[Piece, str] = {}
    for name, state in states.items():
        before = Work() if state.assignment is None else state.assignment.given
        held = held_after(before, given[name])
        pieces: tuple[str | TaskId, ...] = (*held.connectors, *held.tasks)
        owners |= dict.fromkeys(pieces, state.url)
    return owners
