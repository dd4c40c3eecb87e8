"""The typer application: every command in one tree, and how its answers become exit codes."""

from __future__ import annotations

from functools import cache
from inspect import Parameter, Signature
from typing import Annotated, Any, Final

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]
from typer.main import get_command

from headrace import __version__
from headrace.cli import (
    bench,
    cluster,
    completion,
    config,
    connect,
    consume,
    doctor,
    group,
    lake,
    plan,
    produce,
    profile,
    quota,
    schema,
    top,
    topic,
    transaction,
    up,
    zookeeper,
)
from headrace.cli import run as run_command
from headrace.cli.dump_log import command as dump_log
from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.options import MADE
from headrace.cli.parameters import Made, option, spread_all

app = typer.Typer(
    name="headrace",
    help="Event streaming in Python: a broker that speaks the Kafka protocol, and its tools.",
    epilog="Example: headrace up, then in another terminal: headrace topic create orders",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"headrace {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        option("--version", "Print the version and exit.", callback=_show_version, is_eager=True),
    ] = False,
    debug: Annotated[
        bool,
        option(
            "--debug", "Print the stack trace of a failure; allowed anywhere on the command line."
        ),
    ] = False,
    named: Annotated[
        str | None,
        option(
            "--profile NAME",
            "Use this profile (see headrace profile); allowed anywhere on the command line.",
            envvar="HEADRACE_PROFILE",
            autocompletion=profile.complete_profile,
        ),
    ] = None,
) -> None:
    pass


def _request(**given: Any) -> up.Request:
    """What `up.FLAGS` declares becomes the options of this."""
    return up.Request(**given | {"settings": tuple(given["settings"] or ())})


_request.__signature__ = Signature(  # type: ignore[attr-defined]
    [
        Parameter(
            "settings" if name == up.REPEATABLE else name.replace("-", "_"),
            Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                list[str] | None if name == up.REPEATABLE else str | None,
                option(f"--{name} {flag.metavar}", flag.help),
            ],
        )
        for name, flag in up.FLAGS.items()
    ]
)


@app.command("up", epilog="Example: headrace up --data ./data --port 9092 --set num.partitions=3")
def run_up(request: Annotated[up.Request, Made(_request)] = MADE) -> int:
    """Run broker, schema registry and REST proxy in the foreground until Ctrl-C.

    Prints a line for each when it is ready.
    """
    return up.run(request)


_NOUNS: Final = {
    "topic": topic.app,
    "group": group.app,
    "transaction": transaction.app,
    "config": config.app,
    "connect": connect.app,
    "lake": lake.app,
    "quota": quota.app,
    "schema": schema.app,
    "cluster": cluster.app,
    "bench": bench.app,
    "profile": profile.app,
}

for _command in (
    produce,
    consume,
    run_command,
    doctor,
    dump_log,
    completion,
    zookeeper,
    plan,
    top,
):
    _command.register(app)
for _name, _noun in _NOUNS.items():
    app.add_typer(_noun, name=_name)
spread_all(app)


_tree: Final = cache(lambda: get_command(app))
"""All commands, made once in a process: the signatures of two hundred functions are read for it."""


def run(words: list[str]) -> int:
    """Run one command line; typer's complaints become one line like all others."""
    completion_init()
    words, named = profile.take_out(words)
    if not words or words in [[noun] for noun in _NOUNS]:
        words = [*words, "--help"]
    tree = _tree()
    try:
        with profile.applied(words, named, tree) as defaults:
            code = tree(words, prog_name="headrace", standalone_mode=False, default_map=defaults)
    except typer.Abort:
        raise Failure("nothing was done") from None
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "headrace"
        raise WrongUsage(error.format_message().rstrip("."), f"see {command} --help") from None
    return code if isinstance(code, int) else 0
