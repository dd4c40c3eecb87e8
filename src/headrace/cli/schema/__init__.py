"""`headrace schema`: the schemas of a registry, and the records that it keeps them in."""

from __future__ import annotations

import typer

from headrace.cli.schema import changing, check, contents, difference, records, settings

app = typer.Typer(help="Show, register, compare and delete schemas of a registry.")

for _module in (contents, changing, check, difference, settings, records):
    _module.register(app)
