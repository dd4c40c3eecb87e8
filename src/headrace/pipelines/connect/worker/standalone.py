"""A worker alone: connectors in memory, source offsets in a file.

    files, REST ── decided on a snapshot ── divided into tasks ── hosts

What is decided is replayed like the config topic of a cluster, and forgotten at the end. One change
is made at a time. A task that fails is left alone; the others go on.
"""

from __future__ import annotations

import logging
import socket
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from headrace.admin.client import Admin
from headrace.errors import HeadraceError
from headrace.pipelines.connect import plugins
from headrace.pipelines.connect.config import connector as keys
from headrace.pipelines.connect.config.providers import configured, resolved
from headrace.pipelines.connect.config.report import ConfigInfos
from headrace.pipelines.connect.config.validate import validate
from headrace.pipelines.connect.config.worker import standalone
from headrace.pipelines.connect.faults import (
    BadRequestException,
    ConfigException,
    ConnectException,
    NotFoundException,
)
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.herder import cluster, decisions, restarts
from headrace.pipelines.connect.herder.offsets import (
    ALTERED,
    RESET,
    Asked,
    modifiable,
    of_sink,
)
from headrace.pipelines.connect.herder.states import WANTED
from headrace.pipelines.connect.herder.tasks import configure_tasks
from headrace.pipelines.connect.host.assembly import TaskSpec
from headrace.pipelines.connect.host.clients import connection_of, properties_of
from headrace.pipelines.connect.host.host import OnState
from headrace.pipelines.connect.java.found import look_in
from headrace.pipelines.connect.state import records
from headrace.pipelines.connect.state.config_log import ConfigLog, LoggerLevelChanged, Snapshot
from headrace.pipelines.connect.state.records import (
    RestartRequest,
    Settings,
    State,
    Status,
    TargetState,
    TopicStatus,
    Write,
)
from headrace.pipelines.connect.state.status_log import StatusLog
from headrace.pipelines.connect.worker.catalogue import Catalogue
from headrace.pipelines.connect.worker.dividing import divided
from headrace.pipelines.connect.worker.launcher import Launcher
from headrace.pipelines.connect.worker.loggers import Loggers
from headrace.pipelines.connect.worker.machine import this_machine
from headrace.pipelines.connect.worker.offset_file import OffsetFile
from headrace.pipelines.connect.worker.remote_host import Listeners
from headrace.pipelines.connect.worker.sink_offsets import SinkOffsets
from headrace.pipelines.connect.worker.worker import ConnectorInfo, ConnectorStatus, Signature
from headrace.runtime.clock import Clock

_LOG: Final = logging.getLogger(__name__)
OFFSET_FILE: Final = "offset.storage.file.filename"
_GENERATION: Final = 0
_AIMS: Final = {
    TargetState.STARTED: decisions.resume,
    TargetState.PAUSED: decisions.pause,
    TargetState.STOPPED: decisions.stop,
}


