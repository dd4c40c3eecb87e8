"""Arrays of Avro values to Arrow arrays: the kernel, given room and a memory for what was bad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from headrace.pipelines.serdes.avro import opcodes as op
from headrace.pipelines.serdes.avro.program import Program
from headrace.pipelines.serdes.layout import Arena
from headrace.pipelines.serdes.spans import BadValue, Spans

REASONS: Final = {
    op.ENDS_EARLY: "the value ends before it",
    op.NUMBER_TOO_LONG: "the number has no end within 64 bits",
    op.OUT_OF_RANGE: "the number is out of its range",
    op.NEGATIVE_LENGTH: "the length is negative",
    op.NOT_UTF8: "the bytes are not UTF-8",
    op.NO_SUCH_BRANCH: "the union has no such branch",
    op.NO_SUCH_SYMBOL: "the enum has no such symbol",
    op.SYMBOL_UNKNOWN_TO_READER: "the symbol is unknown to the reader's enum, which has no default",
    op.TOO_MANY_ITEMS: "it claims more items than its bytes can hold",
    op.TOO_DEEP: f"it is nested more than {op.MAX_DEPTH} levels deep",
    op.DECIMAL_TOO_LARGE: "the number has more digits than its precision",
    op.BYTES_LEFT: "more bytes follow",
    op.NOT_A_BOOLEAN: "the byte is neither 0 nor 1",
    op.NOT_EXACT: "the number has digits beyond the reader's scale",
}


class Decoder:
    """Decodes values of one writer's schema into the columns of one reader's."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.type: pa.DataType = program.columns[0].type

    def decode(self, spans: Spans, on_bad: Callable[[BadValue], None]) -> pa.Array:
        """The values of `spans`; one that cannot be decoded is reported and becomes null."""
        # numba takes most of a second to import: who only plans a query must not wait for it.
        from headrace.pipelines.serdes.avro.decode_kernel import decode_rows
        from headrace.pipelines.serdes.kernels import null_row

        program = self.program
        tables = (program.jumps, program.symbols, program.decimals, program.pool)
        data, constants = spans.data, len(spans.data)
        if (program.instructions[:, op.OP] == op.DEFAULT).any():
            data = np.concatenate([data, program.pool])
        # numba takes read-only and writable memory for two types; the input is read-only always.
        data.flags.writeable = False
        arena = Arena(program.columns, len(spans.rows), spans.total_bytes)
        stack = np.empty((op.MAX_DEPTH, op.FRAME_FIELDS), dtype=np.int64)
        row = 0
        while True:
            reason, row, counter, position = decode_rows(
                program.instructions,
                tables,
                arena.table,
                arena.memory,
                data,
                constants,
                spans.rows,
                row,
                stack,
            )
            if reason == op.DONE:
                return arena.array()
            if reason == op.NO_ROOM:
                arena.grow(int(program.instructions[counter, op.COLUMN]))
                continue
            on_bad(self._explain(reason, row, counter, position - int(spans.rows[row, 0])))
            null_row(arena.table, arena.memory, row)
            row += 1

    def _explain(self, reason: int, row: int, counter: int, position: int) -> BadValue:
        path, expected = self.program.places[counter]
        if reason == op.UNRESOLVED:
            return BadValue(row, position, path, "a branch that the reader knows", expected)
        return BadValue(row, position, path, expected, REASONS[reason])
