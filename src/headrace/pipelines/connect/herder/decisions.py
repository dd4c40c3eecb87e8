"""What becomes of a connector: each decision reads the snapshot and returns the records to write.

A decision that cannot be raises the fault that Connect answers with, in its words. Only the leader
of the cluster decides; that it is the leader, and that its snapshot is new enough, is for the
caller to know. The caller validates settings first (`config.validate`) and hands over the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headrace.pipelines.connect.config.connector import NAME
from headrace.pipelines.connect.config.report import ConfigInfos, faults
from headrace.pipelines.connect.faults import (
    AlreadyExistsException,
    BadRequestException,
    ConnectException,
    NotFoundException,
)
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.state import records
from headrace.pipelines.connect.state.config_log import Snapshot
from headrace.pipelines.connect.state.records import (
    RestartRequest,
    SessionKey,
    Settings,
    State,
    Status,
    TargetState,
    Write,
)

_LEVELS: Final = ("OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE")
_ENFORCED: Final = "tasks.max.enforce"


def known(snapshot: Snapshot, name: str) -> Settings:
    """The settings of a connector; NotFoundException if there is none of that name."""
    settings = snapshot.connectors.get(name)
    if settings is None:
        raise NotFoundException(f"Connector {name} not found")
    return settings


# --- settings ---


def named(name: str, settings: Mapping[str, str]) -> dict[str, str]:
    """A connector's settings with its name in them; it may not say another one."""
    said = settings.get(NAME, name)
    if said != name:
        raise BadRequestException(
            f"Connector name configuration ({said}) doesn't match connector name in the URL "
            f"({name})"
        )
    return {**settings, NAME: name}


def create(
    snapshot: Snapshot,
    name: str,
    settings: Settings,
    infos: ConfigInfos,
    initial: TargetState | None = None,
) -> list[Write]:
    """A new connector, which at first does what `initial` says."""
    _refuse_faults(infos)
    if name in snapshot.connectors:
        raise AlreadyExistsException(f"Connector {name} already exists")
    # The state comes first: whoever reads the settings must not start what shall be stopped.
    state = [] if initial is None else [records.target_state(name, initial)]
    return [*state, records.connector_config(name, settings)]


def configure(name: str, settings: Settings, infos: ConfigInfos) -> list[Write]:
    """A connector, new or not, with these settings."""
    _refuse_faults(infos)
    return [records.connector_config(name, settings)]


def patched(snapshot: Snapshot, name: str, changes: Mapping[str, str | None]) -> dict[str, str]:
    """A connector's settings with some of them changed; null takes one away."""
    merged = {**known(snapshot, name), **changes}
    return {key: value for key, value in merged.items() if value is not None}


def delete(snapshot: Snapshot, name: str) -> list[Write]:
    """The end of a connector."""
    known(snapshot, name)
    return records.removal(name)


def _refuse_faults(infos: ConfigInfos) -> None:
    if infos.error_count:
        listed = "".join(f"\n{error}" for error in faults(infos))
        raise BadRequestException(
            f"Connector configuration is invalid and contains the following {infos.error_count} "
            f"error(s):{listed}\nYou can also find the above list of errors at the endpoint "
            "`/connector-plugins/{connectorType}/config/validate`"
        )


# --- what a connector shall do ---


def pause(snapshot: Snapshot, name: str) -> list[Write]:
    """Tasks stay and do nothing."""
    return _aim(snapshot, name, TargetState.PAUSED)


def resume(snapshot: Snapshot, name: str) -> list[Write]:
    """Go on after a pause or a stop."""
    return _aim(snapshot, name, TargetState.STARTED)


def stop(snapshot: Snapshot, name: str) -> list[Write]:
    """Tasks go; settings and offsets stay."""
    aim = _aim(snapshot, name, TargetState.STOPPED)
    return [records.tasks_commit(name, 0), *aim]


def _aim(snapshot: Snapshot, name: str, state: TargetState) -> list[Write]:
    if name not in snapshot.connectors:
        raise NotFoundException(f"Unknown connector {name}")
    return [records.target_state(name, state)]


# --- tasks ---


