"""What the decoding kernel can be told to do.

A program is a table of instructions, one row each:

    FIELD    MEANING
    OP       what to do (below)
    COLUMN   where the value goes, an index into the table of columns
    A, B     operands

The kernel keeps a program counter, a position in the bytes, the index of the element that it fills,
and a stack of what it will come back to.
"""

from __future__ import annotations

from typing import Final

OP: Final = 0
COLUMN: Final = 1
A: Final = 2
B: Final = 3
INSTRUCTION_FIELDS: Final = 4

# Numbers that are written as zigzag varints, of the writer's type into a column of the reader's.
INT_TO_INT32: Final = 0
INT_TO_INT64: Final = 1
INT_TO_FLOAT32: Final = 2
INT_TO_FLOAT64: Final = 3
LONG_TO_INT64: Final = 4  # A: multiplier
LONG_TO_FLOAT32: Final = 5
LONG_TO_FLOAT64: Final = 6
LONG_TO_TIME: Final = 7  # microseconds of a day to nanoseconds
LAST_OF_INTS: Final = INT_TO_FLOAT64
LAST_VARINT: Final = LONG_TO_TIME

# Other values.
TEXT: Final = 8
OPAQUE: Final = 9
FIXED: Final = 10  # A: size
ENUM: Final = 11  # A: first entry in the symbols, B: number of symbols
LAST_OF_BYTES: Final = ENUM
BOOLEAN: Final = 12
FLOAT_TO_FLOAT32: Final = 13
FLOAT_TO_FLOAT64: Final = 14
DOUBLE_TO_FLOAT64: Final = 15
DECIMAL: Final = 16  # A: size of the fixed, or -1: counted bytes; B: its entry in the decimals
LAST_VALUE: Final = DECIMAL

# Values that the reader does not want.
SKIP_INT: Final = 17
SKIP_LONG: Final = 18
SKIP_BYTES: Final = 19
SKIP_FIXED: Final = 20  # A: size
SKIP_BOOLEAN: Final = 21
LAST_SKIP: Final = SKIP_BOOLEAN

# Structure.
STRUCT: Final = 22
NULLS: Final = 23  # the column and all below it
UNION: Final = 24  # A: first entry in the jumps, B: number of branches
JUMP: Final = 25  # A: where to
CALL: Final = 26  # A: where to
RETURN: Final = 27

# Arrays and maps. NEXT stands behind the instructions of an item.
LIST: Final = 28  # A: its NEXT
NEXT: Final = 29  # A: first instruction of an item, B: fewest bytes that an item can have
SKIP_LIST: Final = 30
SKIP_NEXT: Final = 31

# Values that the writer did not have: bytes A … B of the pool are read instead, then read on.
DEFAULT: Final = 32
RESUME: Final = 33

FAIL: Final = 34  # a branch that the reader has no place for
END: Final = 35

# A value that goes to several columns: it is read as often, each time from where it begins.
MARK: Final = 36
AGAIN: Final = 37  # A: 1 for the last time

# What the kernel answers.
DONE: Final = 0
NO_ROOM: Final = 1
ENDS_EARLY: Final = 2
NUMBER_TOO_LONG: Final = 3
OUT_OF_RANGE: Final = 4
NEGATIVE_LENGTH: Final = 5
NOT_UTF8: Final = 6
NO_SUCH_BRANCH: Final = 7
NO_SUCH_SYMBOL: Final = 8
SYMBOL_UNKNOWN_TO_READER: Final = 9
TOO_MANY_ITEMS: Final = 10
TOO_DEEP: Final = 11
DECIMAL_TOO_LARGE: Final = 12
UNRESOLVED: Final = 13
BYTES_LEFT: Final = 14
NOT_A_BOOLEAN: Final = 15
NOT_EXACT: Final = 16

# An entry of the decimals. The bound is for the number as it is read if digits are appended, and
# for the result if digits are dropped.
SHIFT: Final = 0  # digits that are appended to the number; if it is negative, dropped
BOUND_HIGH: Final = 1
BOUND_LOW: Final = 2
DECIMAL_FIELDS: Final = 3
MAX_DECIMAL_BITS: Final = 127
"""Of the magnitude, as it is read."""

MICROS_OF_A_DAY: Final = 86_400_000_000
MAX_DEPTH: Final = 512
FRAME_FIELDS: Final = 2
MAX_EMPTY_ITEMS: Final = 65_536
"""Items of no bytes (nulls, empty records) that one value may claim to have."""
