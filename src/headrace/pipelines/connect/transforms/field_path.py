"""Which field of a value is meant: the syntax V1, a name, and V2, names with dots between them.

In V2 a name that has dots stands between backticks; a backtick within it, if a dot follows, is
written with a backslash before it.
"""

from __future__ import annotations

from typing import Final

from headrace.pipelines.connect.config.definition import Key, Kind, one_of
from headrace.pipelines.connect.faults import ConfigException, DataException
from headrace.pipelines.connect.model.schema import Field, Schema, Struct, Type
from headrace.pipelines.connect.transforms.shapes import require_map, require_struct

_NESTED: Final = "nested field access"

SYNTAX_VERSION: Final = Key(
    "field.syntax.version",
    Kind.STRING,
    "V1",
    "How fields are named. V1: by the name of a field of the whole value. V2: by a path, with dots "
    "between the names of nested fields, and backticks around a name that has dots itself.",
    "HIGH",
    one_of("V1", "V2", ignore_case=True),
)


class FieldPath:
    """The names that lead to a field, outermost first."""

    __slots__ = ("steps", "text")

    def __init__(self, text: str, version: str) -> None:
        """ConfigException if a backtick has no counterpart."""
        self.text = text
        self.steps = (text,) if version.upper() == "V1" else _steps(text)

    def field_in(self, schema: Schema) -> Field | None:
        """The field in a struct's schema, if it has it; DataException if a step has no fields."""
        current = schema
        found: Field | None = None
        for step in self.steps:
            if current.type is not Type.STRUCT:
                raise DataException("Cannot look up fields on non-struct type")
            found = current.field(step)
            if found is None:
                return None
            current = found.schema
        return found

    def of_struct(self, value: Struct, *, replace_null: bool) -> object:
        """The field's value, None if there is no such field."""
        current = value
        for step in self.steps[:-1]:
            if current.schema.field(step) is None:
                return None
            inner = current[step] if replace_null else current.given(step)
            if inner is None:
                return None
            current = require_struct(inner, _NESTED)
        last = self.steps[-1]
        if current.schema.field(last) is None:
            return None
        return current[last] if replace_null else current.given(last)

    def of_map(self, value: dict[str, object]) -> object:
        """The value in a map without a schema, None if there is no such entry."""
        current = value
        for step in self.steps[:-1]:
            inner = current.get(step)
            if inner is None:
                return None
            current = require_map(inner, _NESTED)
        return current.get(self.steps[-1])


def _steps(path: str) -> tuple[str, ...]:
    steps: list[str] = []
    at = 0
    while at < len(path):
        if path[at] == "`":
            step, at = _in_backticks(path, at)
        else:
            end = path.find(".", at)
            step, at = (path[at:], len(path)) if end < 0 else (path[at:end], end + 1)
        steps.append(step)
    if not path or path.endswith("."):
        steps.append("")
    return tuple(steps)


def _in_backticks(path: str, begin: int) -> tuple[str, int]:
    """A name between backticks, and where the next one begins."""
    name = ""
    start = at = begin + 1
    while (at := path.find("`", at)) >= 0:
        escaped = path[at - 1] == "\\"
        last = at == len(path) - 1
        if last and not escaped:
            return name + path[start:at], at + 1
        if not last and path[at + 1] == ".":
            if not escaped:
                return name + path[start:at], at + 2
            name += path[start : at - 1] + "`"
            start = at + 1
        at += 1
    raise ConfigException(
        f"Incomplete backtick pair in path: [{path}], "
        f"consider adding a backslash before backtick at position {begin} to escape it"
    )
