"""Kafka's own tools, from the jars that Maven fetches, all in one JVM (`Tools.java`)."""

from __future__ import annotations

import json
import os
import select
import subprocess
from pathlib import Path
from types import TracebackType

from benchmarks.kafka.tools import CLASSES
from tests.kafka.apache_kafka import classpath, java_command
from tests.kafka.toolchain import spawn, stop
from tests.parity.answer import UNENDED, Answer, ended

_SOURCE = Path(__file__).resolve().parent / "Tools.java"
_CHUNK_BYTES = 1 << 20


class KafkasTools:
    """One JVM that runs tool after tool; one that does not end costs it, and a new one starts."""

    def __init__(self, log: Path) -> None:
        self._command = java_command(classpath(), _SOURCE)
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> KafkasTools:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def run(self, tool: str, words: list[str], stdin: str, timeout_s: float) -> Answer:
        """Run one tool to its end."""
        if self._process is None:
            with self._log.open("ab") as log:
                self._process = spawn(self._command, stdin=subprocess.PIPE, stderr=log)
        command = {"class": CLASSES[tool], "words": words, "stdin": stdin}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        self._process.stdin.flush()
        line = self._line(timeout_s)
        if line is None:
            return UNENDED
        if not line:
            return self._run_alone(tool, words, stdin, timeout_s)
        told = json.loads(line)
        return Answer(told["code"], told["out"], told["err"])

    def _run_alone(self, tool: str, words: list[str], stdin: str, timeout_s: float) -> Answer:
        """In a JVM of its own: a tool that calls System.exit has ended the one for all."""
        self._end()
        return ended(java_command(classpath(), CLASSES[tool], *words), stdin, timeout_s)

    def _line(self, timeout_s: float) -> bytes | None:
        """The answer; empty if the JVM has ended, None if it does not answer in time."""
        assert self._process is not None
        assert self._process.stdout is not None
        stream = self._process.stdout.fileno()
        line = b""
        while not line.endswith(b"\n"):
            readable, _, _ = select.select([stream], [], [], timeout_s)
            if not readable:
                self._end()
                return None
            chunk = os.read(stream, _CHUNK_BYTES)
            if not chunk:
                return b""
            line += chunk
        return line

    def _end(self) -> None:
        if self._process is not None:
            stop(self._process, kill=True)
            self._process = None
