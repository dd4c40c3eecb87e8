"""`headrace connect offsets`: where a connector stands, shown and changed."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from headrace.cli.connect.worker import NameArgument, WorkerOptions
from headrace.cli.failures import WrongUsage
from headrace.cli.options import MADE, OutputOption
from headrace.cli.output import Output, emit, table
from headrace.cli.parameters import option
from headrace.cli.small_files import read_text

_COLUMNS = ("partition", "offset")


def offsets(
    name: NameArgument,
    alter: Annotated[
        str | None,
        option("--alter FILE", "Set offsets as JSON has them, in the form of -o json; - is stdin."),
    ] = None,
    reset: Annotated[bool, option("--reset", "Forget them: begin again.")] = False,
    worker: WorkerOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show where a connector stands. To change that, stop the connector first."""
    if alter is not None and reset:
        raise WrongUsage("--alter and --reset exclude each other", "use one of them")
    with worker:
        if alter is not None:
            worker.ask("PATCH", "connectors", name, "offsets", body=_read(alter))
        if reset:
            worker.ask("DELETE", "connectors", name, "offsets")
        found = worker.ask("GET", "connectors", name, "offsets")
    emit(found, output, lambda: table(_rows(found), _COLUMNS))


def _rows(found: dict[str, Any]) -> list[dict[str, object]]:
    return [
        {column: json.dumps(each[column], sort_keys=True) for column in _COLUMNS}
        for each in found["offsets"]
    ]


def _read(path: str) -> object:
    try:
        return json.loads(read_text(path))
    except ValueError as fault:
        raise WrongUsage(
            f"{path} cannot be read as JSON: {fault}",
            'write {"offsets": [{"partition": {…}, "offset": {…}}]}',
        ) from None


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: headrace connect offsets lines --reset")(offsets)
