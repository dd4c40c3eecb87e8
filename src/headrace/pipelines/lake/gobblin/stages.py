"""What the stages are.

A class of one's own is named as module:Class, file.py:Class or an entry point of the group
`headrace.gobblin`, and is made with the settings of the job. Records between the stages are what
the extractor gives: for Kafka their bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Protocol, TypeAlias

import msgspec
import pyarrow as pa

Settings: TypeAlias = Mapping[str, str]
State: TypeAlias = Mapping[str, Mapping[str, object]]
"""What the last run left for the next one, by the names of units."""


class WorkUnit(msgspec.Struct, frozen=True):
    """A slice of the source, from `start` to before `end` as its extractor counts.

    `table` names the folder of its files and `partition` tells apart units of one table; `name` is
    the same in every run.
    """

    name: str
    table: str
    partition: int
    start: int
    end: int
    properties: dict[str, str] = {}


class Slice(msgspec.Struct, frozen=True):
    """Records, with the position of each and its time in milliseconds."""

    records: pa.Array | list[object]
    positions: pa.Int64Array
    times: pa.Int64Array | None = None
    avro: str | None = None


class Source(Protocol):
    """Connects to where data comes from, and divides what is new into work units.

    Units with nothing in them are allowed: they keep the state of their slice.
    """

    def work_units(self, state: State) -> Sequence[WorkUnit]: ...

    def extractor(self, unit: WorkUnit) -> Extractor: ...


class Extractor(Protocol):
    """Pulls the slice of one work unit."""

    def slices(self) -> Iterator[Slice]: ...

    def watermark(self) -> Mapping[str, object]:
        """What the state store keeps of the unit, once all records were taken."""


class Converter(Protocol):
    """Makes none, one or several records of each."""

    def convert(self, record: object) -> Iterable[object]: ...


class RowPolicy(Protocol):
    """Judges a record."""

    def passes(self, record: object) -> bool: ...


class TaskPolicy(Protocol):
    """Judges a work unit by what was counted."""

    def passes(self, counts: Counts) -> bool: ...


class ForkOperator(Protocol):
    """Says which branches a record goes to."""

    def fork(self, record: object) -> Sequence[bool]: ...


class Verdict(Enum):
    """What happens to what does not pass."""

    FAIL = "FAIL"
    """The work unit fails."""
    ERR_FILE = "ERR_FILE"
    """The record goes to the error file."""
    OPTIONAL = "OPTIONAL"
    """It is counted, and goes on."""


class Counts(msgspec.Struct):
    """What happened to the records of a work unit."""

    read: int = 0
    converted: int = 0
    failed_rows: int = 0
    written: int = 0
    bytes: int = 0


class Outcome(msgspec.Struct, frozen=True):
    """What became of a work unit. `files` are those in the folder of the job, with where they
    belong below the final folder."""

    unit: WorkUnit
    counts: Counts
    files: list[tuple[str, str]] = []
    errors: list[tuple[str, str]] = []
    watermark: dict[str, object] = {}
    fault: str | None = None
