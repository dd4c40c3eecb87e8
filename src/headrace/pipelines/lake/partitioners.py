"""Which folder each row belongs to: by its partition, by fields of its value, by a time.

A partitioner works on whole columns and makes text only of values that differ. Rows that have no
folder (a field that is not there, a time that cannot be read) are refused by their number.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace.java.date_format import DateFormat, InvalidDateFormat
from headrace.pipelines.lake.layout import escaped, folder_name
from headrace.pipelines.lake.rows import Rows
from headrace.pipelines.lake.times import Extractor, Times, Wallclock

MOST_NAME_BYTES: Final = 255
"""What Linux's file systems and HDFS, unless it is told otherwise, let a name have."""
DAY_MS: Final = 86_400_000
HOUR_MS: Final = 3_600_000
DAILY: Final = "'year'=YYYY/'month'=MM/'day'=dd"
HOURLY: Final = DAILY + "/'hour'=HH"
_UNSUPPORTED: Final = "CxwF"
_MINUTE_MS: Final = 60_000
# Dates are of the years 1 to 9999, in every time zone.
_FIRST_MS: Final = -62_135_596_800_000 + DAY_MS
_LAST_MS: Final = 253_402_300_800_000 - DAY_MS


@dataclass(frozen=True, slots=True)
class Placed:
    """Row n belongs to `folders[codes[n]]`, unless it is refused. `times` are what the rows were
    placed by, if that was a time of theirs."""

    folders: list[str]
    codes: npt.NDArray[np.int64]
    refused: Mapping[int, str] = field(default_factory=dict)
    times: pa.Int64Array | None = None


class Partitioner(Protocol):
    """`deterministic` says that a row belongs to the same folder whenever it is written."""

    deterministic: bool

    def place(self, rows: Rows, now_ms: int) -> Placed:
        """The folders of rows."""


class DefaultPartitioner:
    """A folder for each partition of the topic."""

    deterministic = True

    def place(self, rows: Rows, now_ms: int) -> Placed:
        return Placed([f"partition={rows.partition}"], np.zeros(len(rows), np.int64))


class FieldPartitioner:
    """Folders of the values of fields, `field=value`, one inside the other. `most_bytes` is how
    long the name of a folder may be where they are: rows of longer ones are refused."""

    deterministic = True

    def __init__(self, names: list[str], *, most_bytes: int = MOST_NAME_BYTES) -> None:
        assert names, "a field at least"
        self._names = names
        self._most_bytes = most_bytes

    def place(self, rows: Rows, now_ms: int) -> Placed:
        folders: list[str] = [""]
        refused: dict[int, str] = {}
        codes = np.zeros(len(rows), np.int64)
        for name in self._names:
            values = rows.column(name)
            reason = _no_folder(name, values)
            if reason is not None:
                return Placed([], codes, dict.fromkeys(range(len(rows)), reason))
            assert values is not None
            known = values.cast(pa.string()).dictionary_encode(null_encoding="encode")
            parts = [folder_name(name, text) for text in known.dictionary.to_pylist()]
            of_rows = np.asarray(known.indices, np.int64)
            refused = self._too_long(name, parts, of_rows) | refused
            codes = codes * len(parts) + of_rows
            folders = [f"{folder}/{part}" for folder in folders for part in parts]
            used, codes = np.unique(codes, return_inverse=True)
            folders = [folders[place] for place in used.tolist()]
        return Placed([folder.lstrip("/") for folder in folders], codes, refused)

    def _too_long(
        self, name: str, parts: list[str], of_rows: npt.NDArray[np.int64]
    ) -> dict[int, str]:
        """The rows whose folder no file system could create."""
        sizes = np.fromiter((len(part.encode()) for part in parts), np.int64, len(parts))
        return {
            row: f"the folder of its field {name} would have a name of {sizes[of_rows[row]]} "
            f"bytes, and at most {self._most_bytes} can be: leave the record out or shorten the "
            "field by a transform, or take another field for partition.field.name"
            for row in np.flatnonzero((sizes > self._most_bytes)[of_rows]).tolist()
        }


def _no_folder(name: str, values: pa.Array | None) -> str | None:
    if values is None:
        return f"the value has no field {name}, which partition.field.name asks for"
    kind = values.type
    fits = (
        pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_date(kind)
    )
    told = f"field {name} is a {kind}: folders are named by integers, booleans, strings and dates"
    return None if fits else told


class TimePartitioner:
    """Folders by a time: `duration_ms` is how much of it one folder has, `pattern` its name.

    The letters are those of Joda-Time, in which `Y` is the year of the era.
    """

    def __init__(
        self,
        pattern: str,
        duration_ms: int,
        *,
        timezone: datetime.tzinfo = datetime.UTC,
        extractor: Extractor | None = None,
    ) -> None:
        self._format = DateFormat(_of_java(pattern))
        self._duration_ms = duration_ms
        self._timezone = timezone
        self._extractor = extractor or Wallclock()
        self.deterministic = not isinstance(self._extractor, Wallclock)

    def place(self, rows: Rows, now_ms: int) -> Placed:
        if isinstance(self._extractor, Wallclock):
            return Placed([self._folder(self._local(now_ms))], np.zeros(len(rows), np.int64))
        found = _of_a_calendar(self._extractor.times(rows))
        times = np.asarray(pc.fill_null(found.times, 0), np.int64)
        minutes, of_minute = np.unique(times // _MINUTE_MS, return_inverse=True)
        shifts = [self._local(minute * _MINUTE_MS) - minute * _MINUTE_MS for minute in minutes]
        local = times + np.array(shifts, np.int64)[of_minute] if len(shifts) else times
        starts, codes = np.unique(local // self._duration_ms, return_inverse=True)
        folders = [self._folder(int(start) * self._duration_ms) for start in starts]
        return Placed(folders, codes, found.refused, found.times)

    def _local(self, epoch_ms: int) -> int:
        """The moment as the clocks of the time zone show it."""
        if self._timezone is datetime.UTC:
            return int(epoch_ms)
        moment = datetime.datetime.fromtimestamp(int(epoch_ms) / 1000, self._timezone)
        offset = moment.utcoffset() or datetime.timedelta()
        return int(epoch_ms) + int(offset.total_seconds() * 1000)

    def _folder(self, local_ms: int) -> str:
        text = self._format.text(local_ms // self._duration_ms * self._duration_ms)
        parts = (part.partition("=") for part in text.split("/"))
        return "/".join(f"{escaped(name)}{equals}{escaped(value)}" for name, equals, value in parts)


def _of_a_calendar(found: Times) -> Times:
    """Without moments that have no date, as those that were not meant in milliseconds."""
    known = pc.fill_null(found.times, 0)
    odd = pc.or_(pc.less(known, _FIRST_MS), pc.greater(known, _LAST_MS))
    if not odd.true_count:
        return found
    refused = {
        row: f"its time, {known[row].as_py()} ms since 1970, is in no year of a calendar"
        for row in pc.indices_nonzero(odd).to_pylist()
    }
    times = pc.if_else(odd, pa.scalar(None, pa.int64()), found.times)
    return Times(times, {**found.refused, **refused})


def _of_java(pattern: str) -> str:
    """Joda-Time's letters as those of SimpleDateFormat."""
    made, quoted = "", False
    for char in pattern:
        quoted ^= char == "'"
        if not quoted and char in _UNSUPPORTED:
            raise InvalidDateFormat(
                f"path.format cannot have the letter {char}: write dates as {DAILY}"
            )
        made += char if quoted else {"Y": "y", "e": "u"}.get(char, char)
    return made
