"""From the text of a schema to its tree, as strictly as Avro's Java parser.

Where the specification and Java differ, this does as Java does: other tools have accepted the
schemas in a live registry. A name must be defined before it is used, as the specification says.
Types of other subjects are met by parsing their texts first.
"""

from __future__ import annotations

from typing import Final

from headrace.schemas.avro import json_text
from headrace.schemas.avro.defaults import is_valid_default
from headrace.schemas.avro.schema import (
    NO_DEFAULT,
    PRIMITIVES,
    Array,
    AvroType,
    Default,
    Enum,
    Field,
    Fixed,
    Json,
    Map,
    Name,
    Named,
    Primitive,
    Properties,
    Record,
    Union,
    make_name,
    tag,
)
from headrace.schemas.model import MAX_DEPTH, InvalidSchema

_SCHEMA_RESERVED: Final = frozenset(
    (
        *("doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type"),
        "aliases",
    )
)
_ENUM_RESERVED: Final = _SCHEMA_RESERVED | {"default"}
_FIELD_RESERVED: Final = frozenset(("default", "doc", "name", "order", "type", "aliases"))
_ORDERS: Final = frozenset(("ascending", "descending", "ignore"))
_MAX_FIXED_BYTES: Final = 2**31 - 9
"""The longest array that a Java machine can make, and so the largest fixed that Java accepts."""
_MAX_VALUE_DEPTH: Final = 32
"""How deep a property or a default may nest; values are walked several frames to the level."""
_SHOWN_CHARACTERS: Final = 120


