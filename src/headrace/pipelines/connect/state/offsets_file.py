"""The offsets of a standalone worker, in the file that `offset.storage.file.filename` names.

It is a serialised java.util.HashMap of byte arrays, in Java's Object Serialization Stream Protocol:

    AC ED 00 05                      magic and version
    73 72 name id 03 fields 78 70    an object of class HashMap, which writes itself
    3F 40 00 00  int32               load factor, threshold
    77 08 int32 int32                buckets, entries
    key value …                      byte arrays: 75, their class, int32 length, bytes; or 70, null
    78                               the end

The class of an array is written out once and referred to by its handle later (71 00 7E 00 02).
Nothing but this map is read: a file that holds anything else is rejected.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct, error
from typing import Final

from headrace.pipelines.connect.faults import ConnectException

_HEAD: Final = (
    b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap\x05\x07\xda\xc1\xc3\x16\x60\xd1\x03"
    b"\x00\x02F\x00\nloadFactorI\x00\tthresholdxp"
)
_ARRAY_CLASS: Final = b"r\x00\x02[B\xac\xf3\x17\xf8\x06\x08T\xe0\x02\x00\x00xp"
_ARRAY_HANDLE: Final = b"q\x00\x7e\x00\x02"
_FIRST_ARRAY: Final = 0x7E0003

_ARRAY: Final = ord("u")
_NULL: Final = ord("p")
_REFERENCE: Final = ord("q")
_BLOCK: Final = b"w\x08"
_END: Final = b"x"

_INT: Final = Struct(">i")
_FIELDS: Final = Struct(">fi2sii")
_LOAD_FACTOR: Final = 0.75
_LEAST_BUCKETS: Final = 16


def encode(entries: Mapping[bytes, bytes | None]) -> bytes:
    """The file that holds these entries."""
    buckets = _LEAST_BUCKETS
    while len(entries) > buckets * _LOAD_FACTOR:
        buckets *= 2
    threshold = int(buckets * _LOAD_FACTOR) if entries else 0
    made = [_HEAD, _FIELDS.pack(_LOAD_FACTOR, threshold, _BLOCK, buckets, len(entries))]
    described = _ARRAY_CLASS
    for pair in entries.items():
        for part in pair:
            if part is None:
                made.append(bytes([_NULL]))
            else:
                made += [bytes([_ARRAY]), described, _INT.pack(len(part)), part]
                described = _ARRAY_HANDLE
    return b"".join([*made, _END])


def decode(data: bytes) -> dict[bytes, bytes | None]:
    """The entries of a file; ConnectException if it is no such file. An empty file has none."""
    if not data:
        return {}
    if not data.startswith(_HEAD):
        raise _damaged("it does not begin as a serialised HashMap")
    try:
        return _Reader(data, len(_HEAD)).entries()
    except (error, IndexError):
        raise _damaged("it ends too early") from None


def _damaged(reason: str) -> ConnectException:
    return ConnectException(
        f"the file of offsets cannot be read: {reason}. Give offset.storage.file.filename another "
        "name, or delete the file to have the sources read from the beginning"
    )


class _Reader:
    def __init__(self, data: bytes, position: int) -> None:
        self._data = data
        self._position = position
        self._arrays: list[bytes] = []

    def entries(self) -> dict[bytes, bytes | None]:
        _, _, block, _, count = _FIELDS.unpack_from(self._data, self._position)
        self._position += _FIELDS.size
        if block != _BLOCK or count < 0:
            raise _damaged("its number of entries is missing")
        read: dict[bytes, bytes | None] = {}
        for _ in range(count):
            key, value = self._part(), self._part()
            if key is None:
                raise _damaged("a key is null")
            read[key] = value
        if self._data[self._position :] != _END:
            raise _damaged("more follows the last entry")
        return read

    def _part(self) -> bytes | None:
        kind = self._data[self._position]
        self._position += 1
        if kind == _NULL:
            return None
        if kind == _REFERENCE:
            return self._referred(self._int())
        if kind != _ARRAY:
            raise _damaged(f"an entry is of kind {kind:#x}, no array of bytes")
        described = _ARRAY_HANDLE if self._arrays else _ARRAY_CLASS
        if not self._data.startswith(described, self._position):
            raise _damaged("an entry is an array of something else than bytes")
        self._position += len(described)
        length = self._int()
        part = self._data[self._position : self._position + length]
        if length < 0 or len(part) < length:
            raise _damaged("an array has no end")
        self._position += length
        self._arrays.append(part)
        return part

    def _referred(self, handle: int) -> bytes:
        place = handle - _FIRST_ARRAY
        if not 0 <= place < len(self._arrays):
            raise _damaged(f"it refers to {handle:#x}, which it does not have")
        return self._arrays[place]

    def _int(self) -> int:
        (read,) = _INT.unpack_from(self._data, self._position)
        self._position += _INT.size
        return int(read)
