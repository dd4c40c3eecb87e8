"""Before tasks start: connectors divide their work, and old tasks of sources are fenced.

Both are the leader's to write. Another worker asks it over HTTP, and again after a while if that
fails. Nothing here runs in the herder's thread for long: what may take a while has other threads.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from headrace.client.settings import ClientSettings
from headrace.errors import HeadraceError
from headrace.pipelines.connect import plugins
from headrace.pipelines.connect.config import connector as keys
from headrace.pipelines.connect.config.providers import Provider
from headrace.pipelines.connect.config.worker import WorkerConfig
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.herder.tasks import (
    Fencing,
    TooManyTasksException,
    configure_tasks,
    fence,
)
from headrace.pipelines.connect.host.fencing import fence as fence_producers
from headrace.pipelines.connect.state.config_log import Snapshot
from headrace.pipelines.connect.state.records import Settings, TargetState
from headrace.pipelines.connect.worker.dividing import divided
from headrace.pipelines.connect.worker.forwarding import Forwarding
from headrace.pipelines.connect.worker.local_work import transactional_id
from headrace.pipelines.connect.worker.turns import logged

if TYPE_CHECKING:
    from headrace.pipelines.connect.worker.herding import Herder

_LOG: Final = logging.getLogger(__name__)
_FIRST_PAUSE_MS: Final = 250
_MOST_PAUSE_MS: Final = 60_000
_WAIT_S: Final = 90.0


class Reconfiguring:
    """For a herder, whose thread decides."""

    def __init__(
        self,
        herder: Herder,
        client: ClientSettings,
        settings: WorkerConfig,
        providers: Mapping[str, Provider],
    ) -> None:
        self._herder = herder
        self._client = client
        self._providers = providers
        self._settings = settings
        self._exactly_once = settings.exactly_once
        self._forwarding = Forwarding(
            settings,
            settings.text("inter.worker.signature.algorithm"),
            lambda: herder.config.snapshot().session_key,
        )
        self._lock = threading.Lock()
        self._fencing: set[str] = set()

    # -- tasks ------------------------------------------------------------------------------------

    def divide(self, name: str) -> None:
        """Have a connector that runs here say what its tasks are."""
        self._divide(name, _FIRST_PAUSE_MS)

    def _divide(self, name: str, pause_ms: int) -> None:
        self._later(lambda: self._divided(name, pause_ms))

    def _later(self, step: Callable[[], None]) -> None:
        try:
            self._herder.pool.submit(step)
        except RuntimeError:
            _LOG.debug("the worker stops, and begins nothing")

    def _divided(self, name: str, pause_ms: int) -> None:
        snapshot = self._herder.config.snapshot()
        config = snapshot.connectors.get(name)
        if config is None or snapshot.target_states.get(name) is not TargetState.STARTED:
            return
        try:
            tasks = divided(config, self._providers)
        except Exception as fault:
            # The connector's own code: whatever it raises is its failure.
            reason = fault
            self._herder.turns.submit(lambda: self._herder.local.fail_connector(name, reason))
            return
        turn = self._herder.turns.submit(lambda: self._configure(name, config, tasks, pause_ms))
        logged(turn, f"configuring the tasks of {name}")

    def _configure(
        self, name: str, config: Settings, tasks: Sequence[Settings], pause_ms: int
    ) -> None:
        """In the herder's thread: write the settings of tasks, or have the leader write them."""
        herder = self._herder
        snapshot = herder.config.snapshot()
        if snapshot.connectors.get(name) != config:
            return  # it has other settings by now, which are divided in their turn
        try:
            writes = configure_tasks(snapshot, name, tasks)
        except TooManyTasksException as fault:
            herder.local.fail_connector(name, fault)
            return
        if not writes:
            return
        if not herder.is_leader:
            self._later(lambda: self._forward(name, tasks, pause_ms))
            return
        try:
            herder.write(writes)
        except (ConnectException, HeadraceError) as fault:
            self._divide_again(name, pause_ms, fault)

    def _forward(self, name: str, tasks: Sequence[Settings], pause_ms: int) -> None:
        try:
            self._forwarding.put_task_configs(self._leader(), name, tasks)
        except Exception as fault:  # nobody else would hear of it, and the tasks must be written
            self._divide_again(name, pause_ms, fault)

    def _divide_again(self, name: str, pause_ms: int, fault: Exception) -> None:
        _LOG.warning("the tasks of %s are not configured yet: %s", name, fault)
        longer_ms = min(pause_ms * 2, _MOST_PAUSE_MS)
        self._herder.turns.later(pause_ms, lambda: self._divide(name, longer_ms))

    def _leader(self) -> str:
        url = self._herder.leader_url
        if url is None:
            raise ConnectException("no worker leads at the moment")
        return url

    # -- fencing ----------------------------------------------------------------------------------

    def may_start(self, snapshot: Snapshot, name: str) -> bool:
        """Whether the tasks of a connector may begin; if not, what they wait for is asked for."""
        if not self._exactly_once or name not in snapshot.pending_fencing:
            return True
        if not _is_source(snapshot.connectors[name]):
            return True
        with self._lock:
            if name in self._fencing:
                return False
            self._fencing.add(name)
        self._later(lambda: self._ask_to_fence(name))
        return False

    def _ask_to_fence(self, name: str) -> None:
        herder = self._herder
        try:
            if herder.is_leader:
                self.fence(name)
            else:
                self._forwarding.fence(self._leader(), name)
        except Exception as fault:  # nobody else would hear of it
            _LOG.warning("old tasks of %s are not fenced yet: %r", name, fault)
        finally:
            with self._lock:
                self._fencing.discard(name)
            # With the record of the fencing the tasks start; without it, fencing is tried again.
            herder.turns.later(_FIRST_PAUSE_MS, lambda: herder.follow([]))

    def fence(self, name: str) -> None:
        """As the leader, in any thread but the herder's: shut out tasks of earlier settings."""
        herder = self._herder

        def decide() -> Fencing:
            return fence(herder.config.read_to_end(), name)

        fencing = herder.ask(decide, _WAIT_S)
        old = [TaskId(name, number) for number in range(fencing.tasks)]
        fence_producers(self._client, [transactional_id(self._settings, task) for task in old])
        if fencing.writes:
            herder.ask(self._noted(name), _WAIT_S)

    def _noted(self, name: str) -> Callable[[], None]:
        """Write how many tasks may begin: it may be others by now, but none of them has begun."""

        def note() -> None:
            writes = fence(self._herder.config.read_to_end(), name).writes
            if writes:
                self._herder.write(writes)

        return note


def _is_source(config: Settings) -> bool:
    try:
        return plugins.find(config.get(keys.CLASS, "")).kind == "source"
    except ConnectException:
        return False
