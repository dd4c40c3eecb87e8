"""Client programs as child processes, with a short conversation on their standard streams.

A program says that it is warm, is told to go, and ends with its results. Whatever happens, it is
gone when the `with` block is left.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks import processes
from benchmarks.errors import BenchmarkError

_REPOSITORY = Path(__file__).resolve().parents[1]
_TIMEOUT_S = 900


class Program:
    """A running client program; made by `running`."""

    def __init__(self, name: str, command: Sequence[str], timeout_s: float = _TIMEOUT_S) -> None:
        self.name = name
        # A file, not a pipe: a program that complains at length must not block on its complaints.
        self._complaints = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            command,
            cwd=_REPOSITORY,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            start_new_session=True,
        )
        self._alarm = threading.Timer(timeout_s, self._process.kill)
        self._alarm.daemon = True
        self._alarm.start()

    def expect(self, word: str) -> None:
        if self._read_line() != word:
            raise self._failure(f"did not say {word}")

    def go(self, order: str = "") -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{order}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failure("ended before it was told to go") from None

    def read_json(self) -> dict[str, Any]:
        line = self._read_line()
        try:
            told = json.loads(line)
        except ValueError:
            raise self._failure(f"said {line[:200]!r} where its result was due") from None
        assert isinstance(told, dict)
        return told

    def read_all(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.read()

    def finish(self) -> None:
        if self._process.wait(_TIMEOUT_S):
            raise self._failure(f"ended with exit code {self._process.returncode}")

    def close(self) -> None:
        self._alarm.cancel()
        processes.end_group(self._process)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                pass  # an unread "go" of a program that has ended
        self._complaints.close()

    def _read_line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n")

    def _failure(self, what: str) -> BenchmarkError:
        self._complaints.seek(0)
        told = self._complaints.read()[-2000:].strip()
        return BenchmarkError(f"{self.name} {what}; it complained:\n{told or '(nothing)'}")


@contextmanager
def running(
    name: str, commands: Sequence[Sequence[str]], timeout_s: float = _TIMEOUT_S
) -> Iterator[list[Program]]:
    """Start all of these commands; end them all on the way out."""
    with ExitStack() as stack:
        programs = []
        for command in commands:
            program = Program(name, command, timeout_s)
            stack.callback(program.close)
            programs.append(program)
        yield programs
