"""`headrace connect plugins` and `validate`: what can be named, and what is wrong with settings."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headrace.cli.connect.files import FileArgument, SetOption, settings_of
from headrace.cli.connect.worker import VARIABLE, Worker, WorkerOptions
from headrace.cli.failures import WrongUsage
from headrace.cli.options import MADE, NONE_GIVEN, OutputOption
from headrace.cli.output import Output, emit_rows
from headrace.cli.parameters import option

_COLUMNS = ("class", "type", "version")
_WRONG = ("key", "value", "error")


def list_plugins(
    url: Annotated[
        str | None,
        option("--url URL,…", "Those of a worker. Default: those installed here.", envvar=VARIABLE),
    ] = None,
    plugin_path: Annotated[
        str, option("--plugin-path FOLDERS", "Where Java connectors lie, separated by commas.")
    ] = "",
    every: Annotated[
        bool, option("--all", "Converters, transforms and predicates, too; needs --url.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the connectors that can be named, those of installed packages included.

    Java connectors are found by the service files in their jars. Their versions are those of the
    jars: no JVM is started.
    """
    if url is not None:
        with Worker(url) as worker:
            wanted = str(not every).lower()
            found = worker.ask("GET", "connector-plugins", query={"connectorsOnly": wanted})
        emit_rows(found, output, _COLUMNS)
        return
    if every:
        raise WrongUsage("--all asks a worker", "name one with --url")
    from headrace.cli.connect_worker import needs_extra

    try:
        from headrace.pipelines.connect.faults import ConfigException
        from headrace.pipelines.connect.java.found import PATH, look_in
        from headrace.pipelines.connect.plugins import plugins
    except ModuleNotFoundError as missing:
        raise needs_extra(missing) from missing

    try:
        look_in({PATH: plugin_path})
        found = plugins()
    except ConfigException as fault:
        raise WrongUsage(str(fault), "name folders that have Java connectors") from fault
    rows = [{"class": each.name, "type": each.kind, "version": each.version} for each in found]
    emit_rows(rows, output, _COLUMNS)


def validate(
    file: FileArgument = None,
    settings: SetOption = NONE_GIVEN,
    worker: WorkerOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> int:
    """Show everything that is wrong with a connector's settings; exit code 1 if anything is."""
    config = settings_of(file, settings)
    plugin = config.get("connector.class")
    if not plugin:
        raise WrongUsage("no class is named", "set connector.class")
    with worker:
        report = worker.ask("PUT", "connector-plugins", plugin, "config", "validate", body=config)
    rows = _wrong(report)
    emit_rows(rows, output, _WRONG)
    return 1 if rows else 0


def _wrong(report: dict[str, Any]) -> list[dict[str, object]]:
    values = [each["value"] for each in report["configs"]]
    return [
        {"key": value["name"], "value": value["value"], "error": error}
        for value in values
        for error in value["errors"]
    ]


def register(app: typer.Typer) -> None:
    app.command("plugins", epilog="Example: headrace connect plugins -o json")(list_plugins)
    app.command(epilog="Example: headrace connect validate lines.properties")(validate)
