"""`connect-standalone`: connectors from files, in one process that keeps offsets in a file.

connect-standalone connect-standalone.properties [connector.properties | connector.json]…
"""

from __future__ import annotations

import json
from typing import Final

from headrace.cli.connect_worker import serve
from headrace.cli.failures import Failure
from headrace.cli.small_files import read_properties, read_text

USAGE: Final = (
    "USAGE: connect-standalone connect-standalone.properties "
    "[connector1.properties connector2.json ... connectorN.properties]"
)


def run(words: list[str]) -> int:
    """Run until SIGINT or SIGTERM."""
    if "--help" in words:
        print(USAGE)
        return 0
    if "-daemon" in words:
        raise Failure("-daemon is not supported", "use your init system, or add & to the line")
    wrong = next((word for word in words if word.startswith("-")), None)
    if wrong is not None:
        raise Failure(f"connect-standalone has no flag {wrong}", USAGE)
    if not words:
        raise Failure("no file of the worker's settings is given", USAGE)
    settings = read_properties(words[0], failure=Failure)
    connectors = [(path, read_connector(path)) for path in words[1:]]
    return serve(settings, connectors)


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
