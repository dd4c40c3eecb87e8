"""The pieces that compiled code calls where a plain expression is not enough.

Everything here is off the usual path: long varints, tag buffers that are not empty, refusals.
The compiled functions turn the exceptions named below into `MalformedMessage` and
`UnencodableMessage`; nothing in this module knows which message it serves.

    FORM        BYTES
    uvarint     1-5, seven bits each, least significant first, high bit set on all but the last
    tag buffer  uvarint count, then per tag: uvarint tag, uvarint size, size bytes; tags ascend
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any, Final, NoReturn
from uuid import UUID

DECODE_FAULTS: Final = (ValueError, IndexError, struct.error)
ENCODE_FAULTS: Final = (ValueError, TypeError, AttributeError, IndexError, struct.error)

MAX_STRING_BYTES: Final = 0x7FFF
MAX_REQUEST_ITEMS: Final = 100_000
MAX_HEADER_TAGS: Final = 1_000

# A UUID object costs ten times as much as this look-up, and a broker sees few topic ids.
uuid_of = lru_cache(maxsize=4096)(lambda raw: UUID(bytes=raw))

ONE_BYTE: Final = tuple(bytes((n,)) for n in range(128))


def uvarint(value: int) -> bytes:
    """The varint of a number below 2**35 that is not negative."""
    if value < 0x80:
        return ONE_BYTE[value]
    # Spelled out, because the lengths of record batches pass here for every partition of a fetch.
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    if value < 0x20_0000:
        return bytes((value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14))
    low = (value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14 & 0x7F | 0x80)
    if value < 0x1000_0000:
        return bytes((*low, value >> 21))
    return bytes((*low, value >> 21 & 0x7F | 0x80, value >> 28))


def text_length(value: int) -> bytes:
    """The varint of a string's length + 1, for strings that are not short."""
    if value > MAX_STRING_BYTES + 1:
        raise ValueError(f"a string of {value - 1} bytes; {MAX_STRING_BYTES} are allowed")
    return uvarint(value)


def uvarint_tail(buf: bytes | bytearray, pos: int, first: int) -> tuple[int, int]:
    """Finish a varint whose first byte, already read, announced more; value and new position."""
    value, shift = first & 0x7F, 7
    while True:
        byte = buf[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 128:
            return value, pos
        shift += 7
        if shift > 28:
            raise ValueError("a varint of more than five bytes")


def text_tail(buf: bytes | bytearray, pos: int, first: int) -> tuple[int, int]:
    """Finish the varint of a string's length + 1."""
    value, pos = uvarint_tail(buf, pos, first)
    if value > MAX_STRING_BYTES + 1:
        raise ValueError(f"a string of {value - 1} bytes; {MAX_STRING_BYTES} are allowed")
    return value, pos


def read_uvarint(buf: bytes | bytearray, pos: int) -> tuple[int, int]:
    """A whole varint; value and new position."""
    first = buf[pos]
    return (first, pos + 1) if first < 128 else uvarint_tail(buf, pos + 1, first)


def read_tag(buf: bytes | bytearray, pos: int) -> tuple[int, int, int]:
    """The head of one tagged field: tag, position of its content, position after it."""
    tag, pos = read_uvarint(buf, pos)
    size, pos = read_uvarint(buf, pos)
    return tag, pos, pos + size


def keep_tag(msg: Any, tag: int, content: bytes | bytearray) -> None:
    """Keep a tagged field that nobody here knows, to be sent on."""
    if msg.unknown_tags is None:
        msg.unknown_tags = {}
    msg.unknown_tags[tag] = bytes(content)


def keep_tags(msg: Any, count: int, buf: bytes | bytearray, pos: int) -> int:
    """Keep all tagged fields of a struct that declares none; the position after them."""
    for _ in range(count):
        tag, pos, end = read_tag(buf, pos)
        keep_tag(msg, tag, buf[pos:end])
        pos = end
    return pos


def skip_tags(buf: bytes | bytearray, pos: int) -> int:
    """The position after a tag buffer whose content does not matter."""
    count, pos = read_uvarint(buf, pos)
    if count > MAX_HEADER_TAGS:
        raise ValueError(f"{count} tagged fields; {MAX_HEADER_TAGS} are allowed here")
    for _ in range(count):
        _, _, pos = read_tag(buf, pos)
    return pos


def tag_buffer(known: dict[int, bytes], unknown: dict[int, bytes] | None) -> bytes:
    """A whole tag buffer; a known field wins over an unknown one that claims its tag."""
    fields = {**unknown, **known} if unknown else known
    out = [uvarint(len(fields))]
    for tag in sorted(fields):
        content = fields[tag]
        out += (uvarint(tag), uvarint(len(content)), content)
    return b"".join(out)


def refuse_null(field: str) -> NoReturn:
    raise ValueError(f"{field} is null or has a negative length")


def refuse_length(field: str, length: int) -> NoReturn:
    raise ValueError(f"{field} has length {length}")


def refuse_count(field: str, count: int, left: int) -> NoReturn:
    raise ValueError(f"{field} announces {count} items, but only {left} bytes are left")


def refuse_items() -> NoReturn:
    raise ValueError(f"it holds more than {MAX_REQUEST_ITEMS} items; split the request")


def refuse_tag_size(field: str, read: int, announced: int) -> NoReturn:
    raise ValueError(f"tagged field {field} ends at byte {read}, announced was {announced}")


def refuse_absent(field: str) -> NoReturn:
    raise ValueError(f"this version has no field {field}; leave it at its default")
