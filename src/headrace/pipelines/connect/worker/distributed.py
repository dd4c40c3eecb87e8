"""A worker of a cluster: its requests, answered from the state that all share.

What changes settings is the leader's; a worker that does not lead says who does. A request that
meets a rebalance waits for its end, and is rejected if that does not come soon.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Final, Literal, Self, TypeVar

from headrace.client.settings import ClientSettings
from headrace.errors import HeadraceError
from headrace.pipelines.connect import plugins
from headrace.pipelines.connect.config import connector as keys
from headrace.pipelines.connect.config.providers import configured, resolved
from headrace.pipelines.connect.config.report import ConfigInfos
from headrace.pipelines.connect.config.validate import validate
from headrace.pipelines.connect.config.worker import distributed
from headrace.pipelines.connect.faults import (
    BadRequestException,
    ConfigException,
    ConnectException,
    ConnectRestException,
    NotFoundException,
    RebalanceNeededException,
)
from headrace.pipelines.connect.group.protocol import SESSIONED, TaskId
from headrace.pipelines.connect.herder import cluster, decisions, restarts
from headrace.pipelines.connect.herder import offsets as asked_offsets
from headrace.pipelines.connect.herder.offsets import Asked
from headrace.pipelines.connect.herder.tasks import TooManyTasksException, configure_tasks
from headrace.pipelines.connect.host.clients import connection_of
from headrace.pipelines.connect.java.found import look_in
from headrace.pipelines.connect.state.config_log import Snapshot
from headrace.pipelines.connect.state.records import (
    RestartRequest,
    Settings,
    State,
    Status,
    TargetState,
    Write,
)
from headrace.pipelines.connect.worker.catalogue import Catalogue
from headrace.pipelines.connect.worker.dividing import divided
from headrace.pipelines.connect.worker.herding import Herder
from headrace.pipelines.connect.worker.loggers import Loggers
from headrace.pipelines.connect.worker.machine import this_machine
from headrace.pipelines.connect.worker.signing import check
from headrace.pipelines.connect.worker.sink_offsets import SinkOffsets
from headrace.pipelines.connect.worker.state_topics import ensure_topics
from headrace.pipelines.connect.worker.worker import (
    ConnectorInfo,
    ConnectorStatus,
    NotTheLeader,
    NotTheOwner,
    Signature,
)
from headrace.runtime.clock import Clock

REQUEST_S: Final = 90.0
"""How long a request may take."""
_BALANCE_S: Final = 10.0
"""How long a request waits for the end of a rebalance."""
_NOBODY: Final = Status(State.UNASSIGNED, "", 0)
T = TypeVar("T")
Kind = Literal["source", "sink"]


class Distributed:
    """The worker, once it is told where others find it (`at`) and started."""

    def __init__(self, settings: Mapping[str, str], clock: Clock) -> None:
        self.providers = configured(settings, this_machine())
        self.settings = distributed(resolved(settings, self.providers))
        look_in(self.settings.given)
        self.loggers = Loggers(clock)
        self._clock = clock
        self._started = threading.Event()
        self._client: ClientSettings
        self._herder: Herder
        self._cluster_id = ""

    def at(self, url: str) -> Self:
        """The worker, whose address for the others is `url`."""
        self._client = connection_of(self.settings.own_client(), f"connect-{url}")
        self._herder = Herder(
            self._client, self.settings, self.providers, self.loggers, url, self._clock
        )
        return self

    def start(self) -> None:
        """Make sure of the topics, read them, and join the group, which goes on by itself."""
        self._cluster_id = ensure_topics(self._client, self.settings)
        self._herder.start()
        self._started.set()

    def stop(self) -> None:
        """Stop what runs here and leave the group."""
        self._herder.close()

    # -- the worker itself ------------------------------------------------------------------------

    def cluster_id(self) -> str:
        """The id of the Kafka cluster."""
        return self._cluster_id

    def trouble(self) -> str | None:
        """Why it cannot serve yet, or any more."""
        if self._herder.round is None:
            return "the worker is not in its group: it is starting, or no coordinator answers"
        return None

    # -- connectors -------------------------------------------------------------------------------

    def connectors(self) -> list[str]:
        """Their names."""
        return list(self._snapshot().connectors)

    def info(self, name: str) -> ConnectorInfo:
        """A connector as it is configured."""
        return _info(self._snapshot(), name)

    def status(self, name: str) -> ConnectorStatus:
        """What a connector and its tasks do."""
        snapshot, known = self._snapshot(), self._herder.status.connector(name)
        config = snapshot.connectors.get(name)
        if config is None:
            raise NotFoundException(f"No status found for connector {name}")
        said = self._herder.status.tasks(name)
        tasks = {task: said.get(task, _NOBODY) for task in snapshot.tasks(name)}
        return ConnectorStatus(name, known or _NOBODY, tasks, _kind(config))

    def task_status(self, task: TaskId) -> Status:
        """What a task does."""
        if task not in self._snapshot().tasks(task.connector):
            raise NotFoundException(f"No status found for task {task}")
        return self._herder.status.task(task) or _NOBODY

    def task_configs(self, name: str) -> Mapping[TaskId, Settings]:
        """The settings of a connector's tasks."""
        snapshot = self._snapshot()
        decisions.known(snapshot, name)
        return {task: snapshot.task_settings[task] for task in snapshot.tasks(name)}

    def create(self, name: str, config: Settings, initial: TargetState | None) -> ConnectorInfo:
        """A new connector, with its tasks."""
        wanted = decisions.named(name, config)
        infos, tasks = self._examined(wanted)
        target = initial or TargetState.STARTED

        def decide(snapshot: Snapshot) -> list[Write]:
            made = decisions.create(snapshot, name, wanted, infos, initial)
            return made + _task_writes(snapshot, name, wanted, tasks, target)

        return _info(self._lead("Only the leader can set connector configs.", decide), name)

    def configure(self, name: str, config: Settings) -> tuple[ConnectorInfo, bool]:
        """Set all settings; true: the connector is new."""
        wanted = decisions.named(name, config)
        infos, tasks = self._examined(wanted)
        was_known = []

        def decide(snapshot: Snapshot) -> list[Write]:
            was_known.append(name in snapshot.connectors)
            target = snapshot.target_states.get(name, TargetState.STARTED)
            made = decisions.configure(name, wanted, infos)
            return made + _task_writes(snapshot, name, wanted, tasks, target)

        after = self._lead("Only the leader can set connector configs.", decide)
        return _info(after, name), not was_known[-1]

    def patch(self, name: str, changes: Mapping[str, str | None]) -> ConnectorInfo:
        """Change some settings."""
        self._require_lead("Only the leader can set connector configs.")
        wanted = decisions.patched(self._snapshot(), name, changes)
        return self.configure(name, wanted)[0]

    def delete(self, name: str) -> None:
        """The end of a connector."""
        self._lead(
            "Only the leader can delete connector configs.",
            lambda snapshot: decisions.delete(snapshot, name),
        )

    def aim(self, name: str, target: TargetState) -> None:
        """Pause, resume or stop."""
        if target is TargetState.STOPPED:
            self._lead(
                "Only the leader can transition connectors to the STOPPED state.",
                lambda snapshot: decisions.stop(snapshot, name),
            )
            return
        decide = decisions.pause if target is TargetState.PAUSED else decisions.resume
        writes = decide(self._snapshot(), name)
        self._told(lambda: self._herder.config.write(writes))

    # -- restarts ---------------------------------------------------------------------------------

    def restart_connector(self, name: str) -> None:
        """The connector alone, by the worker that runs it."""

        def restart() -> None:
            restarts.restart_connector(self._snapshot(), name)
            self._require_ownership("connector", name)
            self._herder.local.restart_connector(name)

        self._ask(restart)

    def restart_task(self, task: TaskId) -> None:
        """One task, by the worker that runs it."""

        def restart() -> None:
            restarts.restart_task(self._snapshot(), task)
            self._require_ownership("task", task)
            self._herder.local.restart_tasks([task])

        self._ask(restart)

    def restart(self, request: RestartRequest) -> ConnectorStatus:
        """The connector and those of its tasks that are meant, wherever they run."""
        name = request.connector
        self._require_lead("Only the leader can process restart requests.")
        restarts.restart_connector(self._snapshot(), name)
        before = self.status(name)
        topic = self._herder.status
        plan = restarts.plan_restart(request, topic.connector(name), topic.tasks(name))
        self._lead(
            "Only the leader can process restart requests.",
            lambda snapshot: restarts.restart(snapshot, request),
        )
        tasks = {
            task: replace(status, state=State.RESTARTING) if task in plan.tasks else status
            for task, status in before.tasks.items()
        }
        own = replace(before.status, state=State.RESTARTING) if plan.connector else before.status
        return replace(before, status=own, tasks=tasks)

    # -- offsets and topics -----------------------------------------------------------------------

    def offsets(
        self, name: str
    ) -> Sequence[tuple[Mapping[str, object], Mapping[str, object] | None]]:
        """Where a source, or the group of a sink, stands."""
        config = resolved(decisions.known(self._snapshot(), name), self.providers)
        if self._kind_of(name, config) == "sink":
            return self._told(SinkOffsets(name, self.settings.given, config).all)
        return self._told(self._herder.offsets.of(name, config).all)

    def alter_offsets(self, name: str, asked: Asked) -> str:
        """Set where a stopped connector goes on."""

        def alter(config: Settings) -> None:
            some = asked_offsets.some(asked)
            if self._kind_of(name, config) == "sink":
                wanted = asked_offsets.of_sink(some)
                SinkOffsets(name, self.settings.given, config).alter(wanted)
                return
            if any(partition is None for partition, _ in some):
                raise BadRequestException(
                    "The partition for a source connector offset cannot be null or missing"
                )
            places = [(partition or {}, offset) for partition, offset in some]
            self._herder.offsets.of(name, config).keep(places)

        self._modify(name, alter)
        return asked_offsets.ALTERED

    def reset_offsets(self, name: str) -> str:
        """Have a stopped connector begin at the beginning."""

        def reset(config: Settings) -> None:
            if self._kind_of(name, config) == "sink":
                SinkOffsets(name, self.settings.given, config).reset()
            else:
                self._herder.offsets.of(name, config).reset()

        self._modify(name, reset)
        return asked_offsets.RESET

    def topics(self, name: str) -> list[str]:
        """The topics that a connector was seen to use."""
        return sorted(each.topic for each in self._herder.status.topics(name))

    def reset_topics(self, name: str) -> None:
        """Begin anew with the topics that a connector uses."""
        self._herder.status.forget_topics(name)

    # -- every worker -----------------------------------------------------------------------------

    def set_logger_level(self, logger: str, level: str) -> None:
        """The level of a logger on every worker."""
        writes = cluster.set_logger_level(logger, level)
        self._told(lambda: self._herder.config.write(writes))

    # -- from other workers -----------------------------------------------------------------------

    def put_task_configs(
        self, name: str, tasks: Sequence[Settings], body: bytes, signature: Signature | None
    ) -> None:
        """Settings of tasks that the owner of a connector has made."""
        self._check(body, signature)
        self._lead(
            "Only the leader may write task configurations.",
            lambda snapshot: configure_tasks(snapshot, name, tasks),
        )

    def fence(self, name: str, body: bytes, signature: Signature | None) -> None:
        """Shut out the tasks of a source that ran with earlier settings."""
        self._check(body, signature)
        self._require_lead("Only the leader may perform zombie fencing.")
        self._told(lambda: self._herder.fence(name))

    # -- how --------------------------------------------------------------------------------------

    def _snapshot(self) -> Snapshot:
        if not self._started.wait(REQUEST_S):
            raise ConnectException("Request timed out. The worker is starting: see its log")
        return self._herder.config.snapshot()

    def _kind_of(self, name: str, config: Settings) -> Kind:
        found = _kind(config)
        if found is None:
            raise BadRequestException(
                f"the class of connector {name} is not known on this worker: install it"
            )
        return found

    def _examined(self, config: Settings) -> tuple[ConfigInfos, list[dict[str, str]]]:
        """Settings validated, and divided into tasks if they can be."""
        self._require_lead("Only the leader can set connector configs.")
        values = resolved(config, self.providers)
        infos = validate(values, Catalogue(), self.settings.traits)
        if infos.error_count:
            return infos, []
        try:
            return infos, divided(config, self.providers)
        except (ConfigException, ConnectException):
            return infos, []  # its owner meets the same fault, and shows it as its status

    def _check(self, body: bytes, signature: Signature | None) -> None:
        made = self._herder.round
        if made is None or made.assignment.version >= SESSIONED:
            accepted = self.settings.listed("inter.worker.verification.algorithms")
            check(self._snapshot().session_key, accepted, body, signature)

    def _modify(self, name: str, change: Callable[[Settings], None]) -> None:
        why = "Only the leader can process external offsets modification requests"
        self._require_lead(why)
        self._told(lambda: self._shut_out(name))

        def modify() -> None:
            self._require_lead(why)
            snapshot = self._herder.config.read_to_end()
            asked_offsets.modifiable(snapshot, name)
            change(resolved(snapshot.connectors[name], self.providers))

        self._ask(modify)

    def _shut_out(self, name: str) -> None:
        """A source's task that did not stop in time could commit its own offsets later."""
        snapshot = self._herder.config.read_to_end()
        asked_offsets.modifiable(snapshot, name)
        config = resolved(snapshot.connectors[name], self.providers)
        if self.settings.exactly_once and self._kind_of(name, config) == "source":
            self._herder.fence(name)

    def _require_lead(self, why: str) -> None:
        if not self._herder.is_leader:
            raise NotTheLeader(why, self._herder.leader_url)

    def _require_ownership(self, kind: Literal["connector", "task"], piece: str | TaskId) -> None:
        if self._herder.owns(piece):
            return
        if self._herder.is_leader:
            url = self._herder.member.owner(piece)
            raise NotTheOwner(f"Cannot restart {kind} since it is not assigned to this member", url)
        self._require_lead("Only the leader can process restart requests.")

    def _lead(self, why: str, decide: Callable[[Snapshot], list[Write]]) -> Snapshot:
        """Decide and write as the leader; returns the settings after that."""

        def turn() -> Snapshot:
            self._require_lead(why)
            return self._herder.write(decide(self._snapshot()))

        return self._ask(turn)

    def _ask(self, turn: Callable[[], T]) -> T:
        """Have the herder do something between two rebalances."""

        def balanced() -> T:
            if not self._herder.is_balanced:
                raise RebalanceNeededException(
                    "Request cannot be completed because a rebalance is expected"
                )
            return turn()

        while True:
            is_balanced = self._herder.await_balance(_BALANCE_S)
            try:
                return self._told(lambda: self._herder.ask(balanced, REQUEST_S))
            except RebalanceNeededException:
                if not is_balanced:
                    raise

    def _told(self, do: Callable[[], T]) -> T:
        try:
            return do()
        except TimeoutError as fault:
            raise ConnectRestException(
                HTTPStatus.INTERNAL_SERVER_ERROR, "Request timed out"
            ) from fault
        except HeadraceError as fault:
            raise ConnectException(f"the state of the cluster is out of reach: {fault}") from fault


def _info(snapshot: Snapshot, name: str) -> ConnectorInfo:
    config = decisions.known(snapshot, name)
    return ConnectorInfo(name, config, snapshot.tasks(name), _kind(config))


def _kind(config: Settings) -> Kind | None:
    try:
        return plugins.find(config.get(keys.CLASS, "")).kind
    except ConnectException:
        return None


def _task_writes(
    snapshot: Snapshot,
    name: str,
    config: Settings,
    tasks: Sequence[Settings],
    target: TargetState,
) -> list[Write]:
    """The tasks of a connector with new settings, so that one rebalance starts all of it."""
    if target is not TargetState.STARTED or not tasks:
        return []
    after = replace(snapshot, connectors={**snapshot.connectors, name: config})
    try:
        return configure_tasks(after, name, tasks)
    except TooManyTasksException:
        return []  # its owner meets the same fault, and shows it as its status
