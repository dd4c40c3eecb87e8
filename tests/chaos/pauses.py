"""Stops random processes of a test run for up to a second: `python -m tests.chaos.pauses FOLDER`.

A test that waits for an event does not mind; one that counts on a quick machine fails. Start it
beside `make test` of the checkout in FOLDER. It ends when no process of that checkout has been
there for a minute, or with Ctrl-C, and lets everything go on that it has stopped.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Final

_PAUSES_PER_S: Final = 2.0
_LONGEST_S: Final = 1.0
_GONE_S: Final = 60.0
_STOPPED: Final = "T"


def processes_of(folder: Path) -> list[int]:
    """Those whose command line or folder is inside of the checkout, but for this one.

    One that a test has stopped by itself is left out: to let it go on would spoil the test.
    """
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace")
            inside = (entry / "cwd").readlink().is_relative_to(folder)
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue  # it has ended, or is not ours
        if state != _STOPPED and (inside or f"{folder}/" in words):
            found.append(int(entry.name))
    return found


def pause(pid: int, seconds: float) -> None:
    """Stop a process for so long; one that ends meanwhile is none of our business."""
    try:
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.pauses", description=__doc__)
    parser.add_argument("folder", type=Path, help="the checkout whose tests run")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    folder = options.folder.resolve()
    seen = time.monotonic()
    count = 0
    while time.monotonic() - seen < _GONE_S:
        found = processes_of(folder)
        if found:
            seen = time.monotonic()
            pause(chance.choice(found), chance.uniform(0, _LONGEST_S))
            count += 1
        time.sleep(chance.uniform(0, 2 / _PAUSES_PER_S))
    sys.stdout.write(f"{count} pauses\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