class Parser:
    """Parses one text after another; a text may name the types of those before it."""

    def __init__(self) -> None:
        self._known: dict[str, Named] = {}
        self._check_defaults = False
        self._depths: dict[str, int] = {}
        # Records whose fields are still being read: they may be named inside themselves, but a
        # default value of that type cannot be checked against fields that are not there yet.
        self._open: set[str] = set()

    def parse(self, text: str, *, check_defaults: bool = False) -> AvroType:
        """The tree of a text; InvalidSchema says what is wrong, and where."""
        self._check_defaults = check_defaults
        node, _ = self._type(json_text.read(text), None, "", 1)
        return node

    def _type(self, source: Json, space: str | None, path: str, level: int) -> tuple[AvroType, int]:
        """A type, and how deep it nests; `level` is how deep it stands in the text."""
        if level > MAX_DEPTH:
            raise _invalid(path, f"types are nested more than {MAX_DEPTH} deep")
        if isinstance(source, str):
            return self._named(source, space, path)
        if isinstance(source, list):
            return self._union(source, space, path, level)
        if not isinstance(source, dict):
            raise _invalid(
                path, f"a schema is a string, an object or an array, not {_show(source)}"
            )
        kind = source.get("type")
        if not isinstance(kind, str):
            raise _invalid(path, f'there is no "type" with the name of a type in {_show(source)}')
        if kind in PRIMITIVES:
            return Primitive(kind, _properties(source, _SCHEMA_RESERVED, path)), 1
        if kind in ("record", "error"):
            return self._record(source, space, path, level)
        if kind == "enum":
            return self._define(_enum(source, space, path), path), 1
        if kind == "fixed":
            return self._define(_fixed(source, space, path), path), 1
        if kind in ("array", "map"):
            return self._container(kind, source, space, path, level)
        return self._named(kind, space, path)

    def _named(self, text: str, space: str | None, path: str) -> tuple[AvroType, int]:
        if text in PRIMITIVES:
            return Primitive(text, {}), 1
        name = make_name(text, space)
        # An unqualified name that its namespace does not have may be one of the null namespace.
        full = name.full if name.full in self._known else name.name
        found = self._known.get(full)
        if found is None:
            raise _invalid(
                path,
                f"{_show(text)} is not a defined name; define it before it is used, "
                "or register it and name its subject and version in the references",
            )
        return found, self._depths.get(full, 0)

    def _union(
        self, source: list[Json], space: str | None, path: str, level: int
    ) -> tuple[AvroType, int]:
        branches: list[AvroType] = []
        tags: dict[str, None] = {}
        depth = 0
        for index, each in enumerate(source):
            where = f"{path}/{index}"
            branch, below = self._type(each, space, where, level + 1)
            if isinstance(branch, Union):
                raise _invalid(where, "a union may not stand directly inside a union")
            if tag(branch) in tags:
                raise _invalid(where, f"the union has {tag(branch)!r} twice")
            tags[tag(branch)] = None
            branches.append(branch)
            depth = max(depth, below)
        return Union(branches, list(tags)), depth + 1

    def _container(
        self, kind: str, source: dict[str, Json], space: str | None, path: str, level: int
    ) -> tuple[AvroType, int]:
        key = "items" if kind == "array" else "values"
        if key not in source:
            raise _invalid(path, f'the {kind} has no "{key}"')
        inner, below = self._type(source[key], space, f"{path}/{key}", level + 1)
        props = _properties(source, _SCHEMA_RESERVED, path)
        node = Array(inner, props) if kind == "array" else Map(inner, props)
        return node, _one_deeper(below, path)

    def _record(
        self, source: dict[str, Json], space: str | None, path: str, level: int
    ) -> tuple[AvroType, int]:
        name = _name(source, space, path)
        record = Record(name, _text(source, "doc"), source["type"] == "error", [], [], {})
        self._define(record, path)
        self._open.add(name.full)
        fields = source.get("fields")
        if not isinstance(fields, list):
            raise _invalid(path, f'the record {name.full} has no "fields" array')
        depth = 0
        for index, each in enumerate(fields):
            where = f"{path}/fields/{index}"
            field, below = self._field(each, name.space, where, level)
            if field.name in record.by_name:
                raise _invalid(where, f"the record {name.full} has the field {field.name!r} twice")
            record.by_name[field.name] = field
            record.fields.append(field)
            depth = max(depth, below)
        record.props = _properties(source, _SCHEMA_RESERVED, path)
        record.aliases = _aliases(source, name, path)
        self._open.discard(name.full)
        self._depths[name.full] = _one_deeper(depth, path)
        return record, depth + 1

    def _field(self, source: Json, space: str | None, path: str, level: int) -> tuple[Field, int]:
        if not isinstance(source, dict):
            raise _invalid(path, f"a field is an object, not {_show(source)}")
        name = source.get("name")
        if not isinstance(name, str):
            raise _invalid(path, f'there is no "name" with a string in {_show(source)}')
        _check_name(name, path)
        if "type" not in source:
            raise _invalid(path, f'the field {name!r} has no "type"')
        node, depth = self._type(source["type"], space, f"{path}/type", level + 1)
        field = Field(
            name,
            node,
            _text(source, "doc"),
            self._default(source, node, path),
            _order(source, path),
            _alias_texts(source, path),
            _properties(source, _FIELD_RESERVED, path),
        )
        return field, depth

    def _default(self, source: dict[str, Json], node: AvroType, path: str) -> Default:
        if "default" not in source:
            return NO_DEFAULT
        value = source["default"]
        _check_depth(value, f"{path}/default")
        if node.kind in ("float", "double") and isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                raise _invalid(path, f"the default {_show(value)} is not a number") from None
        if self._check_defaults and not is_valid_default(node, value, self._open):
            raise _invalid(
                path,
                f"Invalid default for field {source['name']}: {_show(value)} not a {tag(node)}",
            )
        return value

    def _define(self, node: Named, path: str) -> Named:
        full = node.name.full
        if full in PRIMITIVES:
            raise _invalid(path, f"a type may not be named {full!r}, like a primitive type")
        if full in self._known:
            raise _invalid(path, f"Can't redefine: {full}")
        self._known[full] = node
        self._depths[full] = 0 if isinstance(node, Record) else 1
        return node


def _enum(source: dict[str, Json], space: str | None, path: str) -> Enum:
    name = _name(source, space, path)
    symbols = source.get("symbols")
    if not isinstance(symbols, list):
        raise _invalid(path, f'the enum {name.full} has no "symbols" array')
    seen: dict[str, None] = {}
    for index, symbol in enumerate(symbols):
        where = f"{path}/symbols/{index}"
        if not isinstance(symbol, str):
            raise _invalid(where, f"a symbol is a string, not {_show(symbol)}")
        _check_name(symbol, where)
        if symbol in seen:
            raise _invalid(where, f"Duplicate enum symbol: {symbol}")
        seen[symbol] = None
    default = _text(source, "default")
    if default is not None and default not in seen:
        raise _invalid(
            path, f"the default {default!r} is not among the symbols of the enum {name.full}"
        )
    props = _properties(source, _ENUM_RESERVED, path)
    aliases = _aliases(source, name, path)
    return Enum(name, _text(source, "doc"), list(seen), default, aliases, props)


