"""BaseDataPublisher: the files of all tasks move to the final folder.

A publisher of one's own is made with the settings of the job and plans the moves; they are carried
out, and after a crash finished, by the job.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from headrace.pipelines.lake.faults import LakeFault
from headrace.pipelines.lake.gobblin.settings import JobSettings
from headrace.pipelines.lake.gobblin.stages import Outcome
from headrace.pipelines.lake.gobblin.state import Move
from headrace.pipelines.lake.jobs.locations import Location


class Publisher(Protocol):
    """Says where each file of a task belongs."""

    def moves(self, outcome: Outcome) -> Iterable[Move]: ...


class BaseDataPublisher:
    """Below the final folder as below the folder of the job; error files to their own folder."""

    def __init__(self, settings: JobSettings) -> None:
        self._settings = settings

    def moves(self, outcome: Outcome) -> Iterable[Move]:
        work = self._settings.work.address
        for path, below in outcome.files:
            yield Move(Location(work, path), self._settings.final.below(self._named(below)))
        for path, below in outcome.errors:
            yield Move(Location(work, path), self._settings.errors.below(below))

    def _named(self, below: str) -> str:
        """`writer.file.path.type` says what stands before a table's name."""
        if self._settings.path_type != "namespace_table":
            return below
        namespace = self._settings.given.get("extract.namespace", "").replace(".", "/")
        return f"{namespace}/{below}".lstrip("/")


def move_all(moves: Iterable[Move]) -> None:
    """Move files; those that were moved before are left alone."""
    for move in moves:
        source, target = move.source, move.target
        files = target.open()
        if source.address == target.address and files.publish(source.path, target.path):
            continue
        others = source.open()
        if not others.is_staged(source.path) and not _holds(source):
            if source.address != target.address and _holds(target):
                continue  # copied before a crash, and only then deleted here
            raise LakeFault(
                f"{others.url(source.path)} has vanished before it was published: leave the "
                "folders of the job alone; remove commit.json of its state to run it again"
            )
        files.replace(target.path, others.read(source.path))
        others.delete(source.path)


def _holds(location: Location) -> bool:
    folder, _, name = location.path.rpartition("/")
    return name in location.open().files(folder)
