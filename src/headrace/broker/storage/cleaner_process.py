"""The process that compacts logs for a broker: it reads and writes segments, and decides nothing.

Compaction is minutes of computing. In a thread of the broker it would take every other millisecond
away from producers and consumers; in a process of its own it takes another core, and its memory
goes back to the system when there is nothing left to compact.

The broker writes one JSON object to a line and gets one back. Everything is asked in turn:

    {"plan": …, "memory": …, "max_bytes_per_s": …}   begin with a log and build the map of its keys
    {"end_offset": …}                                up to there the log will be clean

    {"next": true}                                   write the next new segment
    {"cleaned": …, "stats": …}                       which it is; null if there is no more

    {"fault": …, "errno": …, "message": …}           instead of any answer: what went wrong

The end of its input ends the process. If the broker dies without a word, the process notices while
it works, because another broker may soon compact the same log.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import asdict
from typing import Any, Final, TypeAlias

from headrace.errors import HeadraceError
from headrace.log.compaction import CleanerMemory, Cleaning, CleaningPlan
from headrace.runtime.disk import Disk
from headrace.runtime.os_disk import OsDisk

Message: TypeAlias = dict[str, Any]
"""A request or its answer: one line of JSON."""

_MAX_OPEN_FILES: Final = 64
_LOOK_UP_EVERY_BYTES: Final = 1 << 20


class Pace:
    """Holds the work to so many bytes per second, and to the life of the broker."""

    def __init__(self, max_bytes_per_s: float, broker_pid: int) -> None:
        self._max_bytes_per_s = max_bytes_per_s
        self._broker_pid = broker_pid
        self._began = time.monotonic()
        self._bytes = 0
        self._next_look_up = 0

    def __call__(self, size: int) -> None:
        self._bytes += size
        if self._bytes < self._next_look_up:
            return
        self._next_look_up = self._bytes + _LOOK_UP_EVERY_BYTES
        ahead_s = self._began + self._bytes / self._max_bytes_per_s - time.monotonic()
        if ahead_s > 0:
            time.sleep(ahead_s)
        if os.getppid() != self._broker_pid:
            raise SystemExit("the broker is gone")


class Compactor:
    """Answers the broker's requests, one log after the other."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._broker_pid = os.getppid()
        self._cleaning: Cleaning | None = None

    def answer(self, request: Message) -> Message:
        try:
            return self._begin(request) if "plan" in request else self._go_on()
        except OSError as fault:
            self._cleaning = None
            return {"fault": "OSError", "errno": fault.errno, "message": str(fault)}
        except (HeadraceError, MemoryError) as fault:
            self._cleaning = None
            return {"fault": type(fault).__name__, "errno": None, "message": str(fault)}

    def _begin(self, request: Message) -> Message:
        self._cleaning = None  # its memory is needed
        cleaning = Cleaning(
            self._disk,
            CleaningPlan.from_json(request["plan"]),
            CleanerMemory(**request["memory"]),
            Pace(request["max_bytes_per_s"], self._broker_pid),
        )
        cleaning.build_map()
        self._cleaning = cleaning
        return {"end_offset": cleaning.end_offset}

    def _go_on(self) -> Message:
        cleaning = self._cleaning
        assert cleaning is not None, "a plan comes first"
        cleaned = cleaning.write_next()
        if cleaned is None:
            self._cleaning = None
        return {
            "cleaned": None if cleaned is None else asdict(cleaned),
            "stats": asdict(cleaning.stats),
        }


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the broker, which ends us
    compactor = Compactor(OsDisk(_MAX_OPEN_FILES))
    for line in sys.stdin.buffer:
        reply = compactor.answer(json.loads(line))
        sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
