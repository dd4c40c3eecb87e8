"""`headrace connect`: a connector run here, and the connectors of a worker over its REST API."""

from __future__ import annotations

import typer

from headrace.cli.connect import changing, checking, listing, offsets, running

app = typer.Typer(help="Move data into topics and out of them, by configuration alone.")

for _module in (running, listing, changing, offsets, checking):
    _module.register(app)
