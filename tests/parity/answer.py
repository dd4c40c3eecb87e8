"""What a tool answered, and how a report is told."""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple


class Answer(NamedTuple):
    """The end of one process, or of what stands for one."""

    code: int
    out: str
    err: str


UNENDED = Answer(124, "", "it did not end\n")


def ended(command: list[str], stdin: str, timeout_s: float) -> Answer:
    """Run a process to its end, or for as long as it may take."""
    try:
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return UNENDED
    return Answer(done.returncode, done.stdout, done.stderr)


def tell(line: str) -> None:
    """One line of a report."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
