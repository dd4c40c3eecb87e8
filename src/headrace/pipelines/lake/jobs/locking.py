"""One run of a job at a time: a file that names its holder.

A holder of this machine that has ended without letting go is found out by its process; one of
another machine is not, and its file must be removed by hand.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from headrace.errors import HeadraceError
from headrace.pipelines.lake.jobs.locations import Location


class Locked(HeadraceError):
    """Another run of the job is under way."""


class Holder(msgspec.Struct, frozen=True):
    """A process; `started` tells two processes with one number apart."""

    host: str
    pid: int
    started: str


@contextmanager
def held(location: Location, job: str) -> Iterator[None]:
    """Hold the lock of a job, or raise `Locked`."""
    files = location.open()
    mine = Holder(socket.gethostname(), os.getpid(), _started(os.getpid()))
    written = msgspec.json.encode(mine)
    if not files.claim(location.path, written):
        other = msgspec.json.decode(files.read(location.path), type=Holder)
        if other.host != mine.host or _started(other.pid) == other.started:
            raise Locked(
                f"{job} is already running, as process {other.pid} on {other.host}: wait for its "
                f"end; if it has ended, remove {files.url(location.path)}"
            )
        files.replace(location.path, written)
    try:
        yield
    finally:
        files.delete(location.path)


def _started(pid: int) -> str:
    """When a process was started, as its system counts; empty if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]
