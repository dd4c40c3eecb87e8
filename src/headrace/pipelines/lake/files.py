"""Rows as files: staged, sealed, and published as one set.

write    folders' files are staged; the least recently used one is sealed where too many are open
commit   seal all → claim a journal entry that lists them → move each into place → close entry
crash    before the claim: nothing was published, staged files are deleted by the next commit
         after it: `positions` moves the rest into place, or, where staged files do not outlive
         their process (S3), deletes those that are there and takes the entry back
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from headrace.pipelines.lake.faults import Fenced, LakeFault
from headrace.pipelines.lake.filesystems.filesystem import Filesystem
from headrace.pipelines.lake.formats.format import Format, FormatFile
from headrace.pipelines.lake.journal import Entry, Journal, Move
from headrace.pipelines.lake.layout import Layout
from headrace.pipelines.lake.rows import Rows
from headrace.pipelines.lake.target import Place


@dataclass(slots=True)
class _Open:
    """A file that is being written."""

    path: str
    out: BinaryIO
    file: FormatFile
    shape: object
    first: int
    last: int
    size: int = 0


class FileTarget:
    """The files of a lake. `most_open` bounds how many are open at a time."""

    def __init__(
        self,
        filesystem: Filesystem,
        format_: Format,
        *,
        layout: Layout | None = None,
        most_open: int = 64,
    ) -> None:
        self.filesystem = filesystem
        self.format = format_
        self.layout = layout or Layout()
        self._most_open = most_open
        self._open: OrderedDict[tuple[FileCut, str], _Open] = OrderedDict()
        self._swept: set[Place] = set()

    def positions(self, places: Iterable[Place]) -> dict[Place, int]:
        """Where each partition goes on, by its journal and the names of its files."""
        wanted = list(places)
        settled = {place: self._settled(place) for place in wanted}
        listed: dict[Place, int] = {}
        for topic in sorted({topic for topic, _ in wanted}):
            for path in self.filesystem.files(self.layout.topic_folder(topic)):
                found = self.layout.range_of(topic, path)
                if found is not None:
                    partition, _, last = found
                    place = (topic, partition)
                    listed[place] = max(listed.get(place, 0), last + 1)
        return {
            place: max(settled[place] or 0, listed.get(place, 0))
            for place in wanted
            if settled[place] is not None or place in listed
        }

    def begin(self, place: Place) -> FileCut:
        """Nothing is created before there are rows."""
        return FileCut(self, place)

    def close(self) -> None:
        """Let go of the file system."""
        self.filesystem.close()

    def opened(self, cut: FileCut, folder: str, rows: Rows) -> _Open:
        """The file of a folder to which rows of this shape can be added."""
        key = (cut, folder)
        held = self._open.get(key)
        if held is not None and held.shape == rows.shape:
            self._open.move_to_end(key)
            return held
        if held is not None:
            self._seal(key)
        while len(self._open) >= self._most_open:
            self._seal(next(iter(self._open)))
        topic, partition = cut.place
        path = self.layout.staged(topic, partition)
        out = self.filesystem.stage(path)
        try:
            with self.formatting(path):
                file = self.format.open(out, rows)
        except LakeFault:
            self.filesystem.discard(path, out)
            raise
        made = _Open(path, out, file, rows.shape, rows.first, rows.last)
        self._open[key] = made
        return made

    @contextmanager
    def formatting(self, path: str) -> Iterator[None]:
        """Faults of the format and of the file system, each with its cause."""
        with self.filesystem.told(path):
            try:
                yield
            except (ValueError, TypeError, OverflowError, pa.ArrowException) as fault:
                raise LakeFault(
                    f"a value cannot be written to {self.filesystem.url(path)}: {fault}; write "
                    "another format, or leave the record out by a transform"
                ) from fault

    def seal_all(self, cut: FileCut) -> None:
        """Finish every file of a cut."""
        for key in [key for key in self._open if key[0] is cut]:
            self._seal(key)

    def drop_all(self, cut: FileCut) -> None:
        """Let go of the open files of a cut."""
        for key in [key for key in self._open if key[0] is cut]:
            self._abandon(self._open.pop(key))

    def publish(self, cut: FileCut, entry: Entry) -> None:
        """Claim an entry and move its files into place."""
        journal = self._journal(cut.place)
        lost = [move.staged for move in entry.files if not self.filesystem.is_staged(move.staged)]
        newest = journal.newest() if lost else None
        if newest is not None and newest.first >= entry.first:
            raise Fenced(*cut.place, entry.first)  # by whom the staged files were swept away
        if lost:
            raise self._vanished(lost[0])
        if not journal.claim(entry):
            raise Fenced(*cut.place, entry.first)
        cut.sealed.clear()  # the journal's now: whatever happens, they are not dropped
        for move in entry.files:
            if not self.filesystem.publish(move.staged, move.final):
                raise self._vanished(move.staged)
        journal.close(entry)
        self._sweep(cut.place)

    def _vanished(self, path: str) -> LakeFault:
        return LakeFault(
            f"{self.filesystem.url(path)} has vanished before it was published: leave the folder "
            "+tmp to the writer; its records are written again",
            passing=True,
        )

    def _seal(self, key: tuple[FileCut, str]) -> None:
        cut, folder = key
        held = self._open.pop(key)
        cut.sealed.append(held.path)
        try:
            with self.formatting(held.path):
                held.file.finish()
            self.filesystem.seal(held.path, held.out)
        except LakeFault as fault:
            cut.lost = fault  # another partition may have asked, which is all that hears of it
            self._abandon(held)
            raise
        topic, partition = cut.place
        final = self.layout.published(
            topic, partition, folder, held.first, held.last, self.format.extension
        )
        cut.moves.append(Move(held.path, final))

    def _abandon(self, held: _Open) -> None:
        with suppress(LakeFault), self.formatting(held.path):
            held.file.abandon()
        self.filesystem.discard(held.path, held.out)

    def _settled(self, place: Place) -> int | None:
        """Where the journal says that a partition goes on, once its newest entry is settled."""
        journal = self._journal(place)
        entry = journal.newest()
        if entry is None:
            return None
        if entry.published:
            return entry.next
        placed = [self.filesystem.publish(move.staged, move.final) for move in entry.files]
        if all(placed):
            journal.close(entry)
            return entry.next
        for move in entry.files:
            self.filesystem.delete(move.final)
        journal.remove(entry)
        return entry.first

    def _sweep(self, place: Place) -> None:
        """Delete what others have staged and can no longer publish."""
        if place in self._swept:
            return
        self._swept.add(place)
        folder = self.layout.staging_folder(*place)
        mine = {held.path for held in self._open.values()}
        for name in list(self.filesystem.files(folder)):
            if f"{folder}/{name}" not in mine:
                self.filesystem.delete(f"{folder}/{name}")

    def _journal(self, place: Place) -> Journal:
        return Journal(self.filesystem, self.layout.journal_folder(*place))


class FileCut:
    """The files that a partition publishes together."""

    def __init__(self, target: FileTarget, place: Place) -> None:
        self.place = place
        self.size = 0
        self.sealed: list[str] = []
        self.moves: list[Move] = []
        self.lost: LakeFault | None = None
        """Why one of the files could not be finished: its rows are in none, so the cut is over."""
        self._target = target

    def write(self, folder: str, rows: Rows) -> None:
        """Add rows to the file of a folder."""
        self._refuse_if_lost()
        held = self._target.opened(self, folder, rows)
        with self._target.formatting(held.path):
            held.file.write(rows)
            size = held.out.tell()
        self.size += size - held.size
        held.size = size
        held.last = rows.last

    def commit(self, first: int, following: int) -> None:
        """Publish all files."""
        self._refuse_if_lost()
        self._target.seal_all(self)
        self._target.publish(self, Entry(first, following, self.moves))

    def drop(self) -> None:
        """Let go of files that are not published."""
        self._target.drop_all(self)
        for path in self.sealed:
            self._target.filesystem.discard(path, None)

    def _refuse_if_lost(self) -> None:
        if self.lost is not None:
            told = f"a file was lost when it was finished: {self.lost}; its rows are written again"
            raise LakeFault(told, passing=self.lost.passing) from self.lost
