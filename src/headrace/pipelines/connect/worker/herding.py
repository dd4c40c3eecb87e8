"""The herder: one thread that follows the settings and the group, and has the work done.

    config topic ── changes ──┐
    group ──────── rounds ────┼── turns of one thread ── LocalWork ── tasks
    requests ─────────────────┘                       └─ config topic, if it leads

Whatever happens, the thread compares what the worker holds with what the settings say, and settles
the difference. Connectors are divided into tasks in other threads: that may take a while.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeVar

from headrace.client.faults import Fenced
from headrace.client.settings import ClientSettings
from headrace.errors import HeadraceError
from headrace.pipelines.connect.config.providers import Provider
from headrace.pipelines.connect.config.worker import WorkerConfig
from headrace.pipelines.connect.faults import ConnectException, NotFoundException
from headrace.pipelines.connect.group.protocol import CONFIG_MISMATCH, SESSIONED, TaskId, Work
from headrace.pipelines.connect.herder.cluster import rotate, wants_session_key
from headrace.pipelines.connect.herder.leading import configured_work
from headrace.pipelines.connect.herder.restarts import plan_restart
from headrace.pipelines.connect.state.config_log import Change, LoggerLevelChanged, Snapshot
from headrace.pipelines.connect.state.records import RestartRequest, Write
from headrace.pipelines.connect.worker.config_topic import ConfigTopic
from headrace.pipelines.connect.worker.local_work import LocalWork
from headrace.pipelines.connect.worker.loggers import Loggers
from headrace.pipelines.connect.worker.member import Member, Round
from headrace.pipelines.connect.worker.offset_topic import OffsetTopics
from headrace.pipelines.connect.worker.reconfiguring import Reconfiguring
from headrace.pipelines.connect.worker.signing import new_key
from headrace.pipelines.connect.worker.status_topic import StatusTopic
from headrace.pipelines.connect.worker.statuses import Statuses
from headrace.pipelines.connect.worker.turns import Turns, logged
from headrace.runtime.clock import Clock

_LOG: Final = logging.getLogger(__name__)
_THREADS: Final = 4
_FAST_READ_S: Final = 1.0
_AGAIN_MS: Final = 1_000
T = TypeVar("T")


class Herder:
    """What it owns is public for the requests beside it; only its own thread changes anything."""

    def __init__(
        self,
        client: ClientSettings,
        settings: WorkerConfig,
        providers: Mapping[str, Provider],
        loggers: Loggers,
        url: str,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self.loggers = loggers
        self.turns = Turns(clock, "herder")
        self.pool = ThreadPoolExecutor(_THREADS, "herder's helper")
        self.config = ConfigTopic(client, settings, clock, self._on_changes)
        self.status = StatusTopic(client, settings.state_topic("status").name, clock)
        self.offsets = OffsetTopics(client, settings, clock)
        self._statuses = Statuses(
            self.status,
            worker_id(url),
            clock,
            notes_topics=settings.flag("topic.tracking.enable"),
        )
        self.member = Member(
            client,
            settings,
            url,
            clock,
            snapshot=self._snapshot,
            on_round=self._on_round,
            on_joining=self._unbalance,
            on_lost=self._on_lost,
            give_up=self._give_up,
        )
        self._reconfiguring = Reconfiguring(self, client, settings, providers)
        self.local = LocalWork(
            settings,
            providers,
            self.offsets,
            self._statuses,
            clock,
            divide=self._reconfiguring.divide,
            may_start=self._reconfiguring.may_start,
        )
        self._configured = Work()
        self.round: Round | None = None
        self._balance = threading.Condition()
        self._is_balanced = False

    # -- life -------------------------------------------------------------------------------------

    def start(self) -> None:
        """Read the state, then join the group."""
        self.status.open()
        self.offsets.open()
        self.config.open()
        self._configured = configured_work(self.config.snapshot())
        self.turns.start()
        self.member.start()

    def close(self) -> None:
        """Stop everything that runs here, say so, and leave the group."""
        patience_s = self._settings.number("task.shutdown.graceful.timeout.ms") / 1000
        if self.turns.has_begun:  # otherwise nothing runs here
            stopping = self.turns.submit(self.local.stop)
            logged(stopping, "stopping the work")
            with suppress(TimeoutError):
                stopping.exception(2 * patience_s + 1)
        self.turns.close(patience_s)
        self.member.settled.set()
        self.member.close()
        self.status.close(patience_s)
        self.pool.shutdown(wait=False, cancel_futures=True)
        self.config.close()
        self.offsets.close()

    # -- the group --------------------------------------------------------------------------------

    @property
    def is_leader(self) -> bool:
        """Whether this worker led in the last round."""
        return self.round is not None and self.round.is_leader

    @property
    def leader_url(self) -> str | None:
        """The address of the leader of the last round."""
        return None if self.round is None else self.round.assignment.leader_url

    @property
    def is_balanced(self) -> bool:
        """Whether no rebalance is expected or under way."""
        return self._is_balanced

    def await_balance(self, timeout_s: float) -> bool:
        """Wait for the end of a rebalance; false if it has not come."""
        with self._balance:
            return self._balance.wait_for(lambda: self._is_balanced, timeout_s)

    def rebalance(self) -> None:
        """Have the group assign anew."""
        self._unbalance()
        self.member.rejoin()

    def _unbalance(self) -> None:
        with self._balance:
            self._is_balanced = False

    def _on_round(self, made: Round) -> None:
        logged(self.turns.submit(lambda: self._take(made)), "following the group")

    def _take(self, made: Round) -> None:
        """Do as the leader said."""
        given = made.assignment
        snapshot = self.config.snapshot()
        if given.error or snapshot.offset < given.config_offset:
            sync_s = self._settings.number("worker.sync.timeout.ms") / 1000
            try:
                snapshot = self.config.read_to_end(sync_s)
            except HeadraceError as fault:
                backoff_ms = self._settings.number("worker.unsync.backoff.ms")
                _LOG.error("the settings cannot be read, next time in %d ms: %s", backoff_ms, fault)
                self.member.settled.set()
                self.turns.later(backoff_ms, self.rebalance)
                return
        if given.error == CONFIG_MISMATCH:
            self.member.settled.set()
            self.rebalance()
            return
        self.round = made
        self._statuses.generation = made.generation
        try:
            self.local.settle(made.held, snapshot)
        finally:
            self.member.settled.set()
        if given.revoked:
            self.rebalance()  # what was given up here can be given out now
        else:
            if given.delay_ms:
                self.turns.later(given.delay_ms, lambda: self._rebalance_after(made.generation))
            with self._balance:
                self._is_balanced = True
                self._balance.notify_all()
        if made.is_leader:
            self._lead(made)
        else:
            self.config.retire()

    def _rebalance_after(self, generation: int) -> None:
        if self.round is not None and self.round.generation == generation:
            self.rebalance()

    def _on_lost(self) -> None:
        self._unbalance()
        if self.member.is_out:
            # Before it joins again: what it says then must not be taken back later.
            self.member.settled.clear()
            self.member.forget_work()
            logged(self.turns.submit(self._stop_lost), "stopping what others have by now")

    def _stop_lost(self) -> None:
        _LOG.warning("the coordinator of the group was not heard of for a session: all work stops")
        try:
            self._drop()
        finally:
            self.member.settled.set()

    def _give_up(self) -> None:
        """Before joining an eager group."""
        self.turns.submit(self._drop).exception()

    def _drop(self) -> None:
        self.local.stop()
        self.round = None

    # -- leading ----------------------------------------------------------------------------------

    def _lead(self, made: Round) -> None:
        """What the leader does after each round; again after a while if it cannot be done yet."""
        if self.round is not made:
            return
        try:
            self.config.claim()
            self._forget_lost(self.config.read_to_end())
            self._renew_key(made)
        except (ConnectException, HeadraceError) as fault:
            _LOG.warning("the topics cannot be led yet, next time in %d ms: %s", _AGAIN_MS, fault)
            logged(self.turns.later(_AGAIN_MS, lambda: self._lead(made)), "leading")

    def _forget_lost(self, snapshot: Snapshot) -> None:
        gone = [name for name in self.status.connectors() if name not in snapshot.connectors]
        tasks = [
            task
            for name in snapshot.connectors
            for task in self.status.tasks(name)
            if task not in snapshot.tasks(name)
        ]
        self.status.forget(gone, tasks)

    def _renew_key(self, made: Round) -> None:
        """Give all workers a new key if there is none, or it is too old."""
        if made.assignment.version < SESSIONED:
            return
        ttl_ms = self._settings.number("inter.worker.key.ttl.ms")
        snapshot = self.config.snapshot()
        if wants_session_key(snapshot, self._clock.now_ms(), ttl_ms):
            snapshot = self.write(rotate(new_key(self._settings, self._clock)))
        key = snapshot.session_key
        if ttl_ms and key is not None:
            left_ms = max(key.created_ms + ttl_ms - self._clock.now_ms(), 1)
            logged(self.turns.later(left_ms, lambda: self._lead(made)), "making a new session key")

    def write(self, writes: list[Write]) -> Snapshot:
        """Write as the leader, in the herder's thread."""
        assert self.turns.is_here
        try:
            return self.config.lead(writes)
        except Fenced as fault:
            self.rebalance()
            raise ConnectException(
                "Failed to write to config topic; this may be due to a transient error and the "
                "request can be safely retried"
            ) from fault

    # -- the settings -----------------------------------------------------------------------------

    def _snapshot(self, offset: int) -> Snapshot:
        snapshot = self.config.snapshot()
        if snapshot.offset >= offset:
            return snapshot
        try:
            return self.config.read_to_end(_FAST_READ_S)
        except HeadraceError as fault:
            _LOG.warning("the leader has not read what others have: %s", fault)
            return self.config.snapshot()

    def _on_changes(self, changes: list[Change]) -> None:
        logged(self.turns.submit(lambda: self.follow(changes)), "following the settings")

    def follow(self, changes: list[Change]) -> None:
        """Act upon what the config topic said."""
        snapshot = self.config.snapshot()
        configured = configured_work(snapshot)
        if configured != self._configured:
            self._configured = configured
            known = -1 if self.round is None else self.round.assignment.config_offset
            if known < snapshot.offset:
                self.rebalance()
        for change in changes:
            if isinstance(change, RestartRequest):
                self._restart(change)
            elif isinstance(change, LoggerLevelChanged):
                self._set_level(change)
        self.local.settle(Work() if self.round is None else self.round.held, snapshot)

    def _restart(self, request: RestartRequest) -> None:
        """Restart what is meant and runs here."""
        name = request.connector
        try:
            plan = plan_restart(request, self.status.connector(name), self.status.tasks(name))
        except NotFoundException as fault:
            _LOG.warning("connector %s is not restarted: %s", name, fault)
            return
        if plan.connector:
            self.local.restart_connector(name)
        self.local.restart_tasks(list(plan.tasks))

    def _set_level(self, change: LoggerLevelChanged) -> None:
        try:
            self.loggers.set_level(change.logger, change.level)
        except NotFoundException as fault:
            _LOG.error("the logger %s keeps its level: %s", change.logger, fault)

    def owns(self, piece: str | TaskId) -> bool:
        """Whether a connector or task runs here."""
        here = self.local.tasks if isinstance(piece, TaskId) else self.local.connectors
        return piece in here

    def fence(self, name: str) -> None:
        """As the leader, in a thread of a request: shut out tasks of earlier settings."""
        self._reconfiguring.fence(name)

    def ask(self, turn: Callable[[], T], timeout_s: float) -> T:
        """Have the thread do something, and wait for it."""
        return self.turns.submit(turn).result(timeout_s)


def worker_id(url: str) -> str:
    """The name of a worker in statuses: host and port of its address."""
    return url.partition("://")[2].rstrip("/")
