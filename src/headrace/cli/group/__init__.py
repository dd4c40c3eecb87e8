"""`headrace group`: see, move and remove consumer groups."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

import typer

from headrace.admin.groups import list_consumer_groups
from headrace.cli.asking import connect, explained
from headrace.cli.group import describe, remove, reset
from headrace.cli.group.view import STATES
from headrace.cli.options import MADE, NONE_GIVEN, OutputOption, TargetOptions, parse_states
from headrace.cli.output import Output, emit_rows
from headrace.cli.parameters import option

UNKNOWN: Final = "Unknown"
app = typer.Typer(help="List, describe, reset and delete consumer groups.")


class GroupType(StrEnum):
    """Which protocol a group speaks: that of JoinGroup, or that of KIP-848."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


@app.command("list", epilog="Example: headrace group list --state Stable --type consumer")
def list_command(
    state: Annotated[
        list[str], option("STATE", f"{', '.join(STATES)}; may be repeated.")
    ] = NONE_GIVEN,
    kind: Annotated[GroupType | None, option("--type", "Only groups of this protocol.")] = None,
    target: TargetOptions = MADE,
    output: OutputOption = Output.TABLE,
) -> None:
    """List groups with their protocol and state."""
    wanted = parse_states(state, STATES, "group")
    with connect(target) as admin, explained():
        groups = list_consumer_groups(admin)
    rows = [
        {"group": each.group, "type": each.type.lower() or UNKNOWN, "state": each.state or UNKNOWN}
        for each in groups
        if (not wanted or each.state in wanted) and (kind is None or each.type.lower() == kind)
    ]
    emit_rows(rows, output, ["group", "type", "state"])


app.command(epilog="Example: headrace group describe billing --members --offsets")(
    describe.describe
)
app.command(epilog="Example: headrace group lag billing shipping --output json")(describe.lag)
app.command(epilog=reset.EPILOG)(reset.reset)
app.command(epilog="Example: headrace group delete billing --yes")(remove.delete)
app.command(
    "delete-offsets", epilog="Example: headrace group delete-offsets billing --topic orders"
)(remove.delete_offsets)
app.command(
    "remove-members", epilog="Example: headrace group remove-members billing --instance worker-7"
)(remove.remove_members)