def _fixed(source: dict[str, Json], space: str | None, path: str) -> Fixed:
    name = _name(source, space, path)
    size = source.get("size")
    if type(size) is not int or not 0 <= size <= _MAX_FIXED_BYTES:
        raise _invalid(
            path,
            f'the fixed {name.full} needs a "size" between 0 and {_MAX_FIXED_BYTES}, '
            f"not {_show(size)}",
        )
    props = _properties(source, _SCHEMA_RESERVED, path)
    return Fixed(name, _text(source, "doc"), size, _aliases(source, name, path), props)


def _name(source: dict[str, Json], space: str | None, path: str) -> Name:
    text = source.get("name")
    if not isinstance(text, str):
        raise _invalid(path, f'there is no "name" with a string in {_show(source)}')
    own_space = _text(source, "namespace")
    name = make_name(text, space if own_space is None else own_space)
    _check_name(name.name, path)
    if name.space is not None:
        for part in name.space.split("."):
            _check_name(part, path)
    return name


def _check_name(name: str, path: str) -> None:
    """A letter or underscore, then letters, digits and underscores, of any alphabet as in Java."""
    if not name:
        raise _invalid(path, "a name may not be empty")
    if name.isascii() and name.isidentifier():
        return
    if not (name[0].isalpha() or name[0] == "_"):
        raise _invalid(path, f"Illegal initial character: {_show(name)}")
    if not all(each.isalpha() or each.isdecimal() or each == "_" for each in name):
        raise _invalid(path, f"Illegal character in: {_show(name)}")


def _aliases(source: dict[str, Json], name: Name, path: str) -> list[Name]:
    names = dict.fromkeys(make_name(text, name.space) for text in _alias_texts(source, path))
    for each in names:
        _check_name(each.name, path)
    return list(names)


def _alias_texts(source: dict[str, Json], path: str) -> list[str]:
    aliases = source.get("aliases", [])
    if not isinstance(aliases, list):
        raise _invalid(path, f'"aliases" must be an array, not {_show(aliases)}')
    seen: dict[str, None] = {}
    for alias in aliases:
        if not isinstance(alias, str):
            raise _invalid(path, f"an alias is a string, not {_show(alias)}")
        seen[alias] = None
    return list(seen)


def _order(source: dict[str, Json], path: str) -> str:
    order = source.get("order", "ascending")
    if not isinstance(order, str) or order.lower() not in _ORDERS:
        raise _invalid(path, f'"order" is ascending, descending or ignore, not {_show(order)}')
    return order.lower()


def _text(source: dict[str, Json], key: str) -> str | None:
    """A text that may be missing; Java takes a value of another type as missing."""
    value = source.get(key)
    return value if isinstance(value, str) else None


def _properties(source: dict[str, Json], reserved: frozenset[str], path: str) -> Properties:
    props = {key: value for key, value in source.items() if key not in reserved}
    for key, value in props.items():
        _check_depth(value, f"{path}/{key}")
    return props


def _check_depth(value: Json, path: str) -> None:
    level = [value] if isinstance(value, dict | list) else []
    depth = 0
    while level:
        depth += 1
        if depth > _MAX_VALUE_DEPTH:
            raise _invalid(path, f"a value is nested more than {_MAX_VALUE_DEPTH} deep")
        parts = [
            part for each in level for part in (each.values() if isinstance(each, dict) else each)
        ]
        level = [part for part in parts if isinstance(part, dict | list)]


def _one_deeper(depth: int, path: str) -> int:
    if depth >= MAX_DEPTH:
        raise _invalid(path, f"types are nested more than {MAX_DEPTH} deep")
    return depth + 1


def _invalid(path: str, what: str) -> InvalidSchema:
    return InvalidSchema(f"{what} (at {path or '/'})")


def _show(value: Json) -> str:
    # Writing all of a value in order to cut it would let a large one cost much at every level.
    text = json_text.write(value) if not isinstance(value, dict | list) else _outline(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"


def _outline(value: dict[str, Json] | list[Json]) -> str:
    if isinstance(value, list):
        return f"an array of {len(value)}"
    keys = ", ".join(json_text.write_string(key[:40]) for key in list(value)[:6])
    return f"an object with {keys or 'no keys'}"
