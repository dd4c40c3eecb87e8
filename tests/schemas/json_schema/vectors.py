"""The form of a compatibility vector: two schemas, and what breaks in each direction.

A row is read as a registry reads it: `old` was registered, `new` is to follow it. `backward` lists
what stops the new schema from reading data of the old one, `forward` the reverse; each entry is a
kind and its path. `lenient_*` is given where the lenient policy answers otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any] | bool

STRING: dict[str, Any] = {"type": "string"}
INTEGER: dict[str, Any] = {"type": "integer"}
NUMBER: dict[str, Any] = {"type": "number"}
BOOLEAN: dict[str, Any] = {"type": "boolean"}
NULL: dict[str, Any] = {"type": "null"}

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_6 = "http://json-schema.org/draft-06/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class Row:
    """One change of a schema."""

    name: str
    old: Schema
    new: Schema
    backward: tuple[str, ...]
    forward: tuple[str, ...]
    lenient_backward: tuple[str, ...]
    lenient_forward: tuple[str, ...]


def row(
    name: str,
    old: Schema,
    new: Schema,
    backward: Sequence[str] = (),
    forward: Sequence[str] = (),
    *,
    lenient_backward: Sequence[str] | None = None,
    lenient_forward: Sequence[str] | None = None,
) -> Row:
    """A row; a lenient expectation that is left out is the strict one."""
    return Row(
        name,
        old,
        new,
        tuple(backward),
        tuple(forward),
        tuple(backward if lenient_backward is None else lenient_backward),
        tuple(forward if lenient_forward is None else lenient_forward),
    )


def open_object(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    """An object that may hold anything else."""
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, **needed, **more}


def closed_object(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    """An object that may hold nothing else."""
    return open_object(properties, *required, additionalProperties=False, **more)


def array(**keywords: Any) -> dict[str, Any]:
    """An array."""
    return {"type": "array", **keywords}
