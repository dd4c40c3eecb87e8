"""Requests that nobody thought of, made by schemathesis from the OpenAPI that each service serves.

    python -m tests.robustness.openapi --minutes 10
    python -m tests.robustness.openapi --minutes 1 --only registry

A broker, a registry and a REST Proxy are started, and every operation of both is called with good
and bad data, alone and in chains, for the given time each. Exit code 0: no answer was a server's
fault, and both services are alive and answer afterwards.
"""

from __future__ import annotations

import argparse
import re
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


def fuzz(url: str, seconds: float) -> bool:
    """Whether every answer was one that a client deserves; what schemathesis found is printed.

    Its exit code says less: it also tells of requests that schemathesis could not make itself.
    """
    program = Path(sys.executable).with_name("schemathesis")
    limit = ["--max-time", str(round(seconds)), "--continue-on-failure"]
    words = ["fuzz", f"{url}/openapi.json", *limit, "--no-color"]
    # A stream of events has no end, and no bad request: the tests of live reading have it.
    more = ["--checks", "not_a_server_error", "--suppress-health-check", "all"]
    more += ["--exclude-path-regex", "records:events", "--request-timeout", "20"]
    done = subprocess.run(
        [program, *words, *more], stdout=subprocess.PIPE, text=True, timeout=seconds + 120
    )
    sys.stdout.write(done.stdout)
    is_clean = " FAILURES " not in done.stdout and "Server Unavailable" not in done.stdout
    return is_clean and re.search(r"\b0 generated|No test cases", done.stdout) is None


def main() -> int:
    parser = argparse.ArgumentParser(description="schemathesis against both HTTP services.")
    parser.add_argument("--minutes", type=float, default=10, help="for each service (10)")
    parser.add_argument("--only", choices=SERVICES, help="one of the services")
    options = parser.parse_args()
    is_clean = True
    with services() as running:
        for name, service in running.items():
            if options.only in (None, name):
                is_clean = fuzz(service.url, options.minutes * 60) and is_clean
                assert service.get("/openapi.json").status == 200
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
