"""Runs the blocks of one page, from the first to the last, as a reader would type them.

The folder in which they run looks like a fresh clone: everything in it is a link to the repository,
and what the blocks write stays there. `headrace` is on the path, settings and checkpoints go to a
home of the page's own. A block that fails ends the page with the line, the command and its output.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tests.docs.blocks import ROOT, Block, difference, missing_lines, read, reads_topics, transcript

_SECONDS = 240.0  # for one block, on a machine that is busy with other tests
_NOT_A_READERS = ("HEADRACE_", "XDG_", "MAKE", "MFLAGS", "ARGS")
_PAGE_IN_PYTHON = Path(__file__).with_name("interpreter.py")


class PageFailed(Exception):
    """A block did not do what its page says."""


class Page:
    """One page being run."""

    def __init__(self, path: Path, slow: bool) -> None:
        self.path = path
        self._slow = slow
        self._temporary = tempfile.TemporaryDirectory(prefix="headrace-page-")
        self.folder = Path(self._temporary.name) / "headrace"
        self._variables = self.folder.parent / "variables"  # what one block sets, the next one has
        self._background: list[_Program] = []
        self._interpreter: _Program | None = None
        self.environment = self._prepare()

    def _prepare(self) -> dict[str, str]:
        home = self.folder.parent / "home"
        self._variables.touch()
        self.folder.mkdir()
        home.mkdir()
        for entry in ROOT.iterdir():
            if entry.name not in {".git", "data"}:
                (self.folder / entry.name).symlink_to(entry)
        # A reader's shell has no settings of ours, nor those of a `make` that runs this page.
        kept = {k: v for k, v in os.environ.items() if not k.startswith(_NOT_A_READERS)}
        python = Path(sys.executable).parent  # not resolved: the folder of the virtual environment
        return kept | {
            "HOME": str(home),
            "PATH": f"{python}:{kept['PATH']}",
            "PYTHONPATH": str(self.folder),
            "PYTHONUNBUFFERED": "1",
            "COLUMNS": "120",
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop what still runs, the last one first."""
        if self._interpreter is not None:
            self._interpreter.kill()
        for program in reversed(self._background):
            program.interrupt()
        self._temporary.cleanup()

    def run(self) -> int:
        """Run every block, slow ones only if asked for; how many ran."""
        ran = 0
        for block in read(self.path):
            if block.runs and (self._slow or block.directive != "slow"):
                self._run(block)
                ran += 1
        return ran

    def _run(self, block: Block) -> None:
        try:
            if block.language == "python":
                self._run_python(block)
            elif block.language == "console":
                for command, shown in transcript(block.text):
                    self._run_shell(command, block.directive, shown, may_fail=bool(shown))
            else:
                self._run_shell(block.text, block.directive, block.output or "")
        except PageFailed as fault:
            place = self.path.relative_to(ROOT)
            raise PageFailed(f"{place}:{block.line}: {fault}") from None

    def _run_shell(self, text: str, directive: str, shown: str, may_fail: bool = False) -> None:
        keep = f"set -a; . {self._variables}; trap 'export -p > {self._variables}' EXIT\n"
        is_background = directive.startswith("background")
        script = text if is_background else keep + text
        program = _Program(["bash", "-euo", "pipefail", "-c", script], self)
        if is_background:
            self._background.append(program)
            program.await_text(directive.removeprefix("background").strip().removeprefix("until "))
            # Services report that they are ready in whatever order they are.
            program.await_that(lambda: not any(missing_lines(shown, program.output)), shown)
            return
        if directive.startswith("until "):
            program.await_text(directive.removeprefix("until "))
            program.interrupt()
        else:
            code = program.finish()
            if code != 0 and directive != "fails" and not may_fail:
                raise PageFailed(f"exit code {code}\n{text}\n{program.output}")
            if code == 0 and directive == "fails":
                raise PageFailed(f"succeeded, and the page says that it fails\n{text}")
        if reads_topics(text):
            missing = next(missing_lines(shown, program.output), "")
        else:
            missing = difference(shown, program.output)
        if missing:
            raise PageFailed(f"did not print {missing!r}\n{text}\n{program.output}")

    def _run_python(self, block: Block) -> None:
        saved = re.match(r"# (\w+\.py)\n", block.text)
        if saved is not None:
            (self.folder / saved[1]).write_text(block.text)
        elif re.search(r"^def test_", block.text, re.MULTILINE):
            tests = self.folder.parent / f"test_line_{block.line}.py"
            tests.write_text(block.text)
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)]
            program = _Program([*command, "--rootdir", str(tests.parent)], self)
            if program.finish() != 0:
                raise PageFailed(program.output)
        else:
            if self._interpreter is None:
                command = [sys.executable, str(_PAGE_IN_PYTHON)]
                self._interpreter = _Program(command, self, asks=True)
            self._interpreter.execute(block.text)


class _Program:
    """A child process in a group of its own, with what it has printed so far."""

    def __init__(self, command: list[str], page: Page, asks: bool = False) -> None:
        self._process = subprocess.Popen(
            command,
            cwd=page.folder,
            env=page.environment,
            stdin=subprocess.PIPE if asks else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.output = ""
        self._changed = threading.Condition()
        self._ended = False
        assert self._process.stdout is not None
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,))
        self._reader.start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            with self._changed:
                self.output += line
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def await_text(self, text: str) -> None:
        """Wait until it has printed `text`."""
        self.await_that(lambda: text in self.output, text)

    def await_that(self, is_so: Callable[[], bool], wanted: str) -> None:
        """Wait until what it has printed is as wanted."""
        with self._changed:
            done = self._changed.wait_for(lambda: is_so() or self._ended, _SECONDS)
            if is_so():
                return
        self.kill()
        reason = "ended" if done else f"went on for {_SECONDS:.0f} s"
        raise PageFailed(f"{reason} without printing {wanted!r}\n{self.output}")

    def finish(self) -> int:
        """Wait for its end; the exit code."""
        try:
            code = self._process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise PageFailed(f"did not end within {_SECONDS:.0f} s\n{self.output}") from None
        self._reader.join(10)  # a process that it left behind may hold the pipe open
        return code

    def interrupt(self) -> None:
        """Ctrl-C, and wait until it has ended."""
        self._signal(signal.SIGINT)
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()
            raise PageFailed(f"did not end after Ctrl-C\n{self.output}") from None

    def kill(self) -> None:
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            pass  # it has ended by itself

    def execute(self, code: str) -> None:
        """Have the interpreter of the page run `code`; it ends with a stack if that fails."""
        assert self._process.stdin is not None
        mark = f"--- line {self.output.count(chr(10))} done"
        self._process.stdin.write(f"{len(code.splitlines())} {mark}\n{code}")
        self._process.stdin.flush()
        self.await_text(mark)
