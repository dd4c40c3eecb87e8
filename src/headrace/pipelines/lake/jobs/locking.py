"""One run of a job at a time: a file that names its holder.

A holder of this machine that has ended without letting go is found out by its process; one of
another machine is not, and its file must be removed by hand. Of several that find it out at one
time one takes over: who holds a second lock, and sees then that the first is as it was found.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

from headrace.errors import HeadraceError
from headrace.pipelines.lake.faults import LakeFault
from headrace.pipelines.lake.filesystems.filesystem import Filesystem
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
        _refuse_if_alive(files, location, job)
        with held(replace(location, path=f"{location.path}.next"), job):
            _refuse_if_alive(files, location, job)
            files.replace(location.path, written)
    try:
        yield
    finally:
        files.delete(location.path)


def _refuse_if_alive(files: Filesystem, location: Location, job: str) -> None:
    """Raise `Locked` unless the holder was a process of this machine that has ended."""
    try:
        other = msgspec.json.decode(files.read(location.path), type=Holder)
    except LakeFault as fault:
        raise Locked(
            f"another run of {job} has begun or ended just now ({fault}): start it again"
        ) from fault
    if other.host != socket.gethostname() or _started(other.pid) == other.started:
        raise Locked(
            f"{job} is already running, as process {other.pid} on {other.host}: wait for its end; "
            f"if it has ended, remove {files.url(location.path)}"
        )


def _started(pid: int) -> str:
    """When a process was started, as its system counts; empty if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]
