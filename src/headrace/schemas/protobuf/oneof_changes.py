"""The fields of a message by number, and what a change of its oneofs does to them.

Fields that were independent and now share a oneof push each other out when old data is read; that
is what makes a move into a oneof dangerous, unless all that old data knows of it was one field, or
one oneof already. A field that leaves a oneof loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf import descriptor_pb2

from headrace.schemas.protobuf.differences import Kind


@dataclass(frozen=True, slots=True)
class Members:
    """A message's fields by number, and for those inside a oneof its name."""

    fields: dict[int, Any]
    oneofs: dict[int, str]
    inside: dict[str, list[int]]
    """The numbers of the fields of each oneof."""

    @classmethod
    def of(cls, message: Any) -> Members:
        fields: dict[int, Any] = {}
        oneofs: dict[int, str] = {}
        inside: dict[str, list[int]] = {}
        optional = _optional(message)
        for each in message.fields:
            fields[each.number] = each
            if each.containing_oneof is not None and each.number not in optional:
                name = each.containing_oneof.name
                oneofs[each.number] = name
                inside.setdefault(name, []).append(each.number)
        return cls(fields, oneofs, inside)

    def path(self, number: int) -> str:
        """Where the field stands below its message."""
        return f"{self.oneofs[number]}/{number}" if number in self.oneofs else str(number)

    def addition(self, number: int) -> Kind:
        """What it is when the reader has this field, and the writer has not."""
        if number in self.oneofs:
            return Kind.ONEOF_FIELD_ADDED
        return Kind.REQUIRED_FIELD_ADDED if self.fields[number].is_required else Kind.FIELD_ADDED

    def removal(self, number: int, reader: Members) -> Kind | None:
        """What it is when this field of the writer is gone from the reader.

        A oneof that vanished with all of its fields is a removed oneof, and nothing more.
        """
        if number not in self.oneofs:
            required = self.fields[number].is_required
            return Kind.REQUIRED_FIELD_REMOVED if required else Kind.FIELD_REMOVED
        oneof = self.oneofs[number]
        survives = oneof in reader.inside or any(
            each in reader.fields for each in self.inside[oneof]
        )
        return Kind.ONEOF_FIELD_REMOVED if survives else None


def oneof_changes(writer: Members, reader: Members) -> Iterator[tuple[Kind, str]]:
    """What differs between the oneofs themselves: kinds, and the names of the oneofs."""
    for oneof, members in reader.inside.items():
        numbers = [number for number in members if number in writer.fields]
        independent = [number for number in numbers if number not in writer.oneofs]
        groups = len(independent) + len({writer.oneofs[n] for n in numbers if n in writer.oneofs})
        if groups > 1:
            kind = (
                Kind.MULTIPLE_FIELDS_MOVED_TO_ONEOF
                if len(independent) > 1
                else Kind.FIELD_MOVED_TO_EXISTING_ONEOF
            )
            yield kind, oneof
        if oneof not in writer.inside:
            yield Kind.ONEOF_ADDED, oneof
    for oneof in writer.inside:
        if oneof not in reader.inside:
            yield Kind.ONEOF_REMOVED, oneof


def _optional(message: Any) -> set[int]:
    """The fields that proto3 marks `optional`: protoc wraps each into a oneof that nobody wrote."""
    if all(len(oneof.fields) > 1 for oneof in message.oneofs):
        return set()
    copy = descriptor_pb2.DescriptorProto()
    message.CopyToProto(copy)
    return {field.number for field in copy.field if field.proto3_optional}
