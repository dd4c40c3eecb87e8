"""`connect-standalone`: connectors from files and by REST, in one process with offsets in a file.

connect-standalone connect-standalone.properties [connector.properties | connector.json]…
"""

from __future__ import annotations

from typing import Final

from headrace.cli.connect.files import read_connector
from headrace.cli.connect_worker import serve
from headrace.cli.failures import Failure
from headrace.cli.small_files import read_properties

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
    return serve(settings, connectors, rest=True)
