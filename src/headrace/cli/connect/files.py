"""A connector's settings in a file, and on the command line."""

from __future__ import annotations

import json
from typing import Annotated, TypeAlias

from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.options import parse_pairs
from headrace.cli.parameters import argument, option
from headrace.cli.small_files import read_properties, read_text

FileArgument: TypeAlias = Annotated[
    str | None,
    argument(
        "FILE",
        "Settings as properties, or as JSON if the name ends with .json.",
        show_default=False,
    ),
]
SetOption: TypeAlias = Annotated[
    list[str], option("--set KEY=VALUE", "A setting of the connector; wins over the file.")
]


def settings_of(file: str | None, pairs: list[str]) -> dict[str, str]:
    """What a command was given of a connector."""
    given = {**({} if file is None else read_connector(file)), **parse_pairs(pairs, "--set")}
    if not given:
        raise WrongUsage("no settings are given", "name a file, or use --set KEY=VALUE")
    return given


def read_connector(path: str) -> dict[str, str]:
    """A connector's settings: properties, or JSON as the REST API takes it, or their object."""
    if not path.endswith(".json"):
        return read_properties(path, failure=Failure)
    try:
        told = json.loads(read_text(path, failure=Failure))
    except ValueError as fault:
        raise Failure(f"{path} cannot be read as JSON: {fault}", "correct the file") from fault
    if isinstance(told, dict) and isinstance(told.get("config"), dict):
        told = {"name": told.get("name"), **told["config"]}
    if not isinstance(told, dict):
        raise Failure(f"{path} holds no object", 'write {"name": …, "config": {…}}')
    return {name: str(value) for name, value in told.items() if value is not None}
