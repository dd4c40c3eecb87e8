"""A tree as text: the form that Avro's Java library prints, which is what registries store.

Compact JSON with the keys of a type in a fixed order, a namespace only where it differs from the
one around it, and each named type in full where it is first met. The normal form orders in
addition all that has no meaning: properties, aliases, keys of default values.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.schemas.avro.json_text import write, write_string
from headrace.schemas.avro.logical import leading_properties
from headrace.schemas.avro.schema import (
    COMPLEX,
    PRIMITIVES,
    Array,
    AvroType,
    Enum,
    Field,
    Json,
    Map,
    Missing,
    Name,
    Named,
    Primitive,
    Properties,
    Record,
    Union,
)


def to_text(node: AvroType, referenced: Iterable[str] = (), *, normal: bool = False) -> str:
    """The text of a tree; the `referenced` types are defined elsewhere and only named."""
    printer = _Printer(set(referenced), normal)
    printer.type(node, None)
    return "".join(printer.out)


class _Printer:
    """One printing: pieces of text, and the names that need not be defined again."""

    def __init__(self, known: set[str], normal: bool) -> None:
        self.out: list[str] = []
        self._known = known
        self._normal = normal

    def type(self, node: AvroType, space: str | None) -> None:
        """Write a type that stands in the namespace `space`."""
        if isinstance(node, Primitive):
            self._primitive(node)
        elif isinstance(node, Union):
            self._list(node.branches, space)
        elif isinstance(node, Array | Map):
            self._container(node, space)
        else:
            self._named(node, space)

    def _primitive(self, node: Primitive) -> None:
        if node.props:
            self.out.append(f'{{"type":"{node.kind}"')
            self._properties(node.props, leading_properties(node))
            self.out.append("}")
        else:
            self.out.append(f'"{node.kind}"')

    def _list(self, branches: list[AvroType], space: str | None) -> None:
        self.out.append("[")
        for index, branch in enumerate(branches):
            if index:
                self.out.append(",")
            self.type(branch, space)
        self.out.append("]")

    def _container(self, node: Array | Map, space: str | None) -> None:
        is_array = isinstance(node, Array)
        self.out.append('{"type":"array","items":' if is_array else '{"type":"map","values":')
        self.type(node.items if isinstance(node, Array) else node.values, space)
        self._properties(node.props, [])
        self.out.append("}")

    def _named(self, node: Named, space: str | None) -> None:
        full = node.name.full
        if full in self._known:
            self.out.append(write_string(_qualified(node.name, space)))
            return
        self._known.add(full)
        kind = "error" if isinstance(node, Record) and node.is_error else node.kind
        self.out.append(f'{{"type":"{kind}","name":{write_string(node.name.name)}')
        if node.name.space != space:
            self.out.append(f',"namespace":{write_string(node.name.space or "")}')
        if node.doc is not None and not (self._normal and not node.doc):
            self.out.append(f',"doc":{write_string(node.doc)}')
        leading: list[str] = []
        if isinstance(node, Record):
            self._fields(node)
        elif isinstance(node, Enum):
            self._symbols(node)
        else:
            self.out.append(f',"size":{node.size}')
            leading = leading_properties(node)
        self._properties(node.props, leading)
        self._aliases([_qualified(alias, node.name.space) for alias in self._ordered(node)])
        self.out.append("}")

    def _ordered(self, node: Named) -> list[Name]:
        return sorted(node.aliases, key=lambda name: name.full) if self._normal else node.aliases

    def _symbols(self, node: Enum) -> None:
        self.out.append(f',"symbols":[{",".join(map(write_string, node.symbols))}]')
        if node.default is not None:
            self.out.append(f',"default":{write_string(node.default)}')

    def _fields(self, record: Record) -> None:
        self.out.append(',"fields":[')
        for index, field in enumerate(record.fields):
            name = write_string(field.name)
            self.out.append(f'{"," if index else ""}{{"name":{name},"type":')
            self.type(field.type, record.name.space)
            self._field_rest(field)
            self.out.append("}")
        self.out.append("]")

    def _field_rest(self, field: Field) -> None:
        if field.doc is not None:
            self.out.append(f',"doc":{write_string(field.doc)}')
        default = field.default
        if not isinstance(default, Missing):
            if self._normal:
                default = _normal_default(field.type, default)
            self.out.append(f',"default":{write(default, sort_keys=self._normal)}')
        if field.order != "ascending":
            self.out.append(f',"order":"{field.order}"')
        self._aliases(sorted(field.aliases) if self._normal else field.aliases)
        self._properties(field.props, [])

    def _aliases(self, aliases: list[str]) -> None:
        if aliases:
            self.out.append(f',"aliases":[{",".join(map(write_string, aliases))}]')

    def _properties(self, props: Properties, leading: list[str]) -> None:
        keys: Iterable[str] = props
        if self._normal:
            keys = [*leading, *sorted(key for key in props if key not in leading)]
        for key in keys:
            value = write(props[key], sort_keys=self._normal)
            self.out.append(f",{write_string(key)}:{value}")


def _qualified(name: Name, space: str | None) -> str:
    """A name as short as it may be; one that looks like a type keeps its namespace."""
    if name.space == space and name.name not in PRIMITIVES and name.name not in COMPLEX:
        return name.name
    return name.full


def _normal_default(node: AvroType, value: Json) -> Json:
    """A default in one spelling: a whole number for a double becomes a double."""
    if isinstance(node, Union):
        return _normal_default(node.branches[0], value) if node.branches else value
    if node.kind in ("float", "double") and type(value) is int:
        return float(value)
    if isinstance(node, Array) and isinstance(value, list):
        return [_normal_default(node.items, item) for item in value]
    if isinstance(node, Map) and isinstance(value, dict):
        return {key: _normal_default(node.values, item) for key, item in value.items()}
    if isinstance(node, Record) and isinstance(value, dict):
        fields = node.by_name
        return {
            key: _normal_default(fields[key].type, item) if key in fields else item
            for key, item in value.items()
        }
    return value
