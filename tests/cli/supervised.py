"""Services for tests of the supervisor, which do nothing but live and die as told.

python tests/cli/supervised.py STORY
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

from headrace.cli import services
from headrace.cli.failures import Failure
from headrace.cli.services import Addresses, Service, Supervisor


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _serve(line: str) -> Callable[[Addresses], int]:
    """A service that is ready at once and stops when it is asked to."""

    def run(_known: Addresses) -> int:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        _say(f"{line} pid={os.getpid()}")
        signal.sigwait([signal.SIGTERM])
        _say(f"stopped {line}")
        return 0

    return run


def _tell_and_serve(known: Addresses) -> int:
    _say(f"known {sorted(known.items())}")
    return _serve("ready rest http://h:3")(known)


def _fail(_known: Addresses) -> int:
    raise Failure("it cannot be", "let it be")


def stories() -> dict[str, list[Service]]:
    broker = Service("broker", _serve("broker ready on 127.0.0.1:5"), essential=True)
    registry = Service("registry", _serve("ready registry http://h:2"), needs=("broker",))
    rest = Service("rest", _tell_and_serve, needs=("broker", "registry"))
    return {
        "three": [broker, registry, rest],
        "no broker": [Service("broker", _fail, essential=True), registry],
        "no registry": [broker, Service("registry", _fail, needs=("broker",)), rest],
    }


if __name__ == "__main__":
    services.FIRST_PAUSE_S = 0.01  # type: ignore[misc]
    sys.exit(Supervisor(stories()[sys.argv[1]]).run())
