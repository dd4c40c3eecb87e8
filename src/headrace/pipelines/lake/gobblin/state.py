"""The state store: how far each work unit came, as JSON.

    <state.store.dir>/<job>/current.json     the state, and the run that left it
                            commit.json      a publication under way

A publication is written down before the first file moves. A run that finds one which was not
finished finishes it before anything else.
"""

from __future__ import annotations

from typing import Final

import msgspec

from headrace.errors import CorruptData
from headrace.pipelines.lake.gobblin.stages import State
from headrace.pipelines.lake.jobs.locations import Location

_CURRENT: Final = "current.json"
_COMMIT: Final = "commit.json"


class Move(msgspec.Struct, frozen=True):
    """A file from the folder of the job to where it is read."""

    source: Location
    target: Location


class Kept(msgspec.Struct, frozen=True):
    """What the last run left. In a publication under way, `moves` are what it has to move."""

    job_id: str = ""
    units: dict[str, dict[str, object]] = {}
    moves: list[Move] = []


class StateStore:
    """The state of one job."""

    def __init__(self, folder: Location) -> None:
        self._folder = folder
        self._files = folder.open()

    def current(self) -> State:
        """The state that the last run left."""
        kept = self._read(_CURRENT)
        return {} if kept is None else kept.units

    def unfinished(self) -> Kept | None:
        """A publication that was begun and not finished."""
        return self._read(_COMMIT)

    def begin(self, kept: Kept) -> None:
        """Write a publication down: from here on it will happen."""
        self._write(_COMMIT, kept)

    def finish(self, kept: Kept) -> None:
        """All files have moved: the state is the new one."""
        self._write(_CURRENT, Kept(kept.job_id, kept.units))
        self._files.delete(self._folder.below(_COMMIT).path)

    def _read(self, name: str) -> Kept | None:
        if name not in self._files.files(self._folder.path):
            return None
        path = self._folder.below(name).path
        try:
            return msgspec.json.decode(self._files.read(path), type=Kept)
        except msgspec.DecodeError as fault:
            raise CorruptData(
                f"{self._files.url(path)} is not a state of this job ({fault}): remove it, and the "
                "job begins at bootstrap.with.offset"
            ) from fault

    def _write(self, name: str, kept: Kept) -> None:
        path = self._folder.below(name).path
        self._files.replace(path, msgspec.json.format(msgspec.json.encode(kept)))