class Standalone:
    """The `Worker` that needs no other. `tell` hears of every state of a task, in its thread.

    `id` is how statuses name it. `changed` is notified of every status.
    """

    def __init__(self, settings: Mapping[str, str], clock: Clock, tell: OnState) -> None:
        self.providers = configured(settings, this_machine())
        self.settings = standalone(resolved(settings, self.providers))
        look_in(self.settings.given)
        self.loggers = Loggers(clock)
        self.id = socket.gethostname()
        self.changed = threading.Condition()
        self._clock = clock
        self._tell = tell
        self._turn = threading.RLock()
        self._offsets = OffsetFile(Path(self.settings.text(OFFSET_FILE)))
        self._configs = ConfigLog()
        self._snapshot = Snapshot()
        self._statuses = StatusLog()
        listeners = Listeners(self._on_state, self._divide_anew, self._on_topic)
        self._host = Launcher(self.settings, clock, listeners)
        self._cluster_id: str | None = None

    # -- the worker itself ------------------------------------------------------------------------

    def cluster_id(self) -> str:
        """The id of the Kafka cluster, asked for once."""
        if self._cluster_id is None:
            admin = connection_of(properties_of("admin", self.settings.given, {}), "connect-admin")
            try:
                with Admin(admin) as asked:
                    self._cluster_id = asked.describe_cluster().cluster_id
            except HeadraceError as fault:
                raise ConnectException(
                    f"Failed to connect to and describe Kafka cluster ({fault}). "
                    "Check bootstrap.servers and admin.* of the worker"
                ) from fault
        return self._cluster_id

    def trouble(self) -> str | None:
        """It waits for nobody."""
        return None

    def validate(self, config: Settings) -> ConfigInfos:
        """All that is to be said of a connector's settings."""
        given = resolved(config, self.providers)
        return validate(given, Catalogue(), self.settings.traits)

    def stop(self) -> None:
        """Stop every task, offsets kept."""
        with self._turn:
            self._host.close(self._stop_timeout_s)

    # -- what there is ----------------------------------------------------------------------------

    def connectors(self) -> list[str]:
        """The names of all."""
        return list(self._snapshot.connectors)

    def info(self, name: str) -> ConnectorInfo:
        """A connector as it is configured."""
        config = decisions.known(self._snapshot, name)
        listed = _listed(config)
        kind = None if listed is None else listed.kind
        return ConnectorInfo(name, config, self._snapshot.tasks(name), kind)

    def status(self, name: str) -> ConnectorStatus:
        """What a connector and its tasks do."""
        if name not in self._snapshot.connectors:
            raise NotFoundException(f"No status found for connector {name}")
        info = self.info(name)
        unsaid = self._status(name, State.UNASSIGNED)
        with self.changed:
            tasks = {task: self._statuses.task(task) or unsaid for task in info.tasks}
            return ConnectorStatus(name, self._statuses.connector(name) or unsaid, tasks, info.kind)

    def task_status(self, task: TaskId) -> Status:
        """What a task does."""
        if task not in self._snapshot.tasks(task.connector):
            raise NotFoundException(f"No status found for task {task}")
        return self.status(task.connector).tasks[task]

    def task_configs(self, name: str) -> Mapping[TaskId, Settings]:
        """What each task has set."""
        decisions.known(self._snapshot, name)
        return {task: self._snapshot.task_settings[task] for task in self._snapshot.tasks(name)}

    # -- changes ----------------------------------------------------------------------------------

    def create(self, name: str, config: Settings, initial: TargetState | None) -> ConnectorInfo:
        """Start a connector; BadRequestException or ConnectException: it cannot be."""
        infos = self.validate(config)
        with self._turn:
            self._write(decisions.create(self._snapshot, name, config, infos, initial))
            self._follow(name)
            return self.info(name)

    def configure(self, name: str, config: Settings) -> tuple[ConnectorInfo, bool]:
        """Set all settings; true: the connector is new."""
        infos = self.validate(config)
        with self._turn:
            new = name not in self._snapshot.connectors
            self._write(decisions.configure(name, config, infos))
            self._follow(name)
            return self.info(name), new

    def patch(self, name: str, changes: Mapping[str, str | None]) -> ConnectorInfo:
        """Set some settings; None takes one away."""
        with self._turn:
            return self.configure(name, decisions.patched(self._snapshot, name, changes))[0]

    def delete(self, name: str) -> None:
        """Stop a connector and forget it; its offsets stay."""
        with self._turn:
            writes = decisions.delete(self._snapshot, name)
            self._halt(name)
            self._write(writes)
            self._note(self._statuses.removal(name))

    def aim(self, name: str, target: TargetState) -> None:
        """Pause, resume or stop."""
        with self._turn:
            self._write(_AIMS[target](self._snapshot, name))
            self._follow(name)

    # -- restarts ---------------------------------------------------------------------------------

    def restart_connector(self, name: str) -> None:
        """Divide its work again; tasks whose settings stay the same go on."""
        with self._turn:
            restarts.restart_connector(self._snapshot, name)
            self._follow(name)

    def restart_task(self, task: TaskId) -> None:
        """End a task and begin it again."""
        with self._turn:
            restarts.restart_task(self._snapshot, task)
            self._restart_tasks([task])

    def restart(self, request: RestartRequest) -> ConnectorStatus:
        """The connector and those of its tasks that are meant."""
        name = request.connector
        with self._turn:
            restarts.restart_connector(self._snapshot, name)
            now = self.status(name)
            plan = restarts.plan_restart(request, now.status, now.tasks)
            if plan.connector:
                with suppress(ConnectException):  # its status says why
                    self._follow(name)
            self._restart_tasks([task for task in plan.tasks if task in self._host.tasks])
        return replace(
            now,
            status=_restarting(now.status) if plan.connector else now.status,
            tasks={
                task: _restarting(status) if task in plan.tasks else status
                for task, status in now.tasks.items()
            },
        )

    # -- offsets and topics -----------------------------------------------------------------------

    def offsets(
        self, name: str
    ) -> Sequence[tuple[Mapping[str, object], Mapping[str, object] | None]]:
        """Where a source's partitions stand, or what a sink's group has committed."""
        info = self.info(name)
        if info.kind == "sink":
            return self._sink_offsets(info).all()
        return self._offsets.all_of(name)

    def alter_offsets(self, name: str, asked: Asked) -> str:
        """Change some offsets of a connector that is stopped."""
        with self._turn:
            modifiable(self._snapshot, name)
            info = self.info(name)
            if info.kind == "sink":
                wanted = of_sink(asked)
                self._sink_offsets(info).alter(wanted)
            else:
                self._offsets.keep(name, [(_partition(place), offset) for place, offset in asked])
        return ALTERED

    def reset_offsets(self, name: str) -> str:
        """Let a connector that is stopped begin again."""
        with self._turn:
            modifiable(self._snapshot, name)
            info = self.info(name)
            if info.kind == "sink":
                self._sink_offsets(info).reset()
            else:
                self._offsets.reset(name)
        return RESET

    def _sink_offsets(self, info: ConnectorInfo) -> SinkOffsets:
        return SinkOffsets(info.name, self.settings.given, self._resolved(info.config))

    def topics(self, name: str) -> list[str]:
        """The topics that a connector was seen to use."""
        with self.changed:
            return [each.topic for each in self._statuses.topics(name)]

    def reset_topics(self, name: str) -> None:
        """Forget the topics that a connector was seen to use."""
        self._note(self._statuses.topic_resets(name))

    # -- what only a group of workers has ---------------------------------------------------------

    def set_logger_level(self, logger: str, level: str) -> None:
        """All workers are this one."""
        with self._turn:
            self._write(cluster.set_logger_level(logger, level))

    def put_task_configs(
        self, name: str, tasks: Sequence[Settings], body: bytes, signature: Signature | None
    ) -> None:
        """Nobody else divides its connectors."""
        raise ConnectException(
            "Kafka Connect in standalone mode does not support externally setting task "
            "configurations."
        )

    def fence(self, name: str, body: bytes, signature: Signature | None) -> None:
        """Its sources write without transactions."""
        raise ConnectException(
            "Kafka Connect in standalone mode does not support exactly-once source connectors."
        )

    # -- from what shall be to what is ------------------------------------------------------------

    def _follow(self, name: str) -> None:
        """Have a connector and its tasks do what they shall, with the settings that they have."""
        target = self._snapshot.target_states[name]
        here = [task for task in self._host.tasks if task.connector == name]
        if target is TargetState.STOPPED:
            self._halt(name)
        elif target is TargetState.PAUSED:
            self._host.pause(here)
        elif writes := self._divided(name):
            self._halt(name)
            self._write(writes)
        else:
            self._host.resume(here)
        self._say(name, WANTED[target])
        running = set(self._host.tasks)
        self._begin([task for task in self._snapshot.tasks(name) if task not in running])

    def _divided(self, name: str) -> list[Write]:
        """The tasks of a connector, if they are not what they were; its status says if it fails."""
        try:
            found = divided(self._snapshot.connectors[name], self.providers)
            return configure_tasks(self._snapshot, name, found)
        except Exception as fault:
            trace = "".join(traceback.format_exception(fault))
            self._say(name, State.FAILED, trace)
            raise ConnectException(
                f"Failed to transition connector {name} to state STARTED: {fault}"
            ) from fault

    def _begin(self, tasks: Sequence[TaskId]) -> None:
        """Start tasks, paused if that is what their connector is."""
        flush_ms = self.settings.number("offset.flush.interval.ms")
        for task in tasks:
            config = self._resolved(self._snapshot.task_settings[task])
            self._say(task, State.UNASSIGNED)
            offsets = self._offsets.of(task.connector)
            paused = self._snapshot.target_states[task.connector] is TargetState.PAUSED
            self._host.start(
                TaskSpec(task, config, self.settings.given, offsets, flush_ms, paused=paused)
            )

    def _restart_tasks(self, tasks: list[TaskId]) -> None:
        for task in tasks:
            self._say(task, State.RESTARTING)
        self._host.stop(tasks, self._stop_timeout_s)
        self._begin(tasks)

    def _halt(self, name: str) -> None:
        tasks = [task for task in self._host.tasks if task.connector == name]
        self._host.stop(tasks, self._stop_timeout_s)

    def _divide_anew(self, name: str) -> None:
        """A connector has other work now; its task must not wait for its own end."""
        threading.Thread(target=self._redivide, args=(name,), daemon=True).start()

    def _redivide(self, name: str) -> None:
        with self._turn:
            if self._snapshot.target_states.get(name) is not TargetState.STARTED:
                return
            try:
                self._follow(name)
            except ConnectException as fault:
                _LOG.error("connector %s keeps its tasks as they are: %s", name, fault)

    def _resolved(self, config: Settings) -> Settings:
        return resolved(config, self.providers)

    @property
    def _stop_timeout_s(self) -> float:
        return self.settings.number("task.shutdown.graceful.timeout.ms") / 1000

    # -- what is written --------------------------------------------------------------------------

    def _write(self, writes: Sequence[Write]) -> None:
        for key, value in writes:
            change = self._configs.replay(self._snapshot.offset + 1, key, value)
            if isinstance(change, LoggerLevelChanged):
                self.loggers.set_level(change.logger, change.level)
        self._snapshot = self._configs.snapshot()

    def _note(self, writes: Sequence[Write]) -> None:
        with self.changed:
            for key, value in writes:
                self._statuses.replay(key, value)
            self.changed.notify_all()

    def _say(self, who: str | TaskId, state: State, trace: str | None = None) -> None:
        if isinstance(who, TaskId):
            self._note([records.task_status(who, self._status(who.connector, state, trace))])
        else:
            self._note([records.connector_status(who, self._status(who, state, trace))])

    def _status(self, connector: str, state: State, trace: str | None = None) -> Status:
        listed = _listed(self._snapshot.connectors.get(connector, {}))
        version = None if listed is None else listed.version
        return Status(state, self.id, _GENERATION, trace, version)

    def _on_state(self, task: TaskId, state: State, trace: str | None) -> None:
        if task in self._snapshot.tasks(task.connector):
            self._say(task, state, trace)
        self._tell(task, state, trace)

    def _on_topic(self, task: TaskId, topic: str) -> None:
        if not self.settings.flag("topic.tracking.enable"):
            return
        with self.changed:
            if any(each.topic == topic for each in self._statuses.topics(task.connector)):
                return
        status = TopicStatus(topic, task.connector, task.task, self._clock.now_ms())
        self._note([records.topic_status(status)])


def _listed(config: Settings) -> plugins.Plugin | None:
    """A connector's class; None if nobody knows it any more."""
    try:
        return plugins.find(config[keys.CLASS])
    except (KeyError, ConnectException, ConfigException):
        return None


def _restarting(status: Status) -> Status:
    return replace(status, state=State.RESTARTING)


def _partition(place: Mapping[str, object] | None) -> Mapping[str, object]:
    if place is None:
        raise BadRequestException("The partition for a source connector offset cannot be null")
    return place
