"""A descriptor as .proto source: the canonical text of a schema.

The source compiles to the same descriptor again, and is the same however the schema was spelled:
comments and blanks are gone, types stand under their full names, options are sorted. The layout is
that of Confluent's registry (sections of a message behind blank lines, several options each on a
line), so that the texts of the two can be read side by side.

One thing is subtle. A map field, a group and an extension that is a group define a message of
their own at the place where they stand, and the number of a nested message within its parent goes
over the wire with every record; so such a field is printed behind the nested messages that it was
behind in the source.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as F

from headrace.schemas.protobuf.literals import default_value, quoted
from headrace.schemas.protobuf.options import Options, indented, inline

_SCALARS: Final = {number: name.removeprefix("TYPE_").lower() for name, number in F.Type.items()}
_MAX_FIELD: Final = 1 << 29
_MAX_ENUM: Final = (1 << 31) - 1


def print_file(file: Any, files: Sequence[Any]) -> str:
    """The source of `file`; `files` are its imports and, last, itself."""
    return _Printer(file, Options(files)).file()


class _Printer:
    def __init__(self, file: Any, options: Options) -> None:
        self._file = file
        self._options = options
        self._is_proto2 = file.syntax in ("", "proto2")
        self._is_editions = file.syntax == "editions"

    # -- files -----------------------------------------------------------------------------------

    def file(self) -> str:
        file = self._file
        members = _Members(self, file, f".{file.package}" if file.package else "")
        head = [self._syntax()]
        if file.package:
            head.append(f"package {file.package};")
        sections = [
            head,
            self._imports(),
            self._statements(file.options),
            members.remaining_messages() + self._enums(file),
            members.remaining_extensions(),
            [self._service(each) for each in file.service],
        ]
        return "\n\n".join("\n".join(section) for section in sections if section) + "\n"

    def _syntax(self) -> str:
        if self._is_editions:
            edition = descriptor_pb2.Edition.Name(self._file.edition).removeprefix("EDITION_")
            return f'edition = "{edition}";'
        return f'syntax = "{self._file.syntax or "proto2"}";'

    def _imports(self) -> list[str]:
        public, weak = set(self._file.public_dependency), set(self._file.weak_dependency)
        lines = []
        for index, name in enumerate(self._file.dependency):
            kind = "public " if index in public else "weak " if index in weak else ""
            lines.append(f"import {kind}{quoted(name)};")
        return lines + [f"import option {quoted(name)};" for name in self._file.option_dependency]

    def _statements(self, options: Any) -> list[str]:
        return [f"option {entry};" for entry in self._options.entries(options)]

    # -- messages --------------------------------------------------------------------------------

    def message(self, message: Any, scope: str) -> str:
        return f"{_visibility(message)}message {message.name} {self._body(message, scope)}"

    def _body(self, message: Any, scope: str) -> str:
        members = _Members(self, message, f"{scope}.{message.name}")
        fields = self._fields(message, members)
        ranges = [
            f"extensions {_range(each.start, each.end - 1, _MAX_FIELD - 1)}"
            f"{inline(self._options.entries(each.options))};"
            for each in message.extension_range
        ]
        options = [
            entry
            for entry in self._statements(message.options)
            if entry != "option map_entry = true;"
        ]
        return _block(
            self._reserved(message, past_end=1, largest=_MAX_FIELD - 1),
            options,
            fields,
            ranges,
            members.remaining_extensions(),
            members.remaining_messages() + self._enums(message),
        )

    def _fields(self, message: Any, members: _Members) -> list[str]:
        printed: list[str] = []
        done: set[int] = set()
        for field in message.field:
            in_oneof = field.HasField("oneof_index") and not field.proto3_optional
            if not in_oneof:
                printed += [*members.before(field), self.field(field, members)]
            elif field.oneof_index not in done:
                done.add(field.oneof_index)
                inside = [
                    each
                    for each in message.field
                    if each.HasField("oneof_index") and each.oneof_index == field.oneof_index
                ]
                for each in inside:
                    printed += members.before(each)
                printed.append(self._oneof(message.oneof_decl[field.oneof_index], inside, members))
        return printed

    def _oneof(self, oneof: Any, fields: list[Any], members: _Members) -> str:
        body = [self.field(each, members) for each in fields]
        return f"oneof {oneof.name} {_block(self._statements(oneof.options), body)}"

    def field(self, field: Any, members: _Members) -> str:
        label, what = self._label(field), f"{self._type(field)} {field.name}"
        end = f" = {field.number}{inline(self._field_options(field))}"
        own = members.defined_by(field)
        if own is None:
            return f"{label}{what}{end};"
        if own.options.map_entry:
            key, value = own.field
            return f"map<{self._type(key)}, {self._type(value)}> {field.name}{end};"
        return f"{label}group {own.name}{end} {self._body(own, members.scope)}"

    def _field_options(self, field: Any) -> list[str]:
        more = []
        if field.HasField("default_value"):
            text, kind = field.default_value, field.type
            literal = default_value(
                text, is_string=kind == F.TYPE_STRING, is_bytes=kind == F.TYPE_BYTES
            )
            more.append(("default", literal))
        if field.json_name and not field.extendee and field.json_name != json_name(field.name):
            more.append(("json_name", quoted(field.json_name)))
        return self._options.entries(field.options, *more)

    def _label(self, field: Any) -> str:
        if field.label == F.LABEL_REPEATED:
            return "repeated "
        if field.label == F.LABEL_REQUIRED:
            return "required "
        if field.proto3_optional:
            return "optional "
        return "optional " if self._is_proto2 and not field.HasField("oneof_index") else ""

    def _type(self, field: Any) -> str:
        return str(field.type_name) or _SCALARS[field.type]

    def extend(self, extendee: str, fields: list[Any], members: _Members) -> str:
        return f"extend {extendee} {_block([self.field(each, members) for each in fields])}"

    # -- the rest --------------------------------------------------------------------------------

    def _reserved(self, owner: Any, *, past_end: int, largest: int) -> list[str]:
        names = [each if self._is_editions else quoted(each) for each in owner.reserved_name]
        ranges = [_range(each.start, each.end - past_end, largest) for each in owner.reserved_range]
        return [f"reserved {each};" for each in ranges + names]

    def _enums(self, owner: Any) -> list[str]:
        return [self._enum(each) for each in owner.enum_type]

    def _enum(self, enum: Any) -> str:
        values = [
            f"{each.name} = {each.number}{inline(self._options.entries(each.options))};"
            for each in enum.value
        ]
        reserved = self._reserved(enum, past_end=0, largest=_MAX_ENUM)
        body = _block(reserved, self._statements(enum.options) + values)
        return f"{_visibility(enum)}enum {enum.name} {body}"

    def _service(self, service: Any) -> str:
        methods = [self._method(each) for each in service.method]
        return f"service {service.name} {_block(self._statements(service.options), methods)}"

    def _method(self, method: Any) -> str:
        sent = f"{'stream ' if method.client_streaming else ''}{method.input_type}"
        returned = f"{'stream ' if method.server_streaming else ''}{method.output_type}"
        options = self._statements(method.options)
        body = f" {_block(options)}" if options else ""
        return f"rpc {method.name} ({sent}) returns ({returned}){body};"


class _Members:
    """The messages and extensions inside a file or a message, each printed once and in order."""

    def __init__(self, printer: _Printer, owner: Any, scope: str) -> None:
        self.scope = scope
        self._printer = printer
        is_file = isinstance(owner, descriptor_pb2.FileDescriptorProto)
        self._messages = list(owner.message_type if is_file else owner.nested_type)
        self._position = {each.name: index for index, each in enumerate(self._messages)}
        self._extensions = list(owner.extension)
        self._next_message = 0
        self._next_extension = 0

    def defined_by(self, field: Any) -> Any:
        """The message that this field defines where it stands: a map's entry or a group."""
        if field.type not in (F.TYPE_MESSAGE, F.TYPE_GROUP):
            return None
        scope, _, name = field.type_name.rpartition(".")
        index = self._position.get(name)
        if index is None or scope != self.scope:
            return None
        found = self._messages[index]
        return found if field.type == F.TYPE_GROUP or found.options.map_entry else None

    def before(self, field: Any) -> list[str]:
        """What must be printed before a field; counts the message that the field defines."""
        message = self.defined_by(field)
        if message is None:
            return []
        printed = self._up_to(self._position[message.name])
        self._next_message = max(self._next_message, self._position[message.name] + 1)
        return printed

    def remaining_messages(self) -> list[str]:
        """The messages that are not printed yet."""
        return self._up_to(len(self._messages))

    def remaining_extensions(self) -> list[str]:
        """The extensions that are not printed yet."""
        printed: list[str] = []
        while self._next_extension < len(self._extensions):
            printed += self._extend()
        return printed

    def _up_to(self, end: int) -> list[str]:
        printed: list[str] = []
        while self._next_message < end:
            message = self._messages[self._next_message]
            owner = self._defining_extension(message)
            if owner is None:
                self._next_message += 1
                if not message.options.map_entry:
                    printed.append(self._printer.message(message, self.scope))
            else:
                while self._next_extension <= owner:
                    printed += self._extend()
        return printed

    def _defining_extension(self, message: Any) -> int | None:
        for index in range(self._next_extension, len(self._extensions)):
            if self.defined_by(self._extensions[index]) is message:
                return index
        return None

    def _extend(self) -> list[str]:
        """The next run of extensions of one message, or one extension that defines a message."""
        first = self._extensions[self._next_extension]
        printed, run = self.before(first), [first]
        self._next_extension += 1
        while self.defined_by(first) is None and self._next_extension < len(self._extensions):
            extension = self._extensions[self._next_extension]
            if extension.extendee != first.extendee or self.defined_by(extension) is not None:
                break
            run.append(extension)
            self._next_extension += 1
        return [*printed, self._printer.extend(first.extendee, run, self)]


def json_name(name: str) -> str:
    """The JSON name that protoc gives a field: underscores go, the letter behind one is capital."""
    first, *rest = name.split("_")
    return first + "".join(each[:1].upper() + each[1:] for each in rest)


def _visibility(declared: Any) -> str:
    kinds = descriptor_pb2.SymbolVisibility
    return {kinds.VISIBILITY_EXPORT: "export ", kinds.VISIBILITY_LOCAL: "local "}.get(
        declared.visibility, ""
    )


def _range(start: int, last: int, largest: int) -> str:
    if start == last:
        return str(start)
    return f"{start} to {'max' if last >= largest else last}"


def _block(*sections: list[str]) -> str:
    body = "\n\n".join("\n".join(section) for section in sections if section)
    return "{\n" + _indented_lines(body) + "\n}" if body else "{}"


def _indented_lines(text: str) -> str:
    return indented(text).replace("\n  \n", "\n\n")
