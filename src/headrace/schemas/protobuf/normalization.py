"""The normalized form of a schema: what may be written in any order is put into one.

Imports, fields, reserved numbers and names, and the values of an enum are sorted; options already
are, in any printed text. Messages, enums and services keep their order: records refer to messages
by number. The first value of an enum stays first, because it is the default.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2


def normalize(file: Any) -> Any:
    """A copy of a FileDescriptorProto in normal order."""
    copy = descriptor_pb2.FileDescriptorProto()
    copy.CopyFrom(file)
    _sort_imports(copy)
    pending = list(copy.message_type)
    enums = list(copy.enum_type)
    while pending:
        message = pending.pop()
        _sort_fields(message)
        _sort_reserved(message)
        _replace(message.extension_range, sorted(message.extension_range, key=lambda e: e.start))
        pending += message.nested_type
        enums += message.enum_type
    for enum in enums:
        first, *rest = enum.value
        _replace(enum.value, [first, *sorted(rest, key=lambda each: (each.number, each.name))])
        _sort_reserved(enum)
    return copy


def _sort_imports(file: Any) -> None:
    names = list(file.dependency)
    public = {names[index] for index in file.public_dependency}
    weak = {names[index] for index in file.weak_dependency}
    ordered = sorted(names, key=lambda name: (name in public, name))
    file.dependency[:] = ordered
    file.public_dependency[:] = [at for at, name in enumerate(ordered) if name in public]
    file.weak_dependency[:] = [at for at, name in enumerate(ordered) if name in weak]
    file.option_dependency[:] = sorted(file.option_dependency)


def _sort_fields(message: Any) -> None:
    """Plain fields by number, then the oneofs by their first number, each sorted inside."""
    by_number = sorted(message.field, key=lambda each: each.number)
    oneofs: dict[int, list[Any]] = {}
    plain = []
    for each in by_number:
        if each.HasField("oneof_index") and not each.proto3_optional:
            oneofs.setdefault(each.oneof_index, []).append(each)
        else:
            plain.append(each)
    ordered = plain + [each for members in oneofs.values() for each in members]
    _renumber_oneofs(message, [*oneofs, *(e.oneof_index for e in plain if e.proto3_optional)])
    _replace(message.field, ordered)
    _sort_entries(message)


def _renumber_oneofs(message: Any, order: list[int]) -> None:
    place = {old: new for new, old in enumerate(order)}
    for each in message.field:
        if each.HasField("oneof_index"):
            each.oneof_index = place[each.oneof_index]
    _replace(message.oneof_decl, [message.oneof_decl[old] for old in order])


def _sort_entries(message: Any) -> None:
    """The entries of maps among the nested messages, in the order of their fields.

    They only change places with each other, so that a true nested message keeps its number.
    """
    entries = {each.name: each for each in message.nested_type if each.options.map_entry}
    names = (each.type_name.rpartition(".")[2] for each in message.field if each.type_name)
    in_order = iter([entries[name] for name in names if name in entries])
    _replace(
        message.nested_type,
        [next(in_order) if each.options.map_entry else each for each in message.nested_type],
    )


def _sort_reserved(owner: Any) -> None:
    _replace(owner.reserved_range, sorted(owner.reserved_range, key=lambda each: each.start))
    owner.reserved_name[:] = sorted(owner.reserved_name)


def _replace(container: Any, items: list[Any]) -> None:
    copies = [type(each).FromString(each.SerializePartialToString()) for each in items]
    del container[:]
    container.extend(copies)
