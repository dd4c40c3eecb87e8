"""`headrace topic elect`: give leadership back to preferred replicas, or to any that is left."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from headrace.admin.client import PREFERRED, UNCLEAN
from headrace.cli.asking import connect, find_topic
from headrace.cli.completion import complete_topic
from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.options import MADE, OutputOption, TargetOptions
from headrace.cli.output import Output, emit_rows
from headrace.cli.parameters import argument, option
from headrace.errors import Error
from headrace.types import TopicPartition

EPILOG = "Example: headrace topic elect orders --preferred"

TopicNames = Annotated[
    list[str] | None, argument("TOPIC…", "Default: all topics.", autocompletion=complete_topic)
]


def elect(
    names: TopicNames = None,
    preferred: Annotated[
        bool, option("--preferred", "Elect the preferred replica, if it is in sync.")
    ] = False,
    unclean: Annotated[
        bool,
        option(
            "--unclean", "Elect any live replica where there is no leader. Records may be lost."
        ),
    ] = False,
    partition: Annotated[
        int | None, option("--partition -p", "Only this partition.", min=0)
    ] = None,
    yes: Annotated[bool, option("--yes -y", "Do not ask for confirmation.")] = False,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """Elect the leaders of partitions."""
    if preferred == unclean:
        raise WrongUsage("no kind of election is given", "give --preferred or --unclean")
    if not names and (unclean or partition is not None):
        raise WrongUsage("no topic is named", "an unclean election and --partition need topics")
    asked = unclean and not yes and sys.stdin.isatty()
    if asked and not typer.confirm("Records that only the lost leader has will be lost. Elect?"):
        raise Failure("nothing was elected")
    with connect(target) as admin:
        wanted = None
        if names:
            topics = [find_topic(admin.topics(), name) for name in names]
            wanted = [
                TopicPartition(topic.name, each.number)
                for topic in topics
                for each in topic.partitions
                if partition is None or each.number == partition
            ]
            if not wanted:
                raise Failure(f"there is no partition {partition}", "see headrace topic describe")
        outcome = admin.elect(UNCLEAN if unclean else PREFERRED, wanted)
    rows = []
    failed = 0
    for where, fault in sorted(outcome.items()):
        result = "elected" if fault is None else fault.message
        if fault is not None and fault.error is Error.ELECTION_NOT_NEEDED:
            result = "leads already"
        elif fault is not None:
            failed += 1
        rows.append({"topic": where.topic, "partition": where.partition, "result": result})
    if not rows and output is Output.TABLE:
        print("every partition has that leader already")
        return
    emit_rows(rows, output, ["topic", "partition", "result"])
    if failed:
        raise Failure(f"{failed} of {len(rows)} partitions have no such leader", "see above")
