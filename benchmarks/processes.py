"""CPU time, memory and the end of whole process trees, read from /proc.

A broker may be one JVM, one Python process or a supervisor with children; the comparison is only
fair when everything below the started process counts. Linux only: there is no portable way.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")
# Fields of /proc/<pid>/stat, counted from the one after the closing bracket of the command's name.
_PARENT = 1
_TIMES = slice(11, 15)  # utime, stime, and those of children that have ended: cutime, cstime


def cpu_seconds(pid: int) -> float:
    """User and system time that a process and its descendants have used so far."""
    fields = (_stat(one) for one in _tree(pid))
    return sum(sum(map(int, stat[_TIMES])) for stat in fields if stat) / _TICKS_PER_SECOND


def rss_mib(pid: int) -> float:
    """Resident memory of the tree; a page shared by two processes counts twice."""
    return sum(_field_kib(one, "status", "VmRSS:") for one in _tree(pid)) / 1024


def pss_mib(pid: int) -> float:
    """Memory of the tree in which a page shared by n processes counts as an n-th for each."""
    return sum(_field_kib(one, "smaps_rollup", "Pss:") for one in _tree(pid)) / 1024


def end_group(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    """Kill a process started with `start_new_session=True` and all that it started."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            break
        # Reaping the leader is ours to do; orphans are reaped by init, so their end is awaited.
        process.poll()
        time.sleep(0.01)
    process.wait()


def _tree(pid: int) -> Iterator[int]:
    children = defaultdict(list)
    for entry in os.listdir(_PROC):
        if entry.isdigit() and (stat := _stat(int(entry))):
            children[int(stat[_PARENT])].append(int(entry))
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += children[one]


def _stat(pid: int) -> list[str]:
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:  # it ended between listing and reading
        return []


def _field_kib(pid: int, file: str, name: str) -> int:
    try:
        text = (_PROC / str(pid) / file).read_text()
    except OSError:
        return 0
    for line in text.splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return 0
