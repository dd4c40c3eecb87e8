"""Options in .proto source: `java_package = "x"`, `(confluent.field_meta) = {…}`.

A descriptor holds the options that someone has defined as fields that the general library does not
know. They become readable with a pool that has all files of the schema, which is what this module
keeps. Options that no file defines are uninterpreted, and printed as they were written. Where in a
file options stand is the printer's affair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.descriptor import FieldDescriptor as F
from google.protobuf.descriptor_pool import DescriptorPool

from headrace.schemas.protobuf.literals import floating, quoted, quoted_bytes

_DESCRIPTOR_FILE: Final = descriptor_pb2.DESCRIPTOR.name
_INDENT: Final = "  "


class Options:
    """Reads and prints the options of one file, which is the last of `files`."""

    def __init__(self, files: Sequence[Any]) -> None:
        self._files = files
        self._pool: Any = None
        self._taken: set[str] | None = None
        if any(each.name == _DESCRIPTOR_FILE for each in files):
            self._pool = DescriptorPool()
            for each in files:
                self._pool.Add(each)

    def entries(self, options: Any, *more: tuple[str, str]) -> list[str]:
        """Each option as `name = value`, sorted by name; `more` joins what is no option inside."""
        found = [*self._entries(options), *more]
        return [f"{name} = {value}" for name, value in sorted(found, key=lambda each: each[0])]

    def _entries(self, options: Any) -> Iterator[tuple[str, str]]:
        for field, value in self._readable(options).ListFields():
            name = self._name(field)
            if field.name == "uninterpreted_option" and not field.is_extension:
                yield from ((_written_name(each), _written_value(each)) for each in value)
                continue
            if field.name == "features" and not field.is_extension:
                for feature, choice in value.ListFields():
                    yield f"{name}.{self._name(feature)}", _value(feature, choice)
                continue
            for each in value if field.is_repeated else [value]:
                yield name, _value(field, each)

    def _readable(self, options: Any) -> Any:
        """The same options as a message that knows what the schema's files define."""
        if self._pool is None:
            return options
        descriptor = self._pool.FindMessageTypeByName(options.DESCRIPTOR.full_name)
        return message_factory.GetMessageClass(descriptor).FromString(options.SerializeToString())

    def _name(self, field: Any) -> str:
        if not field.is_extension:
            return str(field.name)
        # A leading dot is always right, but readers that go by the text alone (Confluent's among
        # them) know their own options without it; so it stands only where the name could be
        # taken for something nearer.
        if self._taken is None:
            self._taken = set(_names(self._files))
        dot = "." if field.full_name.partition(".")[0] in self._taken else ""
        return f"({dot}{field.full_name})"


def inline(entries: list[str]) -> str:
    """Options behind a field or a value: ` [a = 1]`, or nothing."""
    if not entries:
        return ""
    if len(entries) == 1:
        return f" [{entries[0]}]"
    return " [\n" + indented(",\n".join(entries)) + "\n]"


def indented(text: str) -> str:
    """The text one step to the right."""
    return _INDENT + text.replace("\n", "\n" + _INDENT)


def _value(field: Any, value: Any) -> str:
    if field.type == F.TYPE_STRING:
        return quoted(value)
    if field.type == F.TYPE_BYTES:
        return quoted_bytes(value)
    if field.type == F.TYPE_BOOL:
        return "true" if value else "false"
    if field.type in (F.TYPE_FLOAT, F.TYPE_DOUBLE):
        return floating(value, single=field.type == F.TYPE_FLOAT)
    if field.type == F.TYPE_ENUM:
        known = field.enum_type.values_by_number.get(value)
        return str(value) if known is None else str(known.name)
    if field.type in (F.TYPE_MESSAGE, F.TYPE_GROUP):
        return _aggregate(value)
    return str(value)


def _aggregate(message: Any) -> str:
    """A message in Protobuf's text format, one field to a line."""
    lines = []
    for field, value in message.ListFields():
        name = f"[{field.full_name}]" if field.is_extension else field.name
        if field.type == F.TYPE_GROUP:
            name = field.message_type.name
        lines.append(f"{name}: {_aggregate_value(field, value)}")
    return "{\n" + indented(",\n".join(lines)) + "\n}" if lines else "{}"


def _aggregate_value(field: Any, value: Any) -> str:
    if not field.is_repeated:
        return _value(field, value)
    if field.type == F.TYPE_MESSAGE and field.message_type.GetOptions().map_entry:
        key, mapped = field.message_type.fields
        items = [
            "{\n"
            + indented(f"key: {_value(key, each)},\nvalue: {_value(mapped, value[each])}")
            + "\n}"
            for each in sorted(value)
        ]
    else:
        items = [_value(field, each) for each in value]
    return "[\n" + indented(",\n".join(items)) + "\n]"


def _written_name(option: Any) -> str:
    """The name of an option that no file defines, as it was written."""
    parts = (f"({each.name_part})" if each.is_extension else each.name_part for each in option.name)
    return ".".join(parts)


def _written_value(option: Any) -> str:
    if option.HasField("aggregate_value"):
        return f"{{ {option.aggregate_value} }}" if option.aggregate_value else "{}"
    if option.HasField("string_value"):
        return quoted_bytes(option.string_value)
    if option.HasField("double_value"):
        return floating(option.double_value, single=False)
    if option.HasField("identifier_value"):
        return str(option.identifier_value)
    return str(option.positive_int_value or option.negative_int_value)


def _names(files: Sequence[Any]) -> Iterator[str]:
    """Names that could hide the first part of an option's name from where it is used."""
    for file in files:
        yield from file.package.split(".")[1:]
        for each in (*file.message_type, *file.enum_type, *file.extension, *file.service):
            yield each.name
    pending = list(files[-1].message_type)
    while pending:
        message = pending.pop()
        yield from (each.name for each in (*message.field, *message.enum_type, *message.extension))
        yield from (each.name for each in (*message.oneof_decl, *message.nested_type))
        pending += message.nested_type
