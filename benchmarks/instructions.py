"""Instructions that a broker executes for one request: `python -m benchmarks.instructions`.

Seconds of CPU differ by a tenth from run to run; instructions hardly differ, whatever else the
machine does. Valgrind counts them. A broker is started twice for each load, with few requests and
with many, so that start and stop cancel out. What the kernel does is not counted. Under Valgrind a
request takes milliseconds, so the limits of time for a connection's turn are lifted: otherwise each
request would have a turn of its own, which is rare in earnest.

    python -m benchmarks.instructions                    this broker
    python -m benchmarks.instructions --beside FOLDER    and one of another checkout, with ratios
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks import brokers, wire
from benchmarks.admin import create_topics
from benchmarks.errors import BenchmarkError

_ROOT: Final = Path(__file__).resolve().parents[1]
_FEW: Final = 200
_STARTER: Final = """
from contextlib import suppress
with suppress(ImportError):  # an older broker has no turns
    from headrace.broker.net import turns
    turns.CONNECTION_NS = 10**15
with suppress(ImportError):  # an older broker has it elsewhere
    from headrace.broker.net import connection
    connection._LONG_TURN_S = 10**6
with suppress(ImportError):
    from headrace.broker import connection
    connection._LONG_TURN_S = 10**6
from headrace.cli import main
main()
"""
_COUNTED: Final = re.compile(r"I\s+refs:\s+([\d,]+)")


@dataclass(frozen=True, slots=True)
class _Valgrind:
    """Starts a broker of `checkout` under Valgrind."""

    checkout: Path
    log: Path
    name: str = "headrace"

    def prepare(self, data: Path, port: int, spare_port: int, settings: object = None) -> list[str]:
        broker = [sys.executable, "-c", _STARTER]
        options = ["--only", "broker", "--data", str(data), "--port", str(port)]
        return [
            "env",
            f"PYTHONPATH={self.checkout / 'src'}",
            "PYTHONHASHSEED=0",
            "valgrind",
            "--tool=cachegrind",
            "--cache-sim=no",
            "--cachegrind-out-file=/dev/null",
            f"--log-file={self.log}",
            *broker,
            "up",
            *options,
        ]


Load = Callable[[socket.socket, str, int], None]


def _produce(size: int, in_flight: int) -> Load:
    """Requests with one record of `size` bytes, `in_flight` of them sent with one call."""

    def run(sock: socket.socket, topic: str, requests: int) -> None:
        frames = wire.produce_frame(topic, 0, bytes(size), acks=1) * in_flight
        for _ in range(requests // in_flight):
            sock.sendall(frames)
            _read_answers(sock, in_flight)

    return run


def _fetch(sock: socket.socket, topic: str, requests: int) -> None:
    _produce(100, 1)(sock, topic, 1)
    frame = wire.fetch_frame(topic, 0, 0)
    for _ in range(requests):
        sock.sendall(frame)
        _read_answers(sock, 1)


LOADS: Final[dict[str, tuple[Load, int]]] = {
    "one record, one request in flight": (_produce(100, 1), 2_000),
    "one record, five requests in flight": (_produce(100, 5), 2_000),
    "one record of 256 KiB": (_produce(256 << 10, 1), 400),
    "fetch of one record": (_fetch, 2_000),
}


def _read_answers(sock: socket.socket, count: int) -> None:
    data = b""
    while count:
        chunk = sock.recv(1 << 16)
        if not chunk:
            raise ConnectionError("the broker closed the connection")
        data += chunk
        while len(data) >= 4 and len(data) >= 4 + int.from_bytes(data[:4], "big"):
            data = data[4 + int.from_bytes(data[:4], "big") :]
            count -= 1


def _count(checkout: Path, load: Load, requests: int) -> int:
    """Instructions of a broker's whole life with so many requests."""
    with tempfile.TemporaryDirectory(prefix="headrace-instructions-") as folder:
        log = Path(folder) / "valgrind"
        broker = brokers.Broker(_Valgrind(checkout, log), Path(folder) / "broker", {})
        try:
            broker.start()
            create_topics(broker, ["counted"])
            with wire.connect(broker.address, timeout_s=300) as sock:
                load(sock, "counted", requests)
            broker.stop()
        finally:
            broker.close()
        found = _COUNTED.search(log.read_text())
        if found is None:
            raise BenchmarkError(f"Valgrind counted nothing:\n{log.read_text()}")
        return int(found[1].replace(",", ""))


def per_request(checkout: Path, load: Load, requests: int) -> float:
    few, many = (_count(checkout, load, n) for n in (_FEW, _FEW + requests))
    return (many - few) / requests


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.instructions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--beside", type=Path, metavar="FOLDER", help="another checkout")
    parser.add_argument("--only", default="", metavar="TEXT", help="loads whose name contains it")
    options = parser.parse_args()
    if options.beside and not (options.beside / "src" / "headrace").is_dir():
        parser.error(f"{options.beside} is not a checkout: it has no src/headrace")
    if shutil.which("valgrind") is None:
        print("valgrind is missing; install it with the system's packages", file=sys.stderr)
        return 1
    os.environ.pop("PYTHONPATH", None)
    print(f"{'LOAD':38}{'HERE':>10}" + (f"{'BESIDE':>10}{'RATIO':>8}" if options.beside else ""))
    for name, (load, requests) in LOADS.items():
        if options.only not in name:
            continue
        here = per_request(_ROOT, load, requests)
        line = f"{name:38}{here:10,.0f}"
        if options.beside:
            there = per_request(options.beside.resolve(), load, requests)
            line += f"{there:10,.0f}{here / there:8.3f}"
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
