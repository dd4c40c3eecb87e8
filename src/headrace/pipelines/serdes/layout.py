"""Columns under construction: where a decoding kernel puts values, and how they become Arrow.

A kernel that is compiled once for all schemas cannot take one argument per column. It takes one
piece of memory, the *arena*, under views of several widths, and a table that says for each column
where in the arena its parts lie:

    FIELD      MEANING
    KIND       how a value is stored (below)
    VALID      first validity byte, one byte per element; -1: the column is never null
    DATA       first element, counted in the width of the kind; bytes for BYTES
    OFFSETS    first of the offsets of a BYTES or LIST column, counted in 32-bit words
    CAPACITY   room: bytes of a BYTES column, child elements of a LIST column
    END        the first column behind this one and those below it (they are numbered in preorder)

There are no counters. Every column outside lists has the row's number as its index, and the length
of everything else can be read from the offsets before the row. A kernel therefore leaves a row
half-way, on bad bytes or for want of room, and nothing has to be undone.

The module knows nothing of Avro or Protobuf.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headrace.errors import ConfigError, CorruptData

STRUCT: Final = 0
LIST: Final = 1
BYTES: Final = 2
BOOLEAN: Final = 3
INT32: Final = 4
INT64: Final = 5
FLOAT32: Final = 6
FLOAT64: Final = 7
DECIMAL: Final = 8
NOTHING: Final = 9

KIND: Final = 0
VALID: Final = 1
DATA: Final = 2
OFFSETS: Final = 3
CAPACITY: Final = 4
END: Final = 5
COLUMN_FIELDS: Final = 6

MAX_COLUMNS: Final = 10_000
MAX_ARENA_BYTES: Final = 4 << 30
"""Hostile values can ask for more memory than they have bytes; a batch gets this much at most."""
FIRST_ARENA_BYTES: Final = 256 << 20
"""Until then room is given generously: pages that are never written cost nothing."""

_WIDTHS: Final = {BOOLEAN: 1, INT32: 4, INT64: 8, FLOAT32: 4, FLOAT64: 8, DECIMAL: 16}
_ALIGNMENT: Final = 64
_LAST_OFFSET: Final = 0x7FFFFFFF


@dataclass(slots=True, eq=False)
class Column:
    """One column of the result and, for structs and lists, those below it."""

    kind: int
    type: pa.DataType
    path: str
    nullable: bool = False
    children: list[Column] = field(default_factory=list)
    index: int = 0
    end: int = 0


def number(root: Column) -> list[Column]:
    """All columns in preorder, each knowing its place."""
    columns: list[Column] = []

    def visit(column: Column) -> None:
        column.index = len(columns)
        columns.append(column)
        if len(columns) > MAX_COLUMNS:
            raise ConfigError(
                f"the schema unfolds to more than {MAX_COLUMNS} columns: read fewer fields, "
                "with a reader schema that names only those that are needed"
            )
        for child in column.children:
            visit(child)
        column.end = len(columns)

    visit(root)
    return columns


class Arena:
    """The memory of one batch: `rows` elements of the root column and whatever hangs below."""

    def __init__(self, columns: Sequence[Column], rows: int, input_bytes: int) -> None:
        self._columns = columns
        self._rows = rows
        growing = sum(column.kind in (BYTES, LIST) for column in columns)
        room = max(1024, min(input_bytes, FIRST_ARENA_BYTES // max(1, growing)))
        self._capacities = [room if column.kind in (BYTES, LIST) else 0 for column in columns]
        self._lay_out()

    def _lay_out(self) -> None:
        table = np.full((len(self._columns), COLUMN_FIELDS), -1, dtype=np.int64)
        self.table: NDArray[np.int64] = table
        size = self._place(self._columns[0], self._rows, 0)
        if size > MAX_ARENA_BYTES:
            raise CorruptData(
                f"the decoded batch of {self._rows} values needs more than "
                f"{MAX_ARENA_BYTES >> 30} GiB: lower spark.sql.execution.arrow.maxRecordsPerBatch"
            )
        self.bytes: NDArray[np.uint8] = np.empty(size, dtype=np.uint8)
        self.int32: NDArray[np.int32] = self.bytes.view(np.int32)
        self.memory = (
            self.bytes,
            self.int32,
            self.bytes.view(np.int64),
            self.bytes.view(np.float32),
            self.bytes.view(np.float64),
        )
        for entry in table:
            if entry[OFFSETS] >= 0:
                self.int32[entry[OFFSETS]] = 0

    def _place(self, column: Column, elements: int, at: int) -> int:
        """Gives a column and those below it their places from byte `at`; returns the end."""
        entry = self.table[column.index]
        entry[KIND] = column.kind
        entry[END] = column.end
        capacity = self._capacities[column.index]
        entry[CAPACITY] = capacity
        if column.nullable:
            entry[VALID] = at
            at = _aligned(at + elements)
        if column.kind in (BYTES, LIST):
            entry[OFFSETS] = at // 4
            at = _aligned(at + 4 * (elements + 1))
        if column.kind == BYTES:
            entry[DATA] = at
            at = _aligned(at + capacity)
        elif column.kind in _WIDTHS:
            width = _WIDTHS[column.kind]
            # A decimal is two 64-bit words.
            entry[DATA] = at // min(width, 8)
            at = _aligned(at + width * elements)
        below = capacity if column.kind == LIST else elements
        for child in column.children:
            at = self._place(child, below, at)
        return at

    def grow(self, index: int) -> None:
        """Doubles the room of a column; what has been written so far is kept."""
        if self._capacities[index] >= _LAST_OFFSET:
            raise CorruptData(
                f"{self._columns[index].path} holds more than 2 GiB in one batch: "
                "lower spark.sql.execution.arrow.maxRecordsPerBatch"
            )
        before, old, old_table = self._capacities[:], self.bytes, self.table
        self._capacities[index] = min(_LAST_OFFSET, 2 * before[index])
        self._lay_out()
        for column, elements in self._with_elements(before):
            for start, size, target in self._parts(column, elements, before, old_table):
                self.bytes[target : target + size] = old[start : start + size]

    def _with_elements(self, capacities: Sequence[int]) -> Iterator[tuple[Column, int]]:
        """Every column and for how many elements it had room."""
        elements = [0] * len(self._columns)
        elements[0] = self._rows
        for column in self._columns:
            yield column, elements[column.index]
            below = capacities if column.kind == LIST else elements
            for child in column.children:
                elements[child.index] = below[column.index]

    def _parts(
        self, column: Column, elements: int, capacities: Sequence[int], old: NDArray[np.int64]
    ) -> Iterator[tuple[int, int, int]]:
        """The parts of a column: byte in the old arena, size, byte in the new one."""
        was, now = old[column.index], self.table[column.index]
        if column.nullable:
            yield int(was[VALID]), elements, int(now[VALID])
        if column.kind in (BYTES, LIST):
            yield 4 * int(was[OFFSETS]), 4 * (elements + 1), 4 * int(now[OFFSETS])
        if column.kind == BYTES:
            yield int(was[DATA]), capacities[column.index], int(now[DATA])
        elif column.kind in _WIDTHS:
            width = _WIDTHS[column.kind]
            unit = min(width, 8)
            yield unit * int(was[DATA]), width * elements, unit * int(now[DATA])

    def array(self) -> pa.Array:
        """The finished root column."""
        return self._array(self._columns[0], self._rows)

    def _array(self, column: Column, length: int) -> pa.Array:
        if column.kind == NOTHING:
            return pa.nulls(length)
        entry = self.table[column.index]
        buffers: list[pa.Buffer | None] = [self._validity(entry, length)]
        below = length
        if column.kind in (BYTES, LIST):
            at = int(entry[OFFSETS])
            buffers.append(pa.py_buffer(self.int32[at : at + length + 1]))
            below = int(self.int32[at + length])
        if column.kind == BYTES:
            at = int(entry[DATA])
            buffers.append(pa.py_buffer(self.bytes[at : at + below]))
        elif column.kind == BOOLEAN:
            at = int(entry[DATA])
            buffers.append(_bitmap(self.bytes[at : at + length]))
        elif column.kind in _WIDTHS:
            width = _WIDTHS[column.kind]
            at = int(entry[DATA]) * min(width, 8)
            buffers.append(pa.py_buffer(self.bytes[at : at + width * length]))
        children = [self._array(child, below) for child in column.children]
        return pa.Array.from_buffers(column.type, length, buffers, children=children)

    def _validity(self, entry: NDArray[np.int64], length: int) -> pa.Buffer | None:
        at = int(entry[VALID])
        if at < 0:
            return None
        valid = self.bytes[at : at + length]
        return None if valid.all() else _bitmap(valid)


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _bitmap(flags: NDArray[np.uint8]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
