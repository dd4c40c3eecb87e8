"""Whether a reader's schema reads the data of a writer's, through everything that they import.

Two messages are compared once, however many fields hold them, and a list of pairs that wait takes
the place of recursion: messages may hold themselves, and chains of them may be long. When all
pairs are done, a pair that differs for the worse and comes from an import makes the fields that
hold it differ too, because nobody sees the import in the schema that was changed.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from headrace.schemas.incompatible import Incompatibility
from headrace.schemas.protobuf.differences import HARMLESS, Kind, difference, is_harmless
from headrace.schemas.protobuf.schema import ProtobufSchema


def incompatibilities(
    reader: ProtobufSchema, writer: ProtobufSchema, *, lenient: bool = False
) -> list[Incompatibility]:
    """What stops `reader` from reading data of `writer`; Protobuf has no lenient rules."""
    return [found for found in differences(reader, writer) if not is_harmless(found)]


def differences(reader: ProtobufSchema, writer: ProtobufSchema) -> list[Incompatibility]:
    """Everything that differs, harmless or not, in the order of the schemas."""
    return _Comparison().run(_file(writer), _file(reader))


def _file(schema: ProtobufSchema) -> Any:
    return schema.pool.FindFileByName(schema.files[-1].name)


@dataclass(slots=True)
class _Pair:
    """A message of the writer and the one that the reader has in its place."""

    writer: Any
    reader: Any
    path: str
    is_broken: bool = False
    held_by: list[tuple[_Pair, str]] = field(default_factory=list)
    """The pairs with a field that holds this one, and the path of the field."""


class _Comparison:
    def __init__(self) -> None:
        self._found: dict[Incompatibility, None] = {}
        self._pairs: dict[tuple[str, str], _Pair] = {}
        self._waiting: deque[_Pair] = deque()
        self._files = "", ""

    def run(self, writer: Any, reader: Any) -> list[Incompatibility]:
        self._files = writer.name, reader.name
        if writer.package != reader.package:
            self._add(Kind.PACKAGE_CHANGED, "#/", writer.package, reader.package)
        self._types(
            writer.message_types_by_name,
            reader.message_types_by_name,
            writer.enum_types_by_name,
            reader.enum_types_by_name,
            "#",
        )
        while self._waiting:
            self._messages(self._waiting.popleft())
        self._spread()
        return list(self._found)

    def _add(
        self, kind: Kind, path: str, before: str = "", after: str = "", pair: _Pair | None = None
    ) -> None:
        self._found[difference(kind, path, before, after)] = None
        if pair is not None and kind not in HARMLESS:
            pair.is_broken = True

    # -- types by name ---------------------------------------------------------------------------

    def _types(
        self,
        writer_messages: Any,
        reader_messages: Any,
        writer_enums: Any,
        reader_enums: Any,
        path: str,
        pair: _Pair | None = None,
    ) -> None:
        """The messages and enums inside a file or, with `pair`, inside a message."""
        before, after = _by_name(writer_messages), _by_name(reader_messages)
        place_before = {name: index for index, name in enumerate(before)}
        place_after = {name: index for index, name in enumerate(after)}
        for name in _either(before, after):
            here = f"{path}/{name}"
            if name not in after:
                self._add(Kind.MESSAGE_REMOVED, here, f"message {name}", pair=pair)
            elif name not in before:
                self._add(Kind.MESSAGE_ADDED, here, after=f"message {name}")
            else:
                self._compare(before[name], after[name])
                if place_before[name] != place_after[name]:
                    self._add(Kind.MESSAGE_MOVED, here)
        for name in _either(writer_enums, reader_enums):
            here = f"{path}/{name}"
            if name not in reader_enums:
                self._add(Kind.ENUM_REMOVED, here, f"enum {name}")
            elif name not in writer_enums:
                self._add(Kind.ENUM_ADDED, here, after=f"enum {name}")
            else:
                self._enums(writer_enums[name], reader_enums[name], here)

    def _enums(self, writer: Any, reader: Any, path: str) -> None:
        before = {each.number: each.name for each in reversed(writer.values)}
        after = {each.number: each.name for each in reversed(reader.values)}
        for number in sorted(before.keys() | after.keys()):
            here = f"{path}/{number}"
            if number not in after:
                self._add(Kind.ENUM_CONST_REMOVED, here, before[number])
            elif number not in before:
                self._add(Kind.ENUM_CONST_ADDED, here, after=after[number])
            elif before[number] != after[number]:
                self._add(Kind.ENUM_CONST_CHANGED, here, before[number], after[number])

    # -- messages --------------------------------------------------------------------------------

    def _compare(self, writer: Any, reader: Any) -> _Pair:
        """The pair of these messages, which is compared now or later, once."""
        key = writer.full_name, reader.full_name
        if key not in self._pairs:
            path = f"#/{_local_name(reader).replace('.', '/')}"
            self._pairs[key] = _Pair(writer, reader, path)
            self._waiting.append(self._pairs[key])
        return self._pairs[key]

    def _messages(self, pair: _Pair) -> None:
        from headrace.schemas.protobuf.oneof_changes import Members, oneof_changes

        writer, reader = Members.of(pair.writer), Members.of(pair.reader)
        for kind, where in oneof_changes(writer, reader):
            self._add(kind, f"{pair.path}/{where}", pair=pair)
        for number in sorted(writer.fields.keys() | reader.fields.keys()):
            self._field(pair, number, writer, reader)
        self._types(
            pair.writer.nested_types_by_name,
            pair.reader.nested_types_by_name,
            pair.writer.enum_types_by_name,
            pair.reader.enum_types_by_name,
            pair.path,
            pair,
        )

    def _field(self, pair: _Pair, number: int, writer: Any, reader: Any) -> None:
        from headrace.schemas.protobuf.field_changes import describe, field_changes, held_messages

        before, after = writer.fields.get(number), reader.fields.get(number)
        if after is None:
            path = f"{pair.path}/{writer.path(number)}"
            if (kind := writer.removal(number, reader)) is not None:
                self._add(kind, path, f"{describe(before)} {before.name}", pair=pair)
            return
        path = f"{pair.path}/{reader.path(number)}"
        if before is None:
            self._add(
                reader.addition(number), path, "", f"{describe(after)} {after.name}", pair=pair
            )
            return
        if number in writer.oneofs and number not in reader.oneofs:
            self._add(Kind.ONEOF_FIELD_MOVED_TO_TOP_LEVEL, path)
        for kind, old, new in field_changes(before, after):
            self._add(kind, path, old, new, pair=pair)
        held = held_messages(before, after)
        if held is None:
            return
        if _local_name(held[0]) != _local_name(held[1]):
            self._add(
                Kind.FIELD_NAMED_TYPE_CHANGED, path, describe(before), describe(after), pair=pair
            )
            return
        inner = self._compare(*held)
        if not self._is_local(*held):
            inner.held_by.append((pair, path))

    def _is_local(self, writer: Any, reader: Any) -> bool:
        """Whether both schemas define the message themselves, and so show it being compared."""
        return (writer.file.name, reader.file.name) == self._files

    def _spread(self) -> None:
        """Fields that hold a message which differs for the worse do so themselves."""
        broken = [pair for pair in self._pairs.values() if pair.is_broken]
        while broken:
            pair = broken.pop()
            for holder, path in pair.held_by:
                self._add(
                    Kind.FIELD_NAMED_TYPE_CHANGED,
                    path,
                    pair.writer.full_name,
                    pair.reader.full_name,
                )
                if not holder.is_broken:
                    holder.is_broken = True
                    broken.append(holder)


def _by_name(messages: Any) -> dict[str, Any]:
    """Messages that somebody wrote; the entries of maps come with their fields."""
    return {name: each for name, each in messages.items() if not each.GetOptions().map_entry}


def _either(before: Any, after: Any) -> list[str]:
    """The names of the reader in its order, then those that only the writer has."""
    return [*after, *(name for name in before if name not in after)]


def _local_name(message: Any) -> str:
    """The name without the package: where a file was put must not make its messages differ."""
    package = message.file.package
    return str(message.full_name.removeprefix(f"{package}.") if package else message.full_name)
