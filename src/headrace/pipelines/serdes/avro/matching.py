"""Whether two types of a writer's and a reader's schema can meet, and who meets whom.

Pure questions about schemas; what follows from the answers is `resolution`'s business.
"""

from __future__ import annotations

from typing import Final

from headrace.pipelines.serdes.avro.schema import (
    Enum,
    Fixed,
    Node,
    Primitive,
    Record,
    Union,
    describe,
)

PROMOTIONS: Final = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}


class Unresolvable(Exception):
    """These two types do not meet; the text says where and why."""


def check_meeting(writer: Node, reader: Node, path: str) -> None:
    """Raises Unresolvable unless a value of `writer` can become one of `reader`; no unions here.

    The insides of records, arrays and maps are not compared: they are resolved when it is their
    turn. Records meet whatever their names are, as in Avro's Java library.
    """
    if not _meets(writer, reader):
        raise Unresolvable(
            f"{path or 'the value'} is written as {describe(writer)}, read as {describe(reader)}"
        )


def _meets(writer: Node, reader: Node) -> bool:
    match writer, reader:
        case Primitive(), Primitive():
            promoted = reader.type in PROMOTIONS.get(writer.type, ())
            return (writer.type == reader.type or promoted) and _same_decimal(writer, reader)
        case Fixed(), Fixed():
            same = _same_name(writer, reader) and writer.size == reader.size
            return same and _same_decimal(writer, reader)
        case Enum(), Enum():
            return _same_name(writer, reader)
        case _:
            return type(writer) is type(reader)


def _same_decimal(writer: Primitive | Fixed, reader: Primitive | Fixed) -> bool:
    """Two decimals need the same scale; one that only the reader calls so is taken at its word."""
    if writer.logical == reader.logical == "decimal":
        return writer.scale == reader.scale
    return True


def _same_name(writer: Fixed | Enum | Record, reader: Fixed | Enum | Record) -> bool:
    return _short(writer.name) == _short(reader.name) or writer.name in reader.aliases


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def choose_branch(writer: Node, reader: Union, path: str) -> Node:
    """The branch of the reader's union that takes a value of `writer`.

    The very same type comes first, then the first one that it can be promoted to, as Avro's Java
    library does it: an int is not turned into a long that happens to stand before the int.
    """
    for alike in (_identical, _similar, _meets):
        for branch in reader.branches:
            if alike(writer, branch):
                return branch
    raise Unresolvable(
        f"{path or 'the value'} is written as {describe(writer)}, "
        f"which is not a branch of the reader's {describe(reader)}"
    )


def _identical(writer: Node, reader: Node) -> bool:
    match writer, reader:
        case Primitive(), Primitive():
            return writer.type == reader.type and writer.logical == reader.logical
        case Record() | Enum() | Fixed(), Record() | Enum() | Fixed():
            return type(writer) is type(reader) and writer.name == reader.name
        case _:
            return type(writer) is type(reader)


def _similar(writer: Node, reader: Node) -> bool:
    match writer, reader:
        case Primitive(), Primitive():
            return writer.type == reader.type
        case Record() | Enum() | Fixed(), Record() | Enum() | Fixed():
            return type(writer) is type(reader) and _same_name(writer, reader)
        case _:
            return False


def matching_fields(writer: Record, reader: Record) -> dict[int, int]:
    """For each field of the writer that the reader wants: its place in the reader's record."""
    places = {each.name: index for index, each in enumerate(writer.fields)}
    found: dict[int, int] = {}
    for index, each in enumerate(reader.fields):
        for name in (each.name, *each.aliases):
            if name in places:
                found.setdefault(places[name], index)
                break
    return found


def least_bytes(node: Node, inside: tuple[Record, ...] = ()) -> int:
    """The fewest bytes that a value can have; what is recursive counts as nothing."""
    match node:
        case Primitive(type=name):
            return {"null": 0, "float": 4, "double": 8}.get(name, 1)
        case Fixed():
            return node.size
        case Union():
            return 1 + min((least_bytes(each, inside) for each in node.branches), default=0)
        case Record():
            if node in inside:
                return 0
            return sum(least_bytes(each.type, (*inside, node)) for each in node.fields)
        case _:
            return 1
