"""`/connectors/{name}/tasks`; and what only workers ask each other, with a signature."""

from __future__ import annotations

from typing import Any, Final

from headrace.pipelines.connect.api.bodies import (
    Given,
    TaskSettings,
    TaskState,
    task_settings,
    task_state,
    texts,
)
from headrace.pipelines.connect.api.call import Call
from headrace.pipelines.connect.api.endpoint import FORWARD, new_table
from headrace.pipelines.connect.worker.signing import signature_in

table: Final = new_table(tag="Tasks")


@table.get("/connectors/{name}/tasks", "The settings of each task", reply=list[TaskSettings])
def list_all(call: Call) -> list[TaskSettings]:
    return task_settings(call.worker.task_configs(call.name))


@table.get("/connectors/{name}/tasks/{task:int}/status", "What a task does", reply=TaskState)
def status(call: Call) -> TaskState:
    return task_state(call.task, call.worker.task_status(call.task))


@table.post(
    "/connectors/{name}/tasks/{task:int}/restart", "Restart a task", query=(FORWARD,), status=204
)
def restart(call: Call) -> None:
    call.worker.restart_task(call.task)


# -- from other workers ---------------------------------------------------------------------------


@table.post(
    "/connectors/{name}/tasks",
    "For workers: how a connector's work is divided now",
    query=(FORWARD,),
    body=list[Given],
    status=200,
)
def put_task_configs(call: Call) -> None:
    tasks = [texts(each) for each in call.body]
    call.worker.put_task_configs(call.name, tasks, call.raw, signature_in(call.headers))


@table.put(
    "/connectors/{name}/fence",
    "For workers: fence the tasks that a source had before",
    query=(FORWARD,),
    body=Any,
    needs_body=False,
    status=200,
)
def fence(call: Call) -> None:
    call.worker.fence(call.name, call.raw, signature_in(call.headers))
