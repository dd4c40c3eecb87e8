"""`headrace connect create`, `config`, `pause`, `resume`, `stop`, `restart` and `delete`."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

import typer

from headrace.cli.connect.files import FileArgument, SetOption, settings_of
from headrace.cli.connect.worker import NameArgument, NamesArgument, Worker, WorkerOptions
from headrace.cli.failures import WrongUsage
from headrace.cli.options import MADE, NONE_GIVEN, OutputOption, confirm, parse_pairs
from headrace.cli.output import Output, emit, emit_rows
from headrace.cli.parameters import option

_CREATED = ("name", "type", "tasks")
_DONE = ("name", "result")


class Initial(StrEnum):
    """What a connector does at first."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"


def create(
    file: FileArgument = None,
    settings: SetOption = NONE_GIVEN,
    name: Annotated[str | None, option("--name NAME", "The connector's name.")] = None,
    state: Annotated[Initial, option("--state", "What it does at first.")] = Initial.RUNNING,
    worker: WorkerOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Create a connector from a file, from --set, or from both."""
    config = settings_of(file, settings)
    called = name or config.get("name")
    if not called:
        raise WrongUsage("the connector has no name", "use --name, or a setting name")
    body: dict[str, object] = {"name": called, "config": {**config, "name": called}}
    if state is not Initial.RUNNING:
        body["initial_state"] = state.name
    with worker:
        made = worker.ask("POST", "connectors", body=body)
    row = {"name": made["name"], "type": made["type"], "tasks": len(made["tasks"])}
    emit_rows([row], output, _CREATED)


def config(
    name: NameArgument,
    settings: Annotated[
        list[str], option("--set KEY=VALUE", "Change a setting; the others stay.")
    ] = NONE_GIVEN,
    unset: Annotated[list[str], option("--unset KEY", "Take a setting away.")] = NONE_GIVEN,
    worker: WorkerOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the settings of a connector, after changing those that are named."""
    changes = {**parse_pairs(settings, "--set"), **dict.fromkeys(unset)}
    with worker:
        if changes:
            found = worker.ask("PATCH", "connectors", name, "config", body=changes)["config"]
        else:
            found = worker.ask("GET", "connectors", name, "config")
    shown = dict(sorted(found.items()))
    emit(shown, output, lambda: "".join(f"{key}={value}\n" for key, value in shown.items()))


def pause(
    names: NamesArgument, worker: WorkerOptions = MADE, output: OutputOption = Output.TABLE
) -> None:
    """Let tasks stay and do nothing."""
    _each(worker, names, "pause", "paused", output)


def resume(
    names: NamesArgument, worker: WorkerOptions = MADE, output: OutputOption = Output.TABLE
) -> None:
    """Go on after a pause or a stop."""
    _each(worker, names, "resume", "resumed", output)


def stop(
    names: NamesArgument, worker: WorkerOptions = MADE, output: OutputOption = Output.TABLE
) -> None:
    """End tasks; settings and offsets stay. Offsets can be changed then."""
    _each(worker, names, "stop", "stopped", output)


def _each(worker: Worker, names: list[str], verb: str, done: str, output: Output) -> None:
    with worker:
        for name in names:
            worker.ask("PUT", "connectors", name, verb)
    emit_rows([{"name": name, "result": done} for name in names], output, _DONE)


def restart(
    name: NameArgument,
    tasks: Annotated[bool, option("--tasks", "Restart its tasks, too.")] = False,
    only_failed: Annotated[
        bool, option("--only-failed", "Restart only what has failed; tasks included.")
    ] = False,
    task: Annotated[int | None, option("--task N", "Restart only this task.", min=0)] = None,
    worker: WorkerOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Restart a connector: itself, with its tasks, or one of its tasks."""
    if task is not None and (tasks or only_failed):
        raise WrongUsage("--task names one task", "leave --tasks and --only-failed out")
    with worker:
        if task is not None:
            worker.ask("POST", "connectors", name, "tasks", task, "restart")
            rows = [{"name": f"{name}-{task}", "result": "restarted"}]
        else:
            query = {"includeTasks": _flag(tasks or only_failed), "onlyFailed": _flag(only_failed)}
            answer = worker.ask("POST", "connectors", name, "restart", query=query)
            restarted = [name] if answer is None else list(_restarted(name, answer))
            rows = [{"name": each, "result": "restarted"} for each in restarted]
    emit_rows(rows, output, _DONE)


def _restarted(name: str, answer: dict[str, Any]) -> Iterator[str]:
    if answer["connector"]["state"] == "RESTARTING":
        yield name
    for task in answer["tasks"]:
        if task["state"] == "RESTARTING":
            yield f"{name}-{task['id']}"


def _flag(value: bool) -> str:
    return str(value).lower()


def delete(
    names: NamesArgument,
    yes: Annotated[bool, option("--yes -y", "Do not ask for confirmation.")] = False,
    worker: WorkerOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete connectors. Their offsets stay. Asks for confirmation on a terminal."""
    confirm(f"Delete {', '.join(names)}?", yes=yes)
    with worker:
        for name in names:
            worker.ask("DELETE", "connectors", name)
    emit_rows([{"name": name, "result": "deleted"} for name in names], output, _DONE)


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: headrace connect create lines.properties --state paused")(create)
    app.command(epilog="Example: headrace connect config lines --set batch.size=500")(config)
    app.command(epilog="Example: headrace connect pause lines")(pause)
    app.command(epilog="Example: headrace connect resume lines")(resume)
    app.command(epilog="Example: headrace connect stop lines")(stop)
    app.command(epilog="Example: headrace connect restart lines --only-failed")(restart)
    app.command(epilog="Example: headrace connect delete lines --yes")(delete)
