"""`headrace schema config` and `mode`: what the registry demands, and what it lets be done."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import typer

from headrace.cli.completion import complete_subject
from headrace.cli.failures import WrongUsage
from headrace.cli.options import MADE, OutputOption
from headrace.cli.output import Output, emit
from headrace.cli.parameters import argument, option
from headrace.cli.schema.registry import Registry, ServerOptions

SubjectOrAll: TypeAlias = Annotated[
    str | None,
    argument("[SUBJECT]", "Default: the whole registry.", autocompletion=complete_subject),
]


def config(
    subject: SubjectOrAll = None,
    compatibility: Annotated[
        str | None,
        option(
            "--compatibility -c LEVEL",
            "BACKWARD, FORWARD, FULL, each with or without _TRANSITIVE, or NONE.",
        ),
    ] = None,
    normalize: Annotated[
        bool | None,
        option("--normalize/--no-normalize", "Normalize schemas when they are registered."),
    ] = None,
    policy: Annotated[
        str | None, option("--policy STRICT|LENIENT", "Compatibility policy of JSON Schema.")
    ] = None,
    group: Annotated[
        str | None,
        option(
            "--compatibility-group KEY",
            "Compare only versions whose metadata have the same value under this key.",
        ),
    ] = None,
    alias: Annotated[
        str | None, option("--alias SUBJECT", "Make the subject an alias of this one.")
    ] = None,
    delete: Annotated[
        bool, option("--delete", "Remove the setting; the default applies again.")
    ] = False,
    server: ServerOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show or change the settings of a subject, or of the whole registry."""
    wanted = {
        "compatibility": compatibility.upper() if compatibility else None,
        "normalize": normalize,
        "compatibilityPolicy": policy.upper() if policy else None,
        "compatibilityGroup": group,
        "alias": alias,
    }
    body = {key: value for key, value in wanted.items() if value is not None}
    if delete and body:
        raise WrongUsage("--delete and new settings exclude each other", "leave one of them out")
    with server:
        path = _path("config", subject)
        if delete:
            server.ask("DELETE", *path)
        elif body:
            server.ask("PUT", *path, body=body)
        _show(server, "config", subject, output)


def mode(
    subject: SubjectOrAll = None,
    wanted: Annotated[
        str | None,
        option("--set MODE", "READWRITE, READONLY, READONLY_OVERRIDE, IMPORT or FORWARD."),
    ] = None,
    force: Annotated[bool, option("--force", "Set IMPORT even if there are schemas.")] = False,
    delete: Annotated[
        bool, option("--delete", "Remove the setting; the default applies again.")
    ] = False,
    server: ServerOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show or change whether a subject, or the whole registry, accepts new schemas."""
    if delete and wanted:
        raise WrongUsage("--delete and --set exclude each other", "leave one of them out")
    with server:
        path = _path("mode", subject)
        if delete:
            server.ask("DELETE", *path)
        elif wanted:
            query = {"force": force or None}
            server.ask("PUT", *path, query=query, body={"mode": wanted.upper()})
        _show(server, "mode", subject, output)


def _path(kind: str, subject: str | None) -> list[str]:
    return [kind] if subject is None else [kind, subject]


def _show(server: Registry, kind: str, subject: str | None, output: Output) -> None:
    """What applies now, inherited or not."""
    query = {"defaultToGlobal": True} if subject is not None else None
    found: dict[str, Any] = server.ask("GET", *_path(kind, subject), query=query)
    shown = {"subject": subject, **found} if subject is not None else found
    emit(shown, output, lambda: "".join(f"{key}: {value}\n" for key, value in shown.items()))


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: headrace schema config orders-value --compatibility FULL")(config)
    app.command(epilog="Example: headrace schema mode --set READONLY")(mode)
