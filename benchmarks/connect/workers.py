"""One distributed worker on a broker: a command with a properties file, asked over REST only.

Both kinds go through this one class, so neither is timed or counted differently. The heap of
Kafka's is that of its own start script.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from benchmarks import processes
from benchmarks.brokers import Broker, free_port
from benchmarks.errors import BenchmarkError
from benchmarks.table import OURS, THEIRS

_HOST = "127.0.0.1"
_TIMEOUT_S = 300.0
_HEAP = ("-Xms256M", "-Xmx2G")
_PAUSE_S = 0.02


class Worker:
    """A worker that has been started."""

    def __init__(self, name: str, port: int, process: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self._port = port
        self._process = process
        self._log = log

    def cpu_seconds(self) -> float:
        return processes.cpu_seconds(self._process.pid)

    def pss_mib(self) -> float:
        return processes.pss_mib(self._process.pid)

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, object]:
        """The status of an answer, and its body."""
        connection = HTTPConnection(_HOST, self._port, timeout=90)
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(method, path, sent, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None
        finally:
            connection.close()

    def create(self, name: str, config: Mapping[str, str]) -> None:
        status, told = self.ask("POST", "/connectors", {"name": name, "config": dict(config)})
        if status != 201:
            raise BenchmarkError(f"{self.name} does not create {name}: {status} {told}")

    def delete(self, name: str) -> None:
        self.until(
            lambda: self.ask("DELETE", f"/connectors/{name}")[0] in (204, 404), f"end of {name}"
        )

    def runs(self, name: str) -> bool:
        """Whether a connector runs, with a task; BenchmarkError if one has failed."""
        status, told = self.ask("GET", f"/connectors/{name}/status")
        if status != 200 or not isinstance(told, dict):
            return False
        states = [told["connector"]["state"], *(task["state"] for task in told["tasks"])]
        if "FAILED" in states:
            raise BenchmarkError(f"{self.name}: {name} has failed: {str(told)[:2000]}")
        return len(states) > 1 and set(states) == {"RUNNING"}

    def until(self, is_so: Callable[[], bool], what: str) -> float:
        """Ask until it is so; returns the seconds it took."""
        began = time.monotonic()
        while True:
            try:
                if is_so():
                    return time.monotonic() - began
            except (OSError, HTTPException, ValueError):
                pass  # it does not listen yet, or has nothing to say yet
            if self._process.poll() is not None or time.monotonic() > began + _TIMEOUT_S:
                told = self._log.read_text(errors="replace")[-2000:]
                raise BenchmarkError(f"no {what} from the worker of {self.name}:\n{told}")
            time.sleep(_PAUSE_S)


@contextmanager
def started(
    name: str, class_path: str, broker: Broker, folder: Path, settings: Mapping[str, str]
) -> Iterator[Worker]:
    """A worker whose REST interface answers; gone with all it started afterwards."""
    port = free_port()
    group = f"{name}-{port}"
    lines = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": group,
        "listeners": f"http://{_HOST}:{port}",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "connector.client.config.override.policy": "All",
        **{f"{kind}.storage.topic": f"{group}-{kind}" for kind in ("config", "offset", "status")},
        **{f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
        **settings,
    }
    home = folder / group
    home.mkdir()
    properties, log = home / "worker.properties", home / "output"
    properties.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    command = _command(name, class_path, properties)
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=home,
        )
    worker = Worker(name, port, process, log)
    try:
        worker.until(lambda: worker.ask("GET", "/connectors")[0] == 200, "answer")
        yield worker
    finally:
        processes.end_group(process)
        shutil.rmtree(home, ignore_errors=True)


def _command(name: str, class_path: str, properties: Path) -> Sequence[str]:
    if name == THEIRS:
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        return ["java", *_HEAP, "-cp", class_path, main, str(properties)]
    assert name == OURS
    found = shutil.which("connect-distributed")
    if found is None:
        raise BenchmarkError("cannot run connect-distributed: `make setup-dev` installs it")
    return [found, str(properties)]
