"""`connect-distributed`: a worker of a Connect cluster, with its state in topics.

connect-distributed connect-distributed.properties
"""

from __future__ import annotations

from typing import Final

from headrace.cli.connect_worker import serve_distributed
from headrace.cli.failures import Failure
from headrace.cli.small_files import read_properties

USAGE: Final = "USAGE: connect-distributed connect-distributed.properties"


def run(words: list[str]) -> int:
    """Run until SIGINT or SIGTERM."""
    if "--help" in words:
        print(USAGE)
        return 0
    if "-daemon" in words:
        raise Failure("-daemon is not supported", "use your init system, or add & to the line")
    wrong = next((word for word in words if word.startswith("-")), None)
    if wrong is not None:
        raise Failure(f"connect-distributed has no flag {wrong}", USAGE)
    if len(words) != 1:
        raise Failure("one file of the worker's settings is needed", USAGE)
    return serve_distributed(read_properties(words[0], failure=Failure))
