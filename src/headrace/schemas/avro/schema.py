"""The tree that the text of an Avro schema becomes.

Plain data. A type that is named may stand in several places, and inside itself, so nodes are
compared by identity and never walked without a memory of what was seen. Properties that Avro does
not know are kept, in their order, because the registry must give back what it was given.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Properties: TypeAlias = dict[str, Json]

PRIMITIVES: Final = frozenset(
    ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
)
COMPLEX: Final = frozenset(("record", "enum", "array", "map", "union", "fixed"))


class Name(NamedTuple):
    """A name and the namespace that it lives in; None is the null namespace."""

    space: str | None
    name: str

    @property
    def full(self) -> str:
        """The name with its namespace."""
        return self.name if self.space is None else f"{self.space}.{self.name}"


def make_name(text: str, space: str | None) -> Name:
    """A name as it is written: dots in it overrule the namespace around it."""
    before, dot, last = text.rpartition(".")
    return Name((before if dot else space) or None, last)


class Missing(enum.Enum):
    """The type of `NO_DEFAULT`; None will not do, because null is a usual default."""

    NO_DEFAULT = enum.auto()


NO_DEFAULT: Final = Missing.NO_DEFAULT
Default: TypeAlias = "Json | Missing"


@dataclass(eq=False, slots=True)
class Primitive:
    """One of the eight types without parts; `kind` is its name."""

    kind: str
    props: Properties


@dataclass(eq=False, slots=True)
class Array:
    """A list of values of one type."""

    items: AvroType
    props: Properties
    kind: str = "array"


@dataclass(eq=False, slots=True)
class Map:
    """Values of one type under keys that are strings."""

    values: AvroType
    props: Properties
    kind: str = "map"


@dataclass(eq=False, slots=True)
class Union:
    """One of several types; `tags` are their names in Avro's JSON encoding."""

    branches: list[AvroType]
    tags: list[str]
    kind: str = "union"


@dataclass(eq=False, slots=True)
class Fixed:
    """Exactly `size` bytes."""

    name: Name
    doc: str | None
    size: int
    aliases: list[Name]
    props: Properties
    kind: str = "fixed"


@dataclass(eq=False, slots=True)
class Enum:
    """One of some symbols; `default` is what a reader makes of a symbol that it does not know."""

    name: Name
    doc: str | None
    symbols: list[str]
    default: str | None
    aliases: list[Name]
    props: Properties
    kind: str = "enum"


@dataclass(eq=False, slots=True)
class Field:
    """A part of a record."""

    name: str
    type: AvroType
    doc: str | None = None
    default: Default = NO_DEFAULT
    order: str = "ascending"
    aliases: list[str] = field(default_factory=list)
    props: Properties = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Record:
    """Values of several types under fixed names; `is_error` is a spelling that protocols use."""

    name: Name
    doc: str | None
    is_error: bool
    fields: list[Field]
    aliases: list[Name]
    props: Properties
    kind: str = "record"
    by_name: dict[str, Field] = field(default_factory=dict)


Named: TypeAlias = Record | Enum | Fixed
AvroType: TypeAlias = Primitive | Array | Map | Union | Fixed | Enum | Record


def tag(node: AvroType) -> str:
    """What a value of this type is called inside a union: the full name, or the kind."""
    return node.name.full if isinstance(node, Record | Enum | Fixed) else node.kind
