"""Arrays of Protobuf messages to Arrow arrays: the kernel, given room and ears for what is bad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from headrace.pipelines.serdes import layout
from headrace.pipelines.serdes.layout import Arena
from headrace.pipelines.serdes.protobuf import wire
from headrace.pipelines.serdes.protobuf.messages import Tables
from headrace.pipelines.serdes.spans import BadValue, Spans

_REASONS: Final = {
    wire.ENDS_EARLY: "the message ends before it",
    wire.NUMBER_TOO_LONG: "the number has no end within 64 bits",
    wire.BAD_TAG: "there is no such field number or wire type",
    wire.NOT_UTF8: "the bytes are not UTF-8",
    wire.TOO_DEEP: f"messages are nested more than {wire.MAX_DEPTH} levels deep",
    wire.WRONG_END_OF_GROUP: "a group ends that did not begin",
    wire.OUT_OF_RANGE: "the time is out of Spark's range",
    wire.MISSING_REQUIRED: "it is required and the message lacks it",
}


class Decoder:
    """Decodes values of one message into its columns."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.type: pa.DataType = tables.columns[0].type

    def decode(self, spans: Spans, on_bad: Callable[[BadValue], None]) -> pa.Array:
        """The values of `spans`; one that cannot be decoded is reported and becomes null."""
        # numba takes most of a second to import: who only plans a query must not wait for it.
        from headrace.pipelines.serdes.kernels import null_row
        from headrace.pipelines.serdes.protobuf.decode_kernel import (
            FRAME_FIELDS,
            MAX_FRAMES,
            decode_rows,
        )

        known = self._tables
        tables = (known.messages, known.fields, known.oneofs, known.symbols, known.pool)
        data, constants = spans.data, len(spans.data)
        if (known.messages[:, wire.DEFAULTS] < known.messages[:, wire.DEFAULTS_END]).any():
            data = np.concatenate([data, known.pool])
        # numba takes read-only and writable memory for two types; the input is read-only always.
        data.flags.writeable = False
        arena = Arena(known.columns, len(spans.rows), spans.total_bytes)
        stack = np.empty((MAX_FRAMES, FRAME_FIELDS), dtype=np.int64)
        row = 0
        while True:
            reason, row, field, position = decode_rows(
                tables, arena.table, arena.memory, data, constants, spans.rows, row, stack
            )
            if reason == wire.DONE:
                return arena.array()
            if reason == wire.NO_ROOM:
                self._grow(arena, field)
                continue
            path, expected = known.places[field] if field >= 0 else ("", "a field")
            start = int(spans.rows[row, 0])
            on_bad(BadValue(row, position - start, path, expected, _REASONS[reason]))
            null_row(arena.table, arena.memory, row)
            row += 1

    def _grow(self, arena: Arena, field: int) -> None:
        """The list of a repeated field or the bytes of its elements: either may be full."""
        entry = self._tables.fields[field]
        for index in (int(entry[wire.LIST]), int(entry[wire.COLUMN])):
            if index >= 0 and self._tables.columns[index].kind in (layout.LIST, layout.BYTES):
                arena.grow(index)
