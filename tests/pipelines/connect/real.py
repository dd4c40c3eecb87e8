"""Classes of Apache Kafka's Connect, asked in a JVM: a JSON value a line, an answer a line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import TracebackType

from tests.generated import THOROUGH
from tests.kafka.apache_kafka import classpath, java_command
from tests.kafka.toolchain import spawn, stop

TIMEOUT_SECONDS = 1_800 if THOROUGH else 120
"""For modules whose thorough run compares many cases."""
_THOROUGH_CASES = 20_000


def cases(sample: int) -> int:
    """How many generated cases to compare where `make test` compares `sample`."""
    return _THOROUGH_CASES if THOROUGH else sample


class Real:
    """A Java program beside a test, which reads questions and writes answers until it is closed."""

    def __init__(self, source: Path, log: Path) -> None:
        self._log = log
        with log.open("wb") as err:
            self._process = spawn(
                java_command(classpath(), source), stdin=subprocess.PIPE, stderr=err
            )

    def __enter__(self) -> Real:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        stop(self._process)

    def ask(self, question: object) -> object:
        """What the program answers."""
        asked, told = self._process.stdin, self._process.stdout
        assert asked is not None
        assert told is not None
        asked.write(json.dumps(question).encode() + b"\n")
        asked.flush()
        line = told.readline()
        assert line, self._log.read_text(errors="replace")[-3000:]
        return json.loads(line)
