"""One run of a job at a time, also where the last one ended without letting go."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import msgspec
import pytest

from headrace.pipelines.lake.jobs.locations import Location, location_of
from headrace.pipelines.lake.jobs.locking import Holder, Locked, held

RUNS = 6
ROUNDS = 20
NO_PROCESS = 2**22 + 1


@pytest.fixture
def lock(tmp_path: Path) -> Location:
    return location_of(str(tmp_path / "lock"))


def leave_behind(path: Path) -> None:
    """The lock of a process that has ended."""
    path.write_bytes(msgspec.json.encode(Holder(socket.gethostname(), NO_PROCESS, "1")))


def test_a_lock_is_held_once(lock: Location, tmp_path: Path) -> None:
    with held(lock, "job"):
        with pytest.raises(Locked, match=r"job is already running, as process \d+ on .*/lock"):
            held(lock, "job").__enter__()
        assert (tmp_path / "lock").exists()
    assert list(tmp_path.iterdir()) == []


def test_a_holder_on_another_machine(lock: Location, tmp_path: Path) -> None:
    (tmp_path / "lock").write_bytes(msgspec.json.encode(Holder("elsewhere", 1, "1")))
    with pytest.raises(Locked, match=r"as process 1 on elsewhere: .*if it has ended, remove"):
        held(lock, "job").__enter__()


@pytest.mark.parametrize("left", [["lock"], ["lock", "lock.next"]])
def test_what_a_run_left_behind(lock: Location, tmp_path: Path, left: list[str]) -> None:
    """Also if it ended while it took over from another."""
    for name in left:
        leave_behind(tmp_path / name)
    with held(lock, "job"):
        assert [path.name for path in tmp_path.iterdir()] == ["lock"]
    assert list(tmp_path.iterdir()) == []


def test_one_alone_takes_over(lock: Location, tmp_path: Path) -> None:
    """However many find the same lock left behind at the same time."""
    for _ in range(ROUNDS):
        leave_behind(tmp_path / "lock")
        assert _at_once(lock) == 1
        assert list(tmp_path.iterdir()) == []


def _at_once(lock: Location) -> int:
    """How many of some runs that begin together hold the lock."""
    together = threading.Barrier(RUNS)
    entered: list[None] = []

    def run() -> None:
        together.wait()
        try:
            with held(lock, "job"):
                entered.append(None)
                together.wait()  # until each of the others is in, or was refused
        except Locked:
            together.wait()

    threads = [threading.Thread(target=run) for _ in range(RUNS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(entered)
