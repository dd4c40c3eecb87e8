"""Protobuf's wire format as the kernels speak of it.

    BYTES            MEANING
    varint           tag: field number << 3 | wire type
    …                by wire type: 0 varint, 1 eight bytes, 2 varint length and as many bytes,
                     3 a group until its 4, 5 four bytes

    TABLE     FIELDS
    messages  FIRST, COUNT: its run of fields; DEFAULTS, DEFAULTS_END: a message in the pool that
              is read first wherever this one begins; REQUIRED: whether any field is
    fields    NUMBER, TYPE (below), COLUMN, LIST: the list column of a repeated field or -1,
              MESSAGE: of a message, its row, of an enum, its first symbol; MORE: of an enum, how
              many symbols; FLAGS; ONEOF, ONEOF_END: its rows of the table of oneofs
    oneofs    columns of the members of each oneof
    symbols   number, start and length of the name in the pool, sorted by number

`messages` fills the tables; the kernels read them.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from google.protobuf.descriptor import FieldDescriptor as F

_PACKED: Final = {
    F.TYPE_DOUBLE: Struct("<d"),
    F.TYPE_FLOAT: Struct("<f"),
    F.TYPE_FIXED64: Struct("<Q"),
    F.TYPE_SFIXED64: Struct("<q"),
    F.TYPE_FIXED32: Struct("<I"),
    F.TYPE_SFIXED32: Struct("<i"),
}

FIRST: Final = 0
COUNT: Final = 1
DEFAULTS: Final = 2
DEFAULTS_END: Final = 3
REQUIRED: Final = 4
MESSAGE_FIELDS: Final = 5

NUMBER: Final = 0
TYPE: Final = 1
COLUMN: Final = 2
LIST: Final = 3
MESSAGE: Final = 4
MORE: Final = 5
FLAGS: Final = 6
ONEOF: Final = 7
ONEOF_END: Final = 8
FIELD_FIELDS: Final = 9

# Types, by what is on the wire and what becomes of it.
INT32: Final = 0
INT64: Final = 1
SINT32: Final = 2
SINT64: Final = 3
BOOL: Final = 4
UINT32_AS_INT64: Final = 5
UINT64_AS_DECIMAL: Final = 6
ENUM: Final = 7
LAST_VARINT: Final = ENUM
FIXED32: Final = 8
FLOAT: Final = 9
FIXED64: Final = 10
DOUBLE: Final = 11
LAST_FIXED: Final = DOUBLE
STRING: Final = 12
BYTES: Final = 13
MOMENT: Final = 14
MESSAGE_TYPE: Final = 15
GROUP: Final = 16
UNWRAPPED: Final = 17

# Flags.
ZERO_IS_ABSENT: Final = 1
IS_REQUIRED: Final = 2
IS_OPEN: Final = 4

# Wire types.
VARINT: Final = 0
EIGHT_BYTES: Final = 1
COUNTED: Final = 2
START_GROUP: Final = 3
END_GROUP: Final = 4
FOUR_BYTES: Final = 5

# What the kernel answers; the first four are those of all kernels.
DONE: Final = 0
NO_ROOM: Final = 1
ENDS_EARLY: Final = 2
NUMBER_TOO_LONG: Final = 3
BAD_TAG: Final = 4
NOT_UTF8: Final = 5
TOO_DEEP: Final = 6
WRONG_END_OF_GROUP: Final = 7
OUT_OF_RANGE: Final = 8
MISSING_REQUIRED: Final = 9

MAX_DEPTH: Final = 100
"""Of messages within messages, as in Google's own libraries."""


def varint(value: int) -> bytes:
    rest = value & (1 << 64) - 1
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def tag(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


def encode_scalar(number: int, kind: int, value: int | float | str | bytes) -> bytes:
    """A field of the type `kind` with its tag, also where a serializer would leave out a zero."""
    match value:
        case str() | bytes():
            raw = value.encode() if isinstance(value, str) else value
            return tag(number, COUNTED) + varint(len(raw)) + raw
        case _ if kind in _PACKED:
            wire_type = FOUR_BYTES if _PACKED[kind].size == 4 else EIGHT_BYTES
            return tag(number, wire_type) + _PACKED[kind].pack(value)
        case _:
            number_value = int(value)
            if kind in (F.TYPE_SINT32, F.TYPE_SINT64):
                number_value = (number_value << 1) ^ (number_value >> 63)
            return tag(number, VARINT) + varint(number_value)
