"""`headrace connect run`: a connector, run here with nothing but its settings."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from headrace.cli.failures import WrongUsage
from headrace.cli.options import MADE, NONE_GIVEN, TargetOptions, parse_pairs
from headrace.cli.parameters import argument, option
from headrace.cli.target import Target

_JSON: Final = "org.apache.kafka.connect.json.JsonConverter"


def run_connector(
    connector: Annotated[
        str, argument("CLASS | FILE.py:CLASS", "A connector by its name, or one in a Python file.")
    ],
    settings: Annotated[
        list[str], option("--set KEY=VALUE", "A setting of the connector.")
    ] = NONE_GIVEN,
    name: Annotated[
        str | None, option("--name NAME", "The connector's name. Default: that of its class.")
    ] = None,
    offsets: Annotated[
        str, option("--offsets FILE", "Where positions in sources are kept.")
    ] = "connect.offsets",
    target: TargetOptions = MADE,
) -> int:
    """Run one connector in this process until Ctrl-C.

    Keys and values are JSON without schemas, unless key.converter or value.converter is set. A
    second run goes on where the first one stopped.
    """
    from headrace.cli.connect_worker import serve

    given = parse_pairs(settings, "--set")
    if "name" in given or "connector.class" in given:
        raise WrongUsage("name and connector.class are not settings here", "use CLASS and --name")
    called = name or connector.rpartition(":")[2].rpartition(".")[2]
    config = {"name": called, "connector.class": connector, **given}
    return serve(_worker(target, offsets), [("the command line", config)])


def _worker(target: Target, offsets: str) -> dict[str, str]:
    worker = {
        "bootstrap.servers": target.servers,
        "offset.storage.file.filename": offsets,
        "offset.flush.interval.ms": "1000",
    }
    for side in ("key", "value"):
        worker |= {f"{side}.converter": _JSON, f"{side}.converter.schemas.enable": "false"}
    for kind in ("producer", "consumer", "admin"):
        worker |= {f"{kind}.{key}": value for key, value in target.properties.items()}
    return worker


def register(app: typer.Typer) -> None:
    app.command(
        "run",
        epilog="Example: headrace connect run FileStreamSource --set file=app.log --set topic=logs",
    )(run_connector)
