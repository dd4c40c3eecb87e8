"""`headrace connect list` and `status`."""

from __future__ import annotations

from collections import Counter
from typing import Any

import typer

from headrace.cli.connect.worker import NameArgument, WorkerOptions
from headrace.cli.options import MADE, OutputOption
from headrace.cli.output import Output, emit, emit_rows, table

_LIST = ("name", "type", "state", "tasks", "class")
_STATUS = ("part", "state", "worker", "reason")


def list_connectors(worker: WorkerOptions = MADE, output: OutputOption = Output.TABLE) -> None:
    """List the connectors of a worker, or of its cluster, with what they do."""
    with worker:
        found = worker.ask("GET", "connectors", query={"expand": ["info", "status"]})
    rows = [
        {
            "name": name,
            "type": each["info"]["type"],
            "state": each["status"]["connector"]["state"],
            "tasks": _tasks(each["status"]["tasks"]),
            "class": each["info"]["config"].get("connector.class"),
        }
        for name, each in sorted(found.items())
    ]
    emit_rows(rows, output, _LIST)


def _tasks(tasks: list[dict[str, Any]]) -> str:
    """`2 RUNNING, 1 FAILED`."""
    counted = Counter(task["state"] for task in tasks)
    return ", ".join(f"{count} {state}" for state, count in sorted(counted.items())) or "none"


def status(
    name: NameArgument, worker: WorkerOptions = MADE, output: OutputOption = Output.TABLE
) -> None:
    """Show what a connector and its tasks do; of what failed, why."""
    with worker:
        answer = worker.ask("GET", "connectors", name, "status")
    emit(answer, output, lambda: table(_parts(answer), _STATUS))


def _parts(answer: dict[str, Any]) -> list[dict[str, object]]:
    parts = [("connector", answer["connector"])]
    parts += [(f"task {task['id']}", task) for task in answer["tasks"]]
    return [
        {
            "part": part,
            "state": told["state"],
            "worker": told["worker_id"],
            "reason": _reason(told.get("trace")),
        }
        for part, told in parts
    ]


def _reason(trace: str | None) -> str | None:
    """What a trace says: its last line in Python, its first in Java."""
    if not trace:
        return None
    lines = trace.strip().splitlines()
    return lines[-1] if lines[0].startswith("Traceback") else lines[0]


def register(app: typer.Typer) -> None:
    app.command("list", epilog="Example: headrace connect list -o json")(list_connectors)
    app.command(epilog="Example: headrace connect status lines")(status)
