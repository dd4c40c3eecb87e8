"""The wire types of Kafka's protocol, as annotations that both mypy and the compiler understand.

A message says `fetch_offset: Int64`: to a type checker that is an `int`, to the compiler it is
eight bytes. `str` and `bytes` stand for themselves. Nothing here knows about versions: whether a
length is a varint or a fixed integer is decided per message version in `schema` and the compilers.

    TYPE       SIZE  ENCODING
    Int8          1  two's complement
    Int16         2  big-endian, two's complement
    UInt16        2  big-endian
    Int32         4  big-endian, two's complement
    UInt32        4  big-endian
    Int64         8  big-endian, two's complement
    Float64       8  big-endian, IEEE 754
    Bool          1  0 is false, everything else is true; written as 1
    Uuid         16  big-endian, all zero means "no id"
    str        2+n   int16 length, UTF-8           flexible: uvarint of length + 1, UTF-8
    bytes      4+n   int32 length, bytes           flexible: uvarint of length + 1, bytes
    Records    4+n   as bytes; read as a view of the frame, written as a chunk of its own
    list[T]    4+n   int32 count, items            flexible: uvarint of count + 1, items

A null is length -1, or 0 in flexible versions. A nullable struct is led by an int8: -1 is null, or
0 where the struct is a tagged field; 1 announces the struct.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias, TypeVar
from uuid import UUID

T = TypeVar("T")


class Kept(list[T]):
    """Items that do not change any more: they are encoded once for each version."""

    __slots__ = ("encoded",)

    def __init__(self, items: list[T]) -> None:
        super().__init__(items)
        self.encoded: dict[int, bytes] = {}


class Fixed:
    """A value of constant size; `code` is its letter in a `struct` format."""

    __slots__ = ("code", "name", "size")

    def __init__(self, name: str, code: str, size: int) -> None:
        self.name = name
        self.code = code
        self.size = size

    def __repr__(self) -> str:
        return self.name


class Text:
    """A string in UTF-8 behind its length."""

    __slots__ = ()
    name: Final = "string"

    def __repr__(self) -> str:
        return self.name


class Blob:
    """Bytes behind their length: copied (`bytes`), or never copied (`records`)."""

    __slots__ = ("is_view", "name")

    def __init__(self, name: str, *, is_view: bool) -> None:
        self.name = name
        self.is_view = is_view

    def __repr__(self) -> str:
        return self.name


Kind: TypeAlias = Fixed | Text | Blob | type
"""What one item on the wire is; a `type` is a class declared with `@struct`."""

UUID_KIND: Final = Fixed("uuid", "16s", 16)
TEXT: Final = Text()
BYTES: Final = Blob("bytes", is_view=False)

Int8: TypeAlias = Annotated[int, Fixed("int8", "b", 1)]
Int16: TypeAlias = Annotated[int, Fixed("int16", "h", 2)]
UInt16: TypeAlias = Annotated[int, Fixed("uint16", "H", 2)]
Int32: TypeAlias = Annotated[int, Fixed("int32", "i", 4)]
UInt32: TypeAlias = Annotated[int, Fixed("uint32", "I", 4)]
Int64: TypeAlias = Annotated[int, Fixed("int64", "q", 8)]
Float64: TypeAlias = Annotated[float, Fixed("float64", "d", 8)]
Bool: TypeAlias = Annotated[bool, Fixed("bool", "?", 1)]
Uuid: TypeAlias = Annotated[UUID, UUID_KIND]
Records: TypeAlias = Annotated[memoryview, Blob("records", is_view=True)]
