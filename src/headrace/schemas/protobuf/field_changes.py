"""One field of a message, before and after: its name, type and label.

Types are compared by what they look like on the wire. Protobuf's documentation puts the scalars
into groups that can be read as each other, enums among the plain integers; numbers may be cut, as
by a cast. A repeated field of numbers is packed into one value, so it cannot become a single one
nor the other way round, while a string, bytes or a message can.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor as F

from headrace.schemas.protobuf.differences import Kind

_SCALAR_KINDS: Final = {
    kind: name
    for name, kinds in {
        "general number": (
            F.TYPE_INT32,
            F.TYPE_INT64,
            F.TYPE_UINT32,
            F.TYPE_UINT64,
            F.TYPE_BOOL,
            F.TYPE_ENUM,
        ),
        "signed number": (F.TYPE_SINT32, F.TYPE_SINT64),
        "fixed32": (F.TYPE_FIXED32, F.TYPE_SFIXED32),
        "fixed64": (F.TYPE_FIXED64, F.TYPE_SFIXED64),
        "float": (F.TYPE_FLOAT,),
        "double": (F.TYPE_DOUBLE,),
        "string or bytes": (F.TYPE_STRING, F.TYPE_BYTES),
    }.items()
    for kind in kinds
}
_TYPE_NAMES: Final = {
    value: name.removeprefix("TYPE_").lower()
    for name, value in vars(F).items()
    if name.startswith("TYPE_")
}

Change = tuple[Kind, str, str]
"""A kind with what was there before and what is there after."""
MessagePair = tuple[Any, Any]
"""The types of a field that holds messages, of the writer and of the reader."""


def field_changes(writer: Any, reader: Any) -> Iterator[Change]:
    """What differs between the two fields themselves, not inside the messages that they hold."""
    if writer.name != reader.name:
        yield Kind.FIELD_NAME_CHANGED, writer.name, reader.name
    if reader.is_required and not writer.is_required:
        # A writer may leave out what this reader cannot do without.
        yield Kind.REQUIRED_FIELD_ADDED, describe(writer), describe(reader)
    if is_map(writer) and is_map(reader):
        for before, after in zip(
            writer.message_type.fields, reader.message_type.fields, strict=True
        ):
            yield from _type_changes(before, after)
        return
    yield from _type_changes(writer, reader)
    kind = _SCALAR_KINDS.get(reader.type)
    if kind == _SCALAR_KINDS.get(writer.type) and writer.is_repeated != reader.is_repeated:
        if kind == "string or bytes":
            yield Kind.FIELD_STRING_OR_BYTES_LABEL_CHANGED, describe(writer), describe(reader)
        elif kind is not None:
            yield Kind.FIELD_NUMERIC_LABEL_CHANGED, describe(writer), describe(reader)


def held_messages(writer: Any, reader: Any) -> MessagePair | None:
    """The messages that both fields, or the values of both maps, hold; None if they do not."""
    if is_map(writer) and is_map(reader):
        writer, reader = writer.message_type.fields[1], reader.message_type.fields[1]
    if _shape(writer) == _shape(reader) and reader.message_type is not None:
        return writer.message_type, reader.message_type
    return None


def is_map(field: Any) -> bool:
    return (
        field.type == F.TYPE_MESSAGE
        and field.is_repeated
        and bool(field.message_type.GetOptions().map_entry)
    )


def describe(field: Any) -> str:
    """The label and the type of a field as its schema says them."""
    if is_map(field):
        key, value = field.message_type.fields
        return f"map<{describe(key)}, {describe(value)}>"
    named = field.message_type or field.enum_type
    kind = named.full_name if named is not None else _TYPE_NAMES[field.type]
    label = "repeated " if field.is_repeated else "required " if field.is_required else ""
    return f"{label}{kind}"


def _shape(field: Any) -> str:
    if field.type in _SCALAR_KINDS:
        return "scalar"
    if is_map(field):
        return "map"
    return "group" if field.type == F.TYPE_GROUP else "message"


def _type_changes(writer: Any, reader: Any) -> Iterator[Change]:
    if _shape(writer) != _shape(reader):
        yield Kind.FIELD_KIND_CHANGED, describe(writer), describe(reader)
    elif _SCALAR_KINDS.get(writer.type) != _SCALAR_KINDS.get(reader.type):
        yield Kind.FIELD_SCALAR_KIND_CHANGED, describe(writer), describe(reader)
