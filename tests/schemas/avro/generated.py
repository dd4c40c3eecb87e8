"""Schemas, values of them and edits of them, drawn by hypothesis for the property tests."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
FIELD_NAMES = ("a", "b", "c", "d")
SYMBOLS = ("X", "Y", "Z", "W")
MAX_LEVEL = 3

Draw = Callable[[Any], Any]


class _Names:
    """Hands out names, because a schema may define each only once."""

    def __init__(self) -> None:
        self.count = 0

    def next(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"


@st.composite
def schemas(draw: Draw) -> Any:
    """A schema of a few types."""
    return _schema(draw, _Names(), 0)


def _schema(draw: Draw, names: _Names, level: int) -> Any:
    kinds = ["primitive", "primitive", "enum", "fixed"]
    if level < MAX_LEVEL:
        kinds += ["record", "record", "array", "map", "union", "union"]
    kind = draw(st.sampled_from(kinds))
    if kind == "primitive":
        return draw(st.sampled_from(PRIMITIVES))
    if kind == "enum":
        return _enum(draw, names)
    if kind == "fixed":
        return {"type": "fixed", "name": names.next("F"), "size": draw(st.integers(0, 3))}
    if kind == "array":
        return {"type": "array", "items": _schema(draw, names, level + 1)}
    if kind == "map":
        return {"type": "map", "values": _schema(draw, names, level + 1)}
    if kind == "union":
        return _union(draw, names, level)
    chosen = draw(st.lists(st.sampled_from(FIELD_NAMES), unique=True, max_size=3))
    fields = [{"name": name, "type": _schema(draw, names, level + 1)} for name in chosen]
    return {"type": "record", "name": names.next("R"), "fields": fields}


def _enum(draw: Draw, names: _Names) -> Any:
    symbols = draw(st.lists(st.sampled_from(SYMBOLS), unique=True, min_size=1))
    schema = {"type": "enum", "name": names.next("E"), "symbols": symbols}
    if draw(st.booleans()):
        schema["default"] = draw(st.sampled_from(symbols))
    return schema


def _union(draw: Draw, names: _Names, level: int) -> Any:
    branches: dict[str, Any] = {}
    for _ in range(draw(st.integers(1, 3))):
        branch = _schema(draw, names, level + 1)
        if not isinstance(branch, list):
            branches.setdefault(tag(branch), branch)
    return list(branches.values()) or ["null"]


def tag(schema: Any) -> str:
    """The name of a type inside a union."""
    if isinstance(schema, str):
        return schema
    return str(schema.get("name", schema["type"]))


def value(draw: Draw, schema: Any) -> Any:
    """A value in Avro's JSON encoding."""
    if isinstance(schema, list):
        branch = draw(st.sampled_from(schema))
        return None if branch == "null" else {tag(branch): value(draw, branch)}
    if isinstance(schema, str):
        return draw(_SCALARS[schema])
    if schema["type"] == "array":
        return [value(draw, schema["items"]) for _ in range(draw(st.integers(0, 2)))]
    if schema["type"] == "map":
        keys = draw(st.lists(st.text(max_size=2), unique=True, max_size=2))
        return {key: value(draw, schema["values"]) for key in keys}
    if schema["type"] == "enum":
        return draw(st.sampled_from(schema["symbols"]))
    if schema["type"] == "fixed":
        return draw(st.binary(min_size=schema["size"], max_size=schema["size"])).decode("latin-1")
    return {field["name"]: value(draw, field["type"]) for field in schema["fields"]}


_SCALARS = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    # Floats of few digits, which come back as they went in; the rest has a test of its own.
    "float": st.integers(-1000, 1000).map(lambda number: number / 8),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    # Bytes that are UTF-8 as well, because a reader may take them as a string.
    "bytes": st.text(st.characters(max_codepoint=127), max_size=4),
    "string": st.text(max_size=4),
}
_WIDER = {"int": ("long", "float", "double"), "long": ("float", "double"), "float": ("double",)}
_WIDER |= {"string": ("bytes",), "bytes": ("string",)}


def edited(draw: Draw, schema: Any) -> Any:
    """The schema after some edits, of which most keep it readable."""
    return _edit(draw, copy.deepcopy(schema))


def _edit(draw: Draw, schema: Any) -> Any:
    change = draw(st.integers(0, 9))
    if isinstance(schema, str):
        if change == 0:
            return draw(st.sampled_from(PRIMITIVES))
        return draw(st.sampled_from(_WIDER[schema])) if change < 4 and schema in _WIDER else schema
    if isinstance(schema, list):
        return _edit_union(draw, schema, change)
    kind = schema["type"]
    if kind in ("array", "map"):
        inner = "items" if kind == "array" else "values"
        schema[inner] = _edit(draw, schema[inner])
    elif kind == "enum":
        _edit_enum(draw, schema, change)
    elif kind == "record":
        _edit_record(draw, schema)
    if change in (7, 9) and "name" in schema:
        # A new name, sometimes with the old one as an alias.
        schema["aliases"] = [schema["name"]] if change == 9 or draw(st.booleans()) else []
        schema["name"] += "New"
    return ["null", schema] if change == 8 and draw(st.booleans()) else schema


def _edit_union(draw: Draw, schema: list[Any], change: int) -> Any:
    branches: dict[str, Any] = {}
    for branch in schema:
        after = _edit(draw, branch)
        if not isinstance(after, list):
            branches.setdefault(tag(after), after)
    if change < 2:
        branches.setdefault("string", "string")
    elif change == 2 and len(branches) > 1:
        branches.popitem()
    return draw(st.permutations(list(branches.values()))) or ["null"]


def _edit_enum(draw: Draw, schema: dict[str, Any], change: int) -> None:
    if change < 5:
        schema["symbols"] = draw(
            st.lists(st.sampled_from(SYMBOLS), unique=True, min_size=1, max_size=4)
        )
        if schema.get("default") not in schema["symbols"]:
            schema.pop("default", None)


def _edit_record(draw: Draw, schema: dict[str, Any]) -> None:
    for field in schema["fields"]:
        field["type"] = _edit(draw, field["type"])
        if draw(st.integers(0, 5)) == 0:
            field["aliases"] = [field["name"]]
            field["name"] += "New"
    if draw(st.integers(0, 3)) == 0:
        added = {"name": "added", "type": draw(st.sampled_from(["int", "string"]))}
        if draw(st.integers(0, 3)):
            added["default"] = 1 if added["type"] == "int" else "one"
        schema["fields"].append(added)
    if schema["fields"] and draw(st.integers(0, 3)) == 0:
        schema["fields"].pop(0)
    schema["fields"] = draw(st.permutations(schema["fields"]))
