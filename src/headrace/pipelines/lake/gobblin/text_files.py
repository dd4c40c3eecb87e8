"""TextFileBasedSource: lines of files as records, a work unit for each file.

Files of `source.filebased.data.directory` are read once; what is added to one later is read by a
later run, in whole lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from headrace.pipelines.lake.gobblin.stages import Settings, Slice, State, WorkUnit
from headrace.pipelines.lake.jobs.locations import default_filesystem, location_of
from headrace.pipelines.lake.jobs.properties import Properties


class TextFileBasedSource:
    """Positions are bytes."""

    def __init__(self, settings: Settings) -> None:
        read = Properties(settings, "the job")
        folder = read.required("source.filebased.data.directory", "the folder to read")
        self._folder = location_of(folder, default_filesystem(read, "source.filebased.fs.uri"))
        self._table = read.text("extract.table.name", self._folder.path.rpartition("/")[2])

    def work_units(self, state: State) -> Sequence[WorkUnit]:
        files = self._folder.open()
        units = []
        for number, name in enumerate(sorted(files.files(self._folder.path))):
            data = files.read(self._folder.below(name).path)
            start = int(str(state.get(name, {}).get("bytes", 0)))
            units.append(WorkUnit(name, self._table, number, start, data.rfind(b"\n") + 1))
        return units

    def extractor(self, unit: WorkUnit) -> LinesExtractor:
        place = self._folder.below(unit.name)
        return LinesExtractor(place.open().read(place.path), unit)


class LinesExtractor:
    """The lines between two positions."""

    def __init__(self, data: bytes, unit: WorkUnit) -> None:
        self._data = data
        self._unit = unit

    def slices(self) -> Iterator[Slice]:
        at = self._unit.start
        lines = self._data[at : self._unit.end].split(b"\n")[:-1]
        positions = []
        for line in lines:
            positions.append(at)
            at += len(line) + 1
        if lines:
            yield Slice(pa.array(lines, pa.binary()), pa.array(positions, pa.int64()))

    def watermark(self) -> Mapping[str, object]:
        return {"bytes": self._unit.end}
