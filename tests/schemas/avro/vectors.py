"""Which Avro schemas read which: a table, derived from the specification's schema resolution.

A case is an old and a new schema. `backward` lists what is wrong when the new one reads data of
the old one, `forward` when the old one reads data of the new one: a kind of fault and the path in
the reader's schema. An empty string means that it works.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")

# "int is promotable to long, float, or double; long is promotable to float or double; float is
# promotable to double; string is promotable to bytes; bytes is promotable to string."
PROMOTIONS = """
reader    null boolean int long float double bytes string
null      yes  -       -   -    -     -      -     -
boolean   -    yes     -   -    -     -      -     -
int       -    -       yes -    -     -      -     -
long      -    -       yes yes  -     -      -     -
float     -    -       yes yes  yes   -      -     -
double    -    -       yes yes  yes   yes    -     -
bytes     -    -       -   -    -     -      yes   yes
string    -    -       -   -    -     -      yes   yes
"""


class Case(NamedTuple):
    """Two schemas, and what is wrong in each direction."""

    title: str
    old: Any
    new: Any
    backward: str
    forward: str

    @property
    def old_text(self) -> str:
        return json.dumps(self.old)

    @property
    def new_text(self) -> str:
        return json.dumps(self.new)


def record(*fields: Any, name: str = "R", **others: Any) -> dict[str, Any]:
    """A record; a field is a pair of a name and a type, or an object."""
    spelt = [
        {"name": each[0], "type": each[1]} if isinstance(each, tuple) else each for each in fields
    ]
    return {"type": "record", "name": name, "fields": spelt, **others}


def field(name: str, type: Any, default: Any = ..., **others: Any) -> dict[str, Any]:  # noqa: A002
    """A field with a default or other attributes."""
    spelt = {"name": name, "type": type, **others}
    return spelt if default is ... else {**spelt, "default": default}


def enum(symbols: str, default: str | None = None, name: str = "E", **others: Any) -> Any:
    """An enum of the words of a text."""
    spelt = {"type": "enum", "name": name, "symbols": symbols.split(), **others}
    return spelt if default is None else {**spelt, "default": default}


def fixed(size: int, name: str = "F", **others: Any) -> Any:
    """Some bytes."""
    return {"type": "fixed", "name": name, "size": size, **others}


def array(items: Any) -> Any:
    """A list."""
    return {"type": "array", "items": items}


def mapping(values: Any) -> Any:
    """A map."""
    return {"type": "map", "values": values}


def _fields(*names: str) -> list[tuple[str, str]]:
    return [(name, "int") for name in names]


def _tree(*more: Any, link: Any = "Node") -> Any:
    return record(("v", "int"), ("next", ["null", link]), *more, name="Node")


FIELD = "READER_FIELD_MISSING_DEFAULT_VALUE"
TYPE = "TYPE_MISMATCH"
NAME = "NAME_MISMATCH"
SIZE = "FIXED_SIZE_MISMATCH"
SYMBOLS = "MISSING_ENUM_SYMBOLS"
BRANCH = "MISSING_UNION_BRANCH"
TWICE = "READER_FIELD_AMBIGUOUS"

A, AB = record(*_fields("a")), record(*_fields("a", "b"))

RECORDS = [
    Case("the same record", A, A, "", ""),
    Case("a field is added with a default", A, record(("a", "int"), field("b", "int", 0)), "", ""),
    Case("a field is added without a default", A, AB, f"{FIELD} /fields/1", ""),
    Case("a field is removed", AB, A, "", f"{FIELD} /fields/1"),
    Case(
        "a field with a default is removed",
        record(("a", "int"), field("b", "int", 0)),
        A,
        "",
        "",
    ),
    Case("fields change their order", AB, record(*_fields("b", "a")), "", ""),
    Case(
        "a field is renamed",
        A,
        record(*_fields("b")),
        f"{FIELD} /fields/0",
        f"{FIELD} /fields/0",
    ),
    Case(
        "a field is renamed with an alias",
        A,
        record(field("b", "int", aliases=["a"])),
        "",
        f"{FIELD} /fields/0",
    ),
    Case(
        "a field is renamed with an alias, and the old one has a default",
        record(field("a", "int", 1)),
        record(field("b", "int", aliases=["a"])),
        "",
        "",
    ),
    Case(
        "the second of two aliases matches",
        A,
        record(field("b", "int", aliases=["z", "a"])),
        "",
        f"{FIELD} /fields/0",
    ),
    Case(
        "an alias that matches a field of another type",
        record(("a", "string")),
        record(field("b", "int", aliases=["a"])),
        f"{TYPE} /fields/0/type",
        f"{FIELD} /fields/0",
    ),
    Case(
        "name and alias match two fields",
        AB,
        record(field("a", "int", aliases=["b"])),
        f"{TWICE} /fields/0",
        f"{FIELD} /fields/1",
    ),
    Case(
        "an alias of the writer does not count",
        record(field("a", "int", aliases=["b"])),
        record(("b", "int")),
        f"{FIELD} /fields/0",
        "",
    ),
    Case(
        "a field changes its type",
        A,
        record(("a", "string")),
        f"{TYPE} /fields/0/type",
        f"{TYPE} /fields/0/type",
    ),
    Case(
        "a field is widened",
        A,
        record(("a", "long")),
        "",
        f"{TYPE} /fields/0/type",
    ),
    Case("string becomes bytes", record(("a", "string")), record(("a", "bytes")), "", ""),
    Case(
        "a field becomes optional",
        A,
        record(("a", ["null", "int"])),
        "",
        f"{TYPE} /fields/0/type/0",
    ),
    Case(
        "an optional field is added with null",
        A,
        record(("a", "int"), field("b", ["null", "int"], None)),
        "",
        "",
    ),
    Case(
        "an optional field is added without a default",
        A,
        record(("a", "int"), ("b", ["null", "int"])),
        f"{FIELD} /fields/1",
        "",
    ),
    Case(
        "a default changes",
        record(field("a", "int", 1)),
        record(field("a", "int", 2)),
        "",
        "",
    ),
    Case("a default is added", A, record(field("a", "int", 1)), "", ""),
    Case("documentation changes", A, record(*_fields("a"), doc="new"), "", ""),
    Case(
        "order and properties change",
        A,
        record(field("a", "int", order="ignore", since=3)),
        "",
        "",
    ),
    Case(
        "two fields are missing",
        A,
        record(*_fields("a", "b", "c")),
        f"{FIELD} /fields/1, {FIELD} /fields/2",
        "",
    ),
    Case(
        "faults of several kinds",
        record(("a", "int"), ("c", "long")),
        record(("a", "string"), ("b", "int"), ("c", "int")),
        f"{TYPE} /fields/0/type, {FIELD} /fields/1, {TYPE} /fields/2/type",
        f"{TYPE} /fields/0/type",
    ),
    Case("no fields at all", record(), record(), "", ""),
    Case("a record of nothing reads any", A, record(), "", f"{FIELD} /fields/0"),
    Case("an error is a record", A, {**A, "type": "error"}, "", ""),
    Case("a record and a primitive", A, "int", f"{TYPE} /", f"{TYPE} /"),
    Case("a record and a map", A, mapping("int"), f"{TYPE} /", f"{TYPE} /"),
    Case(
        "a default of an enum is not one of its field",
        A,
        record(("a", "int"), ("e", enum("X Y", "X"))),
        f"{TYPE} /fields/1/type",
        "",
    ),
    Case(
        "an enum without a default is added",
        A,
        record(("a", "int"), ("e", enum("X Y"))),
        f"{FIELD} /fields/1",
        "",
    ),
    Case(
        "an enum with a default of the field is added",
        A,
        record(("a", "int"), field("e", enum("X Y"), "X")),
        "",
        "",
    ),
]

NAMES = [
    Case("a record is renamed", A, {**A, "name": "S"}, f"{NAME} /name", f"{NAME} /name"),
    Case(
        "a record is renamed with an alias",
        A,
        {**A, "name": "S", "aliases": ["R"]},
        "",
        f"{NAME} /name",
    ),
    Case(
        "an alias in another namespace",
        {**A, "namespace": "x"},
        {**A, "name": "S", "aliases": ["x.R"]},
        "",
        f"{NAME} /name",
    ),
    Case(
        "an alias takes the namespace of its record",
        {**A, "namespace": "x"},
        {**A, "name": "S", "namespace": "x", "aliases": ["R"]},
        "",
        f"{NAME} /name",
    ),
    Case(
        "an alias of the wrong namespace",
        {**A, "namespace": "x"},
        {**A, "name": "S", "namespace": "y", "aliases": ["R"]},
        f"{NAME} /name",
        f"{NAME} /name",
    ),
    Case("namespaces do not count", {**A, "namespace": "x"}, {**A, "namespace": "y"}, "", ""),
    Case("a namespace is added", A, {**A, "namespace": "x.y"}, "", ""),
    Case("a namespace in the name", A, {**A, "name": "x.y.R"}, "", ""),
    Case(
        "a record inside is renamed",
        record(("r", record(*_fields("a"), name="In"))),
        record(("r", record(*_fields("a"), name="Other"))),
        f"{NAME} /fields/0/type/name",
        f"{NAME} /fields/0/type/name",
    ),
    Case(
        "a record inside is renamed with an alias",
        record(("r", record(*_fields("a"), name="In"))),
        record(("r", record(*_fields("a"), name="Other", aliases=["In"]))),
        "",
        f"{NAME} /fields/0/type/name",
    ),
    Case("an enum is renamed", enum("X"), enum("X", name="G"), f"{NAME} /name", f"{NAME} /name"),
    Case(
        "an enum is renamed with an alias",
        enum("X"),
        enum("X", name="G", aliases=["E"]),
        "",
        f"{NAME} /name",
    ),
    Case("an enum moves", enum("X"), enum("X", namespace="x"), "", ""),
    Case("a fixed is renamed", fixed(4), fixed(4, "G"), f"{NAME} /name", f"{NAME} /name"),
    Case(
        "a fixed is renamed with an alias",
        fixed(4),
        fixed(4, "G", aliases=["F"]),
        "",
        f"{NAME} /name",
    ),
    Case("a fixed moves", fixed(4), fixed(4, namespace="x"), "", ""),
    Case(
        "renamed and another field",
        A,
        record(*_fields("b"), name="S"),
        f"{NAME} /name, {FIELD} /fields/0",
        f"{NAME} /name, {FIELD} /fields/0",
    ),
]

ENUMS_AND_FIXED = [
    Case("a symbol is added", enum("X Y"), enum("X Y Z"), "", f"{SYMBOLS} /symbols"),
    Case("a symbol is removed", enum("X Y"), enum("X"), f"{SYMBOLS} /symbols", ""),
    Case("symbols change their order", enum("X Y"), enum("Y X"), "", ""),
    Case(
        "a symbol is renamed",
        enum("X Y"),
        enum("X Z"),
        f"{SYMBOLS} /symbols",
        f"{SYMBOLS} /symbols",
    ),
    Case("a symbol is removed, there is a default", enum("X Y"), enum("X", "X"), "", ""),
    Case("a symbol is added, the old one has a default", enum("X", "X"), enum("X Y", "X"), "", ""),
    Case(
        "other symbols altogether, one default",
        enum("A B"),
        enum("C D", "D"),
        "",
        f"{SYMBOLS} /symbols",
    ),
    Case("the default of an enum changes", enum("X Y", "X"), enum("X Y", "Y"), "", ""),
    Case(
        "a default of the writer does not help",
        enum("X Y", "X"),
        enum("X"),
        f"{SYMBOLS} /symbols",
        "",
    ),
    Case(
        "an enum inside loses a symbol",
        record(("e", enum("X Y"))),
        record(("e", enum("X"))),
        f"{SYMBOLS} /fields/0/type/symbols",
        "",
    ),
    Case("an enum and a string", enum("X"), "string", f"{TYPE} /", f"{TYPE} /"),
    Case(
        "renamed and without a symbol",
        enum("X Y"),
        enum("X", name="G"),
        f"{NAME} /name, {SYMBOLS} /symbols",
        f"{NAME} /name",
    ),
    Case("the same size", fixed(4), fixed(4), "", ""),
    Case("a size grows", fixed(4), fixed(8), f"{SIZE} /size", f"{SIZE} /size"),
    Case("size zero", fixed(0), fixed(0), "", ""),
    Case("a fixed and bytes", fixed(4), "bytes", f"{TYPE} /", f"{TYPE} /"),
    Case("a fixed and a string", fixed(4), "string", f"{TYPE} /", f"{TYPE} /"),
    Case(
        "renamed with another size",
        fixed(4),
        fixed(8, "G"),
        f"{NAME} /name, {SIZE} /size",
        f"{NAME} /name, {SIZE} /size",
    ),
    Case(
        "a fixed inside grows",
        record(("f", fixed(4))),
        record(("f", fixed(5))),
        f"{SIZE} /fields/0/type/size",
        f"{SIZE} /fields/0/type/size",
    ),
]

CONTAINERS = [
    Case("the same array", array("int"), array("int"), "", ""),
    Case("items are widened", array("int"), array("long"), "", f"{TYPE} /items"),
    Case("items change", array("int"), array("string"), f"{TYPE} /items", f"{TYPE} /items"),
    Case("an array and its item", array("int"), "int", f"{TYPE} /", f"{TYPE} /"),
    Case("an array and a map", array("int"), mapping("int"), f"{TYPE} /", f"{TYPE} /"),
    Case(
        "arrays of arrays",
        array(array("int")),
        array(array("double")),
        "",
        f"{TYPE} /items/items",
    ),
    Case("the same map", mapping("int"), mapping("int"), "", ""),
    Case("values are widened", mapping("float"), mapping("double"), "", f"{TYPE} /values"),
    Case("values change", mapping("int"), mapping("null"), f"{TYPE} /values", f"{TYPE} /values"),
    Case("strings and bytes in a map", mapping("string"), mapping("bytes"), "", ""),
    Case(
        "a map of arrays",
        mapping(array("int")),
        mapping(array("boolean")),
        f"{TYPE} /values/items",
        f"{TYPE} /values/items",
    ),
    Case(
        "a record in an array gets a field",
        array(A),
        array(AB),
        f"{FIELD} /items/fields/1",
        "",
    ),
    Case(
        "an array in a record",
        record(("a", array("int"))),
        record(("a", array("string"))),
        f"{TYPE} /fields/0/type/items",
        f"{TYPE} /fields/0/type/items",
    ),
    Case(
        "items become optional",
        array("int"),
        array(["null", "int"]),
        "",
        f"{TYPE} /items/0",
    ),
]

UNIONS = [
    Case("the same union", ["null", "int"], ["null", "int"], "", ""),
    Case("branches change their order", ["null", "int"], ["int", "null"], "", ""),
    Case("a branch is added", ["null", "int"], ["null", "int", "string"], "", f"{BRANCH} /2"),
    Case("a branch is removed", ["null", "int", "string"], ["null", "int"], f"{BRANCH} /2", ""),
    Case("a type becomes a union of it", "int", ["int"], "", ""),
    Case("a type becomes optional", "int", ["null", "int"], "", f"{TYPE} /0"),
    Case(
        "a type becomes a wider one in a union",
        "int",
        ["null", "long"],
        "",
        f"{TYPE} /0, {TYPE} /1",
    ),
    Case(
        "a union without the type",
        "int",
        ["null", "string"],
        f"{BRANCH} /",
        f"{TYPE} /0, {TYPE} /1",
    ),
    Case("a branch is widened", ["null", "int"], ["null", "long"], "", f"{BRANCH} /1"),
    Case("a branch is narrowed", ["null", "long"], ["null", "int"], f"{BRANCH} /1", ""),
    Case(
        "nothing in common",
        ["int", "long"],
        ["null", "string"],
        f"{BRANCH} /0, {BRANCH} /1",
        f"{BRANCH} /0, {BRANCH} /1",
    ),
    Case("all branches go into one type", ["int", "long", "float"], "double", "", f"{BRANCH} /"),
    Case("one branch does not go in", ["int", "string"], "long", f"{TYPE} /1", f"{BRANCH} /"),
    Case("string and bytes are one", ["string"], ["bytes"], "", ""),
    Case("an empty union is always read", [], "int", "", f"{BRANCH} /"),
    Case("nothing is read into an empty union", "int", [], f"{BRANCH} /", ""),
    Case("arrays in unions", ["null", array("int")], ["null", array("long")], "", f"{BRANCH} /1"),
    Case(
        "maps in unions",
        ["null", mapping("string")],
        ["null", mapping("int")],
        f"{BRANCH} /1",
        f"{BRANCH} /1",
    ),
    Case(
        "a record in a union gets a field",
        ["null", A],
        ["null", AB],
        f"{BRANCH} /1",
        "",
    ),
    Case(
        "a record in a union gets a field with a default",
        ["null", A],
        ["null", record(("a", "int"), field("b", "int", 1))],
        "",
        "",
    ),
    Case(
        "a record in a union is renamed",
        ["null", A],
        ["null", {**A, "name": "S"}],
        f"{BRANCH} /1",
        f"{BRANCH} /1",
    ),
    Case(
        "a record in a union is renamed with an alias",
        ["null", A],
        ["null", {**A, "name": "S", "aliases": ["R"]}],
        "",
        f"{BRANCH} /1",
    ),
    Case(
        "records of two kinds in a union",
        [A, record(("x", "string"), name="T")],
        [record(("x", "string"), name="T"), A],
        "",
        "",
    ),
    Case(
        "a record joins a union",
        [A],
        [A, record(("x", "string"), name="T")],
        "",
        f"{BRANCH} /1",
    ),
    Case(
        "an enum in a union gets a symbol",
        ["null", enum("X")],
        ["null", enum("X Y")],
        "",
        f"{BRANCH} /1",
    ),
    Case(
        "an enum in a union gets a symbol, there is a default",
        ["null", enum("X", "X")],
        ["null", enum("X Y", "X")],
        "",
        "",
    ),
    Case(
        "a fixed in a union grows",
        ["null", fixed(1)],
        ["null", fixed(2)],
        f"{BRANCH} /1",
        f"{BRANCH} /1",
    ),
    Case(
        "an enum is not a string in a union",
        [enum("X")],
        ["string"],
        f"{BRANCH} /0",
        f"{BRANCH} /0",
    ),
    Case(
        "a union in a record loses a branch",
        record(("u", ["null", "int", "string"])),
        record(("u", ["null", "int"])),
        f"{BRANCH} /fields/0/type/2",
        "",
    ),
    Case(
        "an optional field becomes required",
        record(("u", ["null", "int"])),
        record(("u", "int")),
        f"{TYPE} /fields/0/type/0",
        "",
    ),
    Case(
        "a union in an array loses a branch",
        array(["int", "string"]),
        array(["int"]),
        f"{BRANCH} /items/1",
        "",
    ),
    Case(
        "a union of all numbers reads an int",
        "int",
        ["double", "float"],
        "",
        f"{TYPE} /0, {TYPE} /1",
    ),
]

RECURSIVE = [
    Case("a list of nodes", _tree(), _tree(), "", ""),
    Case("a node gets a field with a default", _tree(), _tree(field("w", "int", 0)), "", ""),
    Case(
        "a node gets a field",
        _tree(),
        _tree(("w", "int")),
        f"{FIELD} /fields/2",
        "",
    ),
    Case(
        "the value of a node is widened",
        _tree(),
        record(("v", "long"), ("next", ["null", "Node"]), name="Node"),
        "",
        f"{TYPE} /fields/0/type",
    ),
    Case(
        "nodes in arrays",
        record(("kids", array("Node")), name="Node"),
        record(("kids", array("Node")), field("v", "int", 0), name="Node"),
        "",
        "",
    ),
    Case(
        "two records that hold each other",
        record(("b", ["null", record(("a", ["null", "A"]), name="B")]), name="A"),
        record(
            ("b", ["null", record(("a", ["null", "A"]), field("x", "int", 1), name="B")]), name="A"
        ),
        "",
        "",
    ),
    Case(
        "a record used twice gets a field",
        record(("x", record(*_fields("a"), name="P")), ("y", "P")),
        record(("x", record(*_fields("a", "b"), name="P")), ("y", "P")),
        f"{FIELD} /fields/0/type/fields/1, {FIELD} /fields/0/type/fields/1",
        "",
    ),
]

LOGICAL = [
    Case("a logical type is added", "int", {"type": "int", "logicalType": "date"}, "", ""),
    Case(
        "a decimal changes its scale",
        {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
        {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 3},
        "",
        "",
    ),
    Case(
        "millis become micros",
        {"type": "long", "logicalType": "timestamp-millis"},
        {"type": "long", "logicalType": "timestamp-micros"},
        "",
        "",
    ),
    Case(
        "a date becomes a timestamp",
        {"type": "int", "logicalType": "date"},
        {"type": "long", "logicalType": "timestamp-millis"},
        "",
        f"{TYPE} /",
    ),
]

EMPLOYEE = "com.cloudurable.phonebook.Employee"
_NICK = field("nickName", ["null", "string"], None)

EMPLOYEES = [
    Case(
        "age is added with a default",
        record(("firstName", "string"), _NICK, ("lastName", "string"), name=EMPLOYEE),
        record(
            ("firstName", "string"),
            _NICK,
            ("lastName", "string"),
            field("age", "int", -1),
            name=EMPLOYEE,
        ),
        "",
        "",
    ),
    Case(
        "names are renamed without aliases",
        record(("firstName", "string"), ("lastName", "string"), name=EMPLOYEE),
        record(("fName", "string"), ("lName", "string"), name=EMPLOYEE),
        f"{FIELD} /fields/0, {FIELD} /fields/1",
        f"{FIELD} /fields/0, {FIELD} /fields/1",
    ),
]


def _promotions() -> list[Case]:
    head, *rows = (line.split() for line in PROMOTIONS.strip().splitlines())
    grid = {
        (row[0], writer): "" if cell == "yes" else f"{TYPE} /"
        for row in rows
        for writer, cell in zip(head[1:], row[1:], strict=True)
    }
    return [
        Case(f"{old} becomes {new}", old, new, grid[new, old], grid[old, new])
        for index, old in enumerate(PRIMITIVES)
        for new in PRIMITIVES[index:]
    ]


CASES = [
    *_promotions(),
    *RECORDS,
    *NAMES,
    *ENUMS_AND_FIXED,
    *CONTAINERS,
    *UNIONS,
    *RECURSIVE,
    *LOGICAL,
    *EMPLOYEES,
]
