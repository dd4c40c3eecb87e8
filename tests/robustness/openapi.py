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
from urllib.request import urlopen

from headrace.testing import Broker

SERVICES = ("registry", "rest")
START_LINES = 50
STOP_SECONDS = 30


@contextmanager
def service(name: str, settings: dict[str, str]) -> Iterator[str]:
    """The service on a free port, as an address; whoever uses it gets its complaints."""
    settings = {"listeners": "http://127.0.0.1:0", **settings}
    pairs = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    process = subprocess.Popen(
        [sys.executable, "-m", f"headrace.{name}", *pairs], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        for _ in range(START_LINES):
            words = process.stdout.readline().split()
            if words[:2] == ["ready", name]:
                yield words[2]
                break
            assert process.poll() is None, f"{name} ended with {process.returncode}"
        else:
            raise AssertionError(f"{name} does not say that it is ready")
        assert process.poll() is None, f"{name} ended with {process.returncode}"
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)
        process.stdout.close()


@contextmanager
def services() -> Iterator[dict[str, str]]:
    """Both, on a broker of their own: their addresses by name."""
    with Broker() as broker:
        kafka = {"kafkastore.bootstrap.servers": f"PLAINTEXT://{broker.bootstrap_servers}"}
        with service("registry", kafka) as registry:
            rest = {"bootstrap.servers": broker.bootstrap_servers, "schema.registry.url": registry}
            with service("rest", rest) as proxy:
                yield {"registry": registry, "rest": proxy}


def fuzz(url: str, seconds: float) -> int:
    """How schemathesis ended; what it found is printed."""
    program = Path(sys.executable).with_name("schemathesis")
    words = ["fuzz", f"{url}/openapi.json", "--max-time", str(seconds), "--continue-on-failure"]
    more = ["--checks", "not_a_server_error", "--suppress-health-check", "all"]
    limit = seconds + 120
    return subprocess.run([program, *words, *more], timeout=limit, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description="schemathesis against both HTTP services.")
    parser.add_argument("--minutes", type=float, default=10, help="for each service (10)")
    parser.add_argument("--only", choices=SERVICES, help="one of the services")
    options = parser.parse_args()
    worst = 0
    with services() as addresses:
        for name, url in addresses.items():
            if options.only in (None, name):
                worst = max(worst, fuzz(url, options.minutes * 60))
                with urlopen(f"{url}/openapi.json", timeout=10) as answer:
                    assert answer.status == 200
    return worst


if __name__ == "__main__":
    sys.exit(main())
