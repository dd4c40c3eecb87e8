"""What is written: rows of one partition of a topic, as a column with their offsets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class Rows:
    """Values in the order of their offsets. `times` are epoch milliseconds.

    `avro` is the schema under which an Avro file holds the values; without it, it follows from
    the Arrow type. Rows with different types or schemas are in different files. `fields` are
    structs for partitioners to read where the values themselves are text.
    """

    topic: str
    partition: int
    values: pa.Array
    offsets: pa.Int64Array
    times: pa.Int64Array | None = None
    avro: str | None = None
    fields: pa.Array | None = None

    def __post_init__(self) -> None:
        assert len(self.values) == len(self.offsets), (len(self.values), len(self.offsets))
        for column in (self.times, self.fields):
            assert column is None or len(column) == len(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def first(self) -> int:
        """The offset of the first row."""
        return int(self.offsets[0].as_py())

    @property
    def last(self) -> int:
        """The offset of the last row."""
        return int(self.offsets[-1].as_py())

    @property
    def shape(self) -> tuple[pa.DataType, str | None]:
        """What rows of one file have in common."""
        return self.values.type, self.avro

    def slice(self, start: int, stop: int) -> Rows:
        """Rows `start` to `stop`."""
        return self._each(lambda column: column.slice(start, stop - start))

    def take(self, numbers: pa.Array) -> Rows:
        """The rows of these numbers, which ascend."""
        return self._each(lambda column: column.take(numbers))

    def column(self, path: str) -> pa.Array | None:
        """A field of the values, `a.b` for one inside of another; None if there is none."""
        found = self.values if self.fields is None else self.fields
        for name in [path] if _has(found.type, path) else path.split("."):
            if not _has(found.type, name):
                return None
            found = pc.struct_field(found, name)
        return found

    def _each(self, change: Callable[[pa.Array], pa.Array]) -> Rows:
        return replace(
            self,
            values=change(self.values),
            offsets=change(self.offsets),
            times=None if self.times is None else change(self.times),
            fields=None if self.fields is None else change(self.fields),
        )


def _has(kind: pa.DataType, name: str) -> bool:
    return bool(pa.types.is_struct(kind)) and int(kind.get_field_index(name)) >= 0