def configure_tasks(snapshot: Snapshot, name: str, tasks: Sequence[Settings]) -> list[Write]:
    """The tasks into which a connector divides its work; nothing if they are what they were.

    They are written as well when the connector's own settings changed since: its tasks have
    converters, transforms and clients from there.
    """
    settings = known(snapshot, name)
    if snapshot.target_states.get(name) is TargetState.STOPPED:
        return []
    most = int(settings.get("tasks.max", "1"))
    if len(tasks) > most and settings.get(_ENFORCED, "true").strip().lower() != "false":
        raise TooManyTasksException(
            f"The connector {name} has generated {len(tasks)} tasks, which is greater than {most}, "
            "the maximum number of tasks it is configured to create. This behaviour should be "
            "considered a bug and is disallowed. If necessary, it can be permitted by "
            f"reconfiguring the connector with '{_ENFORCED}' set to false; however, this option "
            "will be removed in a future release of Kafka Connect."
        )
    before = [snapshot.task_settings.get(task) for task in snapshot.tasks(name)]
    same = name in snapshot.task_counts and before == [dict(each) for each in tasks]
    if same and name not in snapshot.inconsistent and snapshot.applied.get(name) == settings:
        return []
    return records.task_configs(name, tasks)


class TooManyTasksException(ConnectException):
    """A connector divides its work further than it may."""

    java_class = "org.apache.kafka.connect.runtime.TooManyTasksException"


@dataclass(frozen=True, slots=True)
class Fencing:
    """Before tasks of a source start that write in transactions: how many old ones to fence, by
    their transactional ids, and what to write then."""

    tasks: int
    writes: list[Write]


def fence(snapshot: Snapshot, name: str) -> Fencing:
    """Whether tasks of earlier settings may still write, and must be fenced."""
    known(snapshot, name)
    if name not in snapshot.pending_fencing:
        return Fencing(0, [])
    count, before = snapshot.task_counts.get(name, 0), snapshot.fenced_counts.get(name)
    # A single task has the same transactional id as the one before: it fences that by itself.
    needless = before is None or before == count == 1
    return Fencing(0 if needless else before or 0, [records.task_count(name, count)])


# --- restarts ---


def restart_connector(snapshot: Snapshot, name: str) -> None:
    """Whether there is a connector to restart."""
    if name not in snapshot.connectors:
        raise NotFoundException(f"Unknown connector: {name}")


def restart_task(snapshot: Snapshot, task: TaskId) -> None:
    """Whether there is a task to restart."""
    restart_connector(snapshot, task.connector)
    if task not in snapshot.task_settings or task not in snapshot.tasks(task.connector):
        raise NotFoundException(f"Unknown task: {task}")


@dataclass(frozen=True, slots=True)
class RestartPlan:
    """What a restart is about: the connector or not, and these tasks."""

    connector: bool
    tasks: tuple[TaskId, ...]


def plan_restart(
    request: RestartRequest, status: Status | None, tasks: Mapping[TaskId, Status]
) -> RestartPlan:
    """What a wish to restart means, by what the connector and its tasks do now."""
    if status is None:
        raise NotFoundException(f"Status for connector {request.connector} not found")
    chosen = tasks if request.include_tasks else {}
    return RestartPlan(
        _concerned(request, status),
        tuple(task for task, each in chosen.items() if _concerned(request, each)),
    )


def _concerned(request: RestartRequest, status: Status) -> bool:
    return not request.only_failed or status.state is State.FAILED


def restart(snapshot: Snapshot, request: RestartRequest) -> list[Write]:
    """A restart that every worker hears of, for what it runs itself."""
    restart_connector(snapshot, request.connector)
    return [records.restart(request)]


# --- the cluster ---


def wants_session_key(snapshot: Snapshot, now_ms: int, ttl_ms: int) -> bool:
    """Whether the leader must make a new key; a lifetime of 0 never ends."""
    key = snapshot.session_key
    return key is None or (ttl_ms > 0 and now_ms - key.created_ms >= ttl_ms)


def rotate(key: SessionKey) -> list[Write]:
    """A new key for all workers."""
    return [records.session_key(key)]


def set_logger_level(logger: str, level: str) -> list[Write]:
    """The level of a logger on all workers."""
    if level.upper() not in _LEVELS:
        raise NotFoundException(f"invalid log level '{level}'.")
    return [records.logger_level(logger, level.upper())]
