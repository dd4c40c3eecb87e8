"""A Kafka Streams application as a process that is started, killed and started again.

The program is compiled once into the cache, so a restart costs no more than a JVM.
"""

from __future__ import annotations

import hashlib
import select
import subprocess
from pathlib import Path

from tests.kafka.apache_kafka import VERSION, java_command
from tests.kafka.toolchain import fetched, need, run, spawn, stop

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "WordCount.java"
RUNNING_TIMEOUT_SECONDS = 60


def class_path() -> str:
    """Kafka Streams' jars from Maven, and our program beside them."""

    def fetch(folder: Path) -> None:
        copy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
        where = [f"-DoutputDirectory={folder}", "-DincludeScope=runtime"]
        run([need("mvn"), "-q", "-B", "-f", HERE / "pom.xml", copy, *where])

    need("java")
    jars = fetched(f"kafka-streams-{VERSION}", fetch)

    def compile_program(folder: Path) -> None:
        compiler = Path(need("java")).resolve().with_name("javac")
        run([compiler, "-cp", f"{jars}/*", "-d", folder, SOURCE])

    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]
    return f"{fetched(f'word-count-{digest}', compile_program)}:{jars}/*"


class WordCount:
    """The application; its state folder survives, as on a machine that comes back."""

    def __init__(
        self, bootstrap: str, folder: Path, *, source: str, target: str, guarantee: str
    ) -> None:
        words = (bootstrap, folder / "state", source, target, guarantee)
        self._command = java_command(class_path(), "WordCount", *words)
        self._errors = folder / "word-count.err"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._errors.open("ab") as errors:
            self._process = spawn(self._command, stderr=errors)

    def await_running(self) -> None:
        """Return when it has its partitions and its state."""
        assert self._process is not None
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], RUNNING_TIMEOUT_SECONDS)
        line = self._process.stdout.readline() if ready else b""
        assert line == b"running\n", f"it does not run:\n{self.last_words()}"

    def stop(self, *, kill: bool = False) -> None:
        """End it in order, or as a power cut does."""
        if self._process is not None:
            stop(self._process, kill=kill)
            self._process = None

    def last_words(self) -> str:
        return self._errors.read_text(errors="replace")[-2000:]
