"""`headrace top`: brokers, topics and groups as they move, with rates and lag.

Everything is asked over the wire, so it shows any cluster that speaks the Kafka protocol.
"""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from headrace.cli.failures import Failure
from headrace.cli.options import MADE, OutputOption, TargetOptions
from headrace.cli.output import Output, emit, table
from headrace.cli.parameters import option
from headrace.cli.target import Target
from headrace.cli.top.figures import (
    BROKER_COLUMNS,
    GROUP_COLUMNS,
    TOPIC_COLUMNS,
    Figures,
    Sort,
    compare,
)
from headrace.errors import HeadraceError

# A view that hangs for a minute over a broker that is gone would be none.
_PATIENCE = {"request.timeout.ms": "4000", "default.api.timeout.ms": "5000"}


def register(app: typer.Typer) -> None:
    app.command(
        epilog="Example: headrace top --sort lag; in a script: headrace top --once -o json"
    )(top)


def top(
    interval: Annotated[
        float, option("--interval -n", "Seconds between two measurements.", min=0.1)
    ] = 2.0,
    once: Annotated[bool, option("--once", "Print the figures of one interval and exit.")] = False,
    sort: Annotated[Sort, option("--sort", "Sort by this column.")] = Sort.RATE,
    internal: Annotated[bool, option("--internal", "Include internal topics.")] = False,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Watch brokers, topics and groups: records per second, sizes, lag."""
    patient = Target(target.addresses, {**_PATIENCE, **target.properties})
    if once or output is not Output.TABLE:
        figures = _over_one_interval(patient, interval, sort, internal=internal)
        emit(figures._asdict(), output, lambda: _as_text(figures))
        return
    if not sys.stdout.isatty():
        raise Failure("this is not a terminal", "use --once in a script")
    _watch(patient, interval, sort, internal=internal)


def _over_one_interval(target: Target, interval_s: float, sort: Sort, *, internal: bool) -> Figures:
    from headrace.cli.asking import connect
    from headrace.cli.top.sampling import take

    with connect(target) as admin:
        before = take(admin, time.monotonic())
        time.sleep(interval_s)
        return compare(before, take(admin, time.monotonic()), sort, internal=internal)


def _watch(target: Target, interval_s: float, sort: Sort, *, internal: bool) -> None:
    from headrace.cli.asking import connect
    from headrace.cli.top.sampling import take
    from headrace.cli.top.screen import show

    with connect(target) as admin:
        seen = take(admin, time.monotonic())

        def look() -> Figures | str:
            nonlocal seen
            before = seen
            try:
                seen = take(admin, time.monotonic())
            except HeadraceError as error:
                return f"the cluster does not answer: {error}\nstill trying; q quits"
            return compare(before, seen, sort, internal=internal)

        show(look, interval_s)


def _as_text(figures: Figures) -> str:
    parts = (
        table(figures.brokers, BROKER_COLUMNS),
        table(figures.topics, TOPIC_COLUMNS),
        table(figures.groups, GROUP_COLUMNS),
    )
    return "\n".join(parts)
