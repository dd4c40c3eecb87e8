"""Restarts that are asked for: whether they can be, and what they are about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.pipelines.connect.faults import NotFoundException
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.state import records
from headrace.pipelines.connect.state.config_log import Snapshot
from headrace.pipelines.connect.state.records import RestartRequest, State, Status, Write


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
