"""A Spark standalone cluster of real processes on this machine, from the jars of PySpark's wheel.

The wheel has no start scripts for it, and needs none: master and worker are main classes. All of it
listens on 127.0.0.1 and works in a folder of the test; a worker can be lost with all it runs.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

from tests.chaos.spark_sink.victims import Process, descendants
from tests.kafka.toolchain import need, spawn

MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
HOST = "127.0.0.1"
START_TIMEOUT_SECONDS = 60
POLL_SECONDS = 0.05


class StandaloneCluster:
    """A master and its workers, each with one core."""

    def __init__(self, folder: Path, *, workers: int, java_options: str = "") -> None:
        import pyspark

        need("java")
        self._home = Path(pyspark.__file__).parent
        self._folder = folder
        self._worker_count = workers
        self._port = _free_port()
        self._environment = {
            "SPARK_HOME": str(self._home),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_PUBLIC_DNS": HOST,
            "SPARK_DAEMON_MEMORY": "256m",
            # A port for submitted applications would be a fixed one, and nothing is submitted here.
            "SPARK_DAEMON_JAVA_OPTS": f"{java_options} -Dspark.master.rest.enabled=false",
            "SPARK_LOCAL_DIRS": str(folder / "local"),
            # Executors run workers under this Python, whichever one the PATH has first.
            "PYSPARK_PYTHON": sys.executable,
        }
        self._master: subprocess.Popen[bytes] | None = None
        self._workers: list[subprocess.Popen[bytes]] = []
        self._left_behind: list[Process] = []

    @property
    def url(self) -> str:
        return f"spark://{HOST}:{self._port}"

    def __enter__(self) -> StandaloneCluster:
        self._folder.mkdir(parents=True, exist_ok=True)
        place = ["--host", HOST, "--webui-port", "0"]
        self._master = self._start("master", MASTER, *place, "--port", str(self._port))
        self._await_output("master", r"I have been elected leader")
        for number in range(self._worker_count):
            work = ["--work-dir", str(self._folder / f"work-{number}")]
            size = ["--cores", "1", "--memory", "1g"]
            name = f"worker-{number}"
            self._workers.append(self._start(name, WORKER, *place, *work, *size, self.url))
        for number in range(self._worker_count):
            self._await_output(f"worker-{number}", r"Successfully registered with master")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number in range(len(self._workers)):
            self.lose_worker(number)
        if self._master is not None:
            self._master.kill()
            self._master.wait()
        for process in self._left_behind:
            process.kill()

    def executors(self) -> int:
        """How many workers run an executor by now."""
        return sum(bool(descendants(worker.pid)) for worker in self._running())

    def lose_worker(self, number: int) -> None:
        """kill -9 of the worker and of all that it runs, as when its machine goes down."""
        worker = self._workers[number]
        below = descendants(worker.pid)
        self._left_behind += below
        worker.send_signal(signal.SIGKILL)
        for process in below:
            process.kill()
        worker.wait()

    def last_words(self) -> str:
        texts = [path.read_text(errors="replace") for path in sorted(self._folder.glob("*.log"))]
        return "\n".join(text[-1000:] for text in texts)

    def _running(self) -> list[subprocess.Popen[bytes]]:
        return [worker for worker in self._workers if worker.poll() is None]

    def _start(self, name: str, main_class: str, *words: str) -> subprocess.Popen[bytes]:
        command: list[str | Path] = [self._home / "bin" / "spark-class", main_class, *words]
        with (self._folder / f"{name}.log").open("wb") as log:
            return spawn(command, stdout=log, stderr=log, env=self._environment)

    def _await_output(self, name: str, pattern: str) -> None:
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        log = self._folder / f"{name}.log"
        while not re.search(pattern, log.read_text(errors="replace")):
            assert time.monotonic() < deadline, f"no {pattern!r} from {name}:\n{self.last_words()}"
            time.sleep(POLL_SECONDS)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def driver_environment() -> dict[str, str]:
    """What a driver of this cluster must find in its environment."""
    return {**os.environ, "SPARK_LOCAL_IP": HOST, "PYSPARK_PYTHON": sys.executable}
