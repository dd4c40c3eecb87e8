"""`headrace run`: a pipeline in the foreground, from its function to a clean end.

Brings together what the rest provides: a broker if there is none, the session, the supervisor and
its display. Pipelines, Spark and the broker are loaded when they are needed, not for `--help`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final

import typer

from headrace.cli.failures import DEBUG, WrongUsage
from headrace.cli.group.options import YesFlag
from headrace.cli.options import NONE_GIVEN, OutputOption, parse_pairs
from headrace.cli.output import Output
from headrace.cli.parameters import argument, option
from headrace.cli.run.brokers import Origin
from headrace.cli.run.request import Connector, RunRequest, default_state

# A run that is asked to stop also needs time to stop Spark and the broker.
_STOP_MARGIN_S: Final = 60.0
_EPILOG: Final = (
    "Example: headrace run shop.py:orders --once; headrace run shop:orders --name shop "
    "-b kafka:9092 --master 'local[4]' --set spark.driver.memory=4g"
)

PipelineArgument = Annotated[
    str | None, argument("MODULE:FUNCTION", "Or path/to/file.py:FUNCTION.")
]
MasterOption = Annotated[
    str | None,
    option(
        "URL", "local[*], spark://…, yarn, k8s://…, sc://… Default: $HEADRACE_MASTER, or Spark's."
    ),
]
ServersOption = Annotated[
    str | None,
    option(
        "--bootstrap-server --bootstrap-servers -b HOST:PORT,…",
        "Brokers to use. Default: those of 127.0.0.1:9092 if there are any, else its own.",
        envvar="HEADRACE_BOOTSTRAP_SERVERS",
    ),
]
BrokerFlag = Annotated[
    bool | None,
    option(
        "--broker/--no-broker",
        "Start a broker of its own, whatever else is named; or do not start one.",
    ),
]
NameOption = Annotated[
    str | None, option("NAME", "Under which progress is kept. Default: MODULE.FUNCTION.")
]
SetOption = Annotated[list[str], option("--set KEY=VALUE", "A setting of Spark; may be repeated.")]
OnceFlag = Annotated[bool, option("--once", "Process what is there now, then end.")]
StateOption = Annotated[
    Path | None,
    option(
        "DIR",
        "Where runs keep checkpoints. Default: headrace-pipelines in the user's data.",
        envvar="HEADRACE_STATE",
    ),
]
RestartsOption = Annotated[int, option("N", "Failures in a row before it gives up.", min=0)]
StopTimeoutOption = Annotated[
    float, option("SECONDS", "How long a batch may take to finish.", min=0)
]
ConnectorOption = Annotated[
    Connector, typer.Option(help="jar: also fetch Spark's own Kafka connector from Maven.")
]
UiFlag = Annotated[bool | None, option("--ui/--no-ui", "Spark's web pages.")]
ListFlag = Annotated[bool, option("--list", "Show the runs and what they last did.")]
StopOption = Annotated[str | None, option("--stop NAME", "Stop a run after its current batch.")]
ResetOption = Annotated[
    str | None,
    option("--reset NAME", "Remove a run's checkpoints; the next run starts from the beginning."),
]


def run(
    context: typer.Context,
    pipeline: PipelineArgument = None,
    master: MasterOption = None,
    servers: ServersOption = None,
    broker: BrokerFlag = None,
    name: NameOption = None,
    settings: SetOption = NONE_GIVEN,
    once: OnceFlag = False,
    state: StateOption = None,
    max_restarts: RestartsOption = 10,
    stop_timeout: StopTimeoutOption = 30.0,
    connector: ConnectorOption = Connector.HEADRACE,
    ui: UiFlag = None,
    list_: ListFlag = False,
    stop: StopOption = None,
    reset: ResetOption = None,
    yes: YesFlag = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run a pipeline on Spark: a function that takes the session and returns its queries.

    Shows rates, lag, batch time and state rows until the queries end, Ctrl-C or SIGTERM.
    Queries that fail are restarted; progress is kept under a name and survives restarts.
    """
    root = state or default_state(os.environ)
    asked = [bool(pipeline), list_, stop is not None, reset is not None]
    if sum(asked) != 1:
        raise WrongUsage(
            "exactly one of a pipeline, --list, --stop and --reset is needed",
            "write for example headrace run shop.py:orders",
        )
    if pipeline:
        from headrace.cli.run.running import run_pipeline

        run_pipeline(
            RunRequest(
                pipeline=pipeline,
                root=root,
                name=name,
                master=master,
                servers=servers,
                servers_by=_origin(context),
                own_broker=broker,
                settings=parse_pairs(settings, "--set"),
                once=once,
                max_restarts=max_restarts,
                stop_timeout_s=stop_timeout,
                connector=connector,
                ui=ui,
                output=output,
                debug=DEBUG.get(),
            )
        )
        return
    from headrace.cli.run import stored

    if stop is not None:
        stored.stop_run(root, stop, stop_timeout + _STOP_MARGIN_S)
    elif reset is not None:
        stored.reset_run(root, reset, yes=yes)
    else:
        stored.show_runs(root, output)


def _origin(context: typer.Context) -> Origin:
    source = context.get_parameter_source("servers")
    by_name = {"ENVIRONMENT": Origin.ENVIRONMENT, "DEFAULT_MAP": Origin.PROFILE}
    return by_name.get(source.name if source is not None else "", Origin.OPTION)


def register(app: typer.Typer) -> None:
    app.command(epilog=_EPILOG)(run)
