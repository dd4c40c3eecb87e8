"""Which rows are new: the conditions of a query, and the offset that a source keeps for them.

The offset is Confluent's: `incrementing`, `timestamp` in milliseconds and `timestamp_nanos`, the
nanoseconds within the second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headrace.pipelines.connect.connectors.jdbc.dialects.dialect import Dialect
from headrace.pipelines.connect.connectors.jdbc.tables import SqlColumn
from headrace.pipelines.connect.faults import ConnectException


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a table was read: the last row's id and its moment in microseconds."""

    incrementing: int | None = None
    micros: int | None = None

    @classmethod
    def of(cls, offset: Mapping[str, object] | None) -> Progress:
        """What an offset says."""
        given = offset or {}
        number, millis = given.get("incrementing"), given.get("timestamp")
        if millis is None:
            return cls(None if number is None else _whole("incrementing", number))
        seconds = _whole("timestamp", millis) // 1000
        nanos = given.get("timestamp_nanos")
        micros = (
            _whole("timestamp", millis) * 1000
            if nanos is None
            else seconds * 1_000_000 + _whole("timestamp_nanos", nanos) // 1000
        )
        return cls(None if number is None else _whole("incrementing", number), micros)

    @property
    def offset(self) -> dict[str, object]:
        """The offset that says this."""
        made: dict[str, object] = {}
        if self.incrementing is not None:
            made["incrementing"] = self.incrementing
        if self.micros is not None:
            made["timestamp"] = self.micros // 1000
            made["timestamp_nanos"] = self.micros % 1_000_000 * 1000
        return made


def _whole(name: str, value: object) -> int:
    if isinstance(value, int):
        return value
    raise ConnectException(f"the offset's {name} is {value!r}: it must be a whole number")


@dataclass(frozen=True, slots=True)
class Criteria:
    """The columns by which a row is known to be new; without any, every row is."""

    incrementing: SqlColumn | None = None
    timestamps: Sequence[SqlColumn] = ()

    def tail(self, dialect: Dialect, since: Progress, before_micros: int) -> str:
        """Conditions and order of a query for rows after `since`; moments before the given one."""
        number = dialect.quoted(self.incrementing.name) if self.incrementing is not None else ""
        last = -1 if since.incrementing is None else since.incrementing
        if not self.timestamps:
            return f" WHERE {number} > {last} ORDER BY {number} ASC" if number else ""
        moments = [dialect.moment(column) for column in self.timestamps]
        moment = moments[0] if len(moments) == 1 else f"COALESCE({','.join(moments)})"
        first = self.timestamps[0]
        start = dialect.moment_literal(first, since.micros or 0)
        end = dialect.moment_literal(first, before_micros)
        if not number:
            return f" WHERE {moment} > {start} AND {moment} < {end} ORDER BY {moment} ASC"
        return (
            f" WHERE {moment} < {end} AND (({moment} = {start} AND {number} > {last}) OR "
            f"{moment} > {start}) ORDER BY {moment},{number} ASC"
        )
