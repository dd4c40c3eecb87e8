"""Requests that nobody thought of, made by schemathesis from the OpenAPI that each service serves.

    python -m tests.robustness.openapi --minutes 10
    python -m tests.robustness.openapi --minutes 1 --only registry

A broker, a registry and a REST Proxy are started, and every operation of both is called with good
and bad data, alone and in chains, for the given time each. Exit code 0: no answer was a server's
fault, and both services are alive and answer afterwards.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.testing import Broker
from tests.rest.service import Service

SERVICES = ("registry", "rest")


@contextmanager
def services() -> Iterator[dict[str, Service]]:
    """Both, on a broker of their own, by name; what they complain about fails the run."""
    with Broker() as broker:
        store = {"kafkastore.bootstrap.servers": broker.bootstrap_servers}
        with Service("headrace.registry", store) as registry:
            rest = {
                "bootstrap.servers": broker.bootstrap_servers,
                "schema.registry.url": registry.url,
            }
            with Service("headrace.rest", rest) as proxy:
                yield {"registry": registry, "rest": proxy}


def fuzz(url: str, seconds: float) -> int:
    """How schemathesis ended; what it found is printed."""
    program = Path(sys.executable).with_name("schemathesis")
    limit = ["--max-time", str(round(seconds)), "--continue-on-failure"]
    words = ["fuzz", f"{url}/openapi.json", *limit]
    # A stream of events has no end, and no bad request: the tests of live reading have it.
    more = ["--checks", "not_a_server_error", "--suppress-health-check", "all"]
    more += ["--exclude-path-regex", "records:events", "--request-timeout", "20"]
    return subprocess.run([program, *words, *more], timeout=seconds + 120, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description="schemathesis against both HTTP services.")
    parser.add_argument("--minutes", type=float, default=10, help="for each service (10)")
    parser.add_argument("--only", choices=SERVICES, help="one of the services")
    options = parser.parse_args()
    worst = 0
    with services() as running:
        for name, service in running.items():
            if options.only in (None, name):
                worst = max(worst, fuzz(service.url, options.minutes * 60))
                assert service.get("/openapi.json").status == 200
    return worst


if __name__ == "__main__":
    sys.exit(main())
