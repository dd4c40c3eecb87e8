"""How values that were written with one schema are read with another, by Avro's resolution rules.

The rules are the specification's, as Avro's Java library has them. One walk over both schemas gives
the registry its list of incompatibilities and a decoder the way from the writer's types to the
reader's, so that what is called compatible can be read.

Types may contain themselves, so every pair of records is judged once: a pair that is met again
while it is being judged is taken as fitting, and proven wrong, if it is, by another of its parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from headrace.schemas.avro.mismatches import (
    ambiguous_fault,
    branch_fault,
    missing_fault,
    name_fault,
    size_fault,
    symbol_fault,
    type_fault,
)
from headrace.schemas.avro.schema import (
    NO_DEFAULT,
    Array,
    AvroType,
    Enum,
    Field,
    Fixed,
    Map,
    Name,
    Named,
    Record,
    Union,
    tag,
)
from headrace.schemas.incompatible import Incompatibility
from headrace.schemas.model import InvalidSchema

MAX_COMPARISONS: Final = 500_000
"""How many pairs of types are compared before two schemas are refused as too large for it."""
_COST_OF_A_FAULT: Final = 8
"""A fault is described in words, which takes as long as this many comparisons."""

_PROMOTIONS: Final = {
    "long": frozenset(("int",)),
    "float": frozenset(("int", "long")),
    "double": frozenset(("int", "long", "float")),
    "bytes": frozenset(("string",)),
    "string": frozenset(("bytes",)),
}
"""What else a reader of the key may be given."""
_NAMELESS: Final = ""


@dataclass(eq=False, slots=True)
class Resolution:
    """How a value of the type `writer` becomes one of the type `reader`.

    `faults` says what stops the reader: with none, it reads everything the writer may write.
    With some, it reads nothing if `is_refused`; otherwise values of a writer's union and symbols of
    an enum that do not concern them.

    `parts` are those of what is inside: of the items or values; for a union of the writer, one for
    each of its branches; for a union of the reader alone, the one with the branch that takes the
    value. `fields` has for a field of the reader's record, by its index, the writer's field that it
    is read from; fields that are not there take their defaults.
    """

    writer: AvroType
    reader: AvroType
    faults: list[Incompatibility] = field(default_factory=list)
    is_refused: bool = False
    parts: list[Resolution] = field(default_factory=list)
    fields: dict[int, tuple[Field, Resolution]] = field(default_factory=dict)


def resolve(writer: AvroType, reader: AvroType) -> Resolution:
    """How the reader reads what the writer wrote."""
    return _resolve(_Resolver(by_alias=True), writer, reader)


def resolve_own(schema: AvroType) -> Resolution:
    """How a schema reads its own values; aliases are for the values of other schemas."""
    return _resolve(_Resolver(by_alias=False), schema, schema)


def _resolve(resolver: _Resolver, writer: AvroType, reader: AvroType) -> Resolution:
    try:
        return resolver.resolve(reader, writer, "")
    except RecursionError:
        raise InvalidSchema("The schemas nest too deeply to be compared") from None


class _Resolver:
    """One walk: what is known of the pairs of records that were met."""

    def __init__(self, *, by_alias: bool) -> None:
        self._by_alias = by_alias
        self._known: dict[tuple[int, int], Resolution] = {}
        # The pairs that count as fitting, in the order in which they were first met.
        self._fitting: list[tuple[int, int]] = []
        self._branches: dict[int, dict[str | Name, list[AvroType]]] = {}
        self._comparisons = 0

    def resolve(self, reader: AvroType, writer: AvroType, path: str) -> Resolution:
        """The resolution of two types, the reader's of which stands at `path`."""
        self._spend(1)
        if isinstance(reader, Record) and isinstance(writer, Record):
            return self._records(reader, writer, path)
        if isinstance(writer, Union):
            return self._writer_union(reader, writer, path)
        if isinstance(reader, Union):
            return self._reader_union(reader, writer, path)
        if isinstance(reader, Array) and isinstance(writer, Array):
            return _around(
                reader, writer, self.resolve(reader.items, writer.items, f"{path}/items")
            )
        if isinstance(reader, Map) and isinstance(writer, Map):
            inner = self.resolve(reader.values, writer.values, f"{path}/values")
            return _around(reader, writer, inner)
        return _scalars(reader, writer, path)

    def _spend(self, comparisons: int) -> None:
        self._comparisons += comparisons
        if self._comparisons > MAX_COMPARISONS:
            raise InvalidSchema(
                f"The schemas are too large to be compared: more than {MAX_COMPARISONS} pairs"
            )

    def _records(self, reader: Record, writer: Record, path: str) -> Resolution:
        pair = (id(reader), id(writer))
        known = self._known.get(pair)
        if known is not None:
            return known
        before = len(self._fitting)
        made = self._known[pair] = Resolution(reader=reader, writer=writer)
        self._fitting.append(pair)
        # While its fields are judged the pair has no faults for who meets it again.
        found: list[Incompatibility] = []
        if not _same_name(reader, writer):
            found.append(name_fault(reader, writer, path))
        is_refused = bool(found)
        for index, each in enumerate(reader.fields):
            faults, stops = self._field(made, index, each, writer, f"{path}/fields/{index}")
            found.extend(faults)
            is_refused |= stops
        if found:
            self._spend(_COST_OF_A_FAULT * len(found))
            # What was found to fit meanwhile may rest on the assumption that this pair fits.
            for doubtful in self._fitting[before:]:
                del self._known[doubtful]
            del self._fitting[before:]
            self._known[pair] = made
        made.faults, made.is_refused = found, is_refused
        return made

    def _field(
        self, made: Resolution, index: int, reader: Field, writer: Record, path: str
    ) -> tuple[list[Incompatibility], bool]:
        """The faults of a field of the reader's record, and whether they stop every value."""
        names = (reader.name, *reader.aliases) if self._by_alias else (reader.name,)
        sources = [writer.by_name[name] for name in names if name in writer.by_name]
        if len(sources) > 1:
            return [ambiguous_fault(reader, sources, writer, path)], True
        if sources:
            inner = self.resolve(reader.type, sources[0].type, f"{path}/type")
            made.fields[index] = sources[0], inner
            return inner.faults, inner.is_refused
        if reader.default is NO_DEFAULT:
            return [missing_fault(reader, writer, path)], True
        return [], False

    def _writer_union(self, reader: AvroType, writer: Union, path: str) -> Resolution:
        """The reader must take each of the writer's branches."""
        parts: list[Resolution] = []
        for index, branch in enumerate(writer.branches):
            where = f"{path}/{index}"
            if isinstance(reader, Union):
                parts.append(self._reader_union(reader, branch, where))
            else:
                parts.append(self.resolve(reader, branch, where))
        faults = [fault for part in parts for fault in part.faults]
        is_refused = bool(parts) and all(part.is_refused for part in parts)
        return Resolution(writer, reader, faults, is_refused, parts)

    def _reader_union(self, reader: Union, writer: AvroType, path: str) -> Resolution:
        """One of the reader's branches must take the writer's type."""
        in_part: list[Resolution] = []
        for branch in self._candidates(reader, writer):
            made = self.resolve(branch, writer, path)
            if not made.faults:
                return Resolution(writer, reader, parts=[made])
            if not made.is_refused:
                in_part.append(made)
        fault = branch_fault(reader, writer, path)
        return Resolution(writer, reader, [fault], not in_part, in_part[:1])

    def _candidates(self, reader: Union, writer: AvroType) -> list[AvroType]:
        """The branches that may take the writer's type, the very same type first.

        Those of its name, or all without one: an int is not read as the long before the int.
        """
        index = self._branches.get(id(reader))
        if index is None:
            index = self._branches[id(reader)] = _index(reader)
        if isinstance(writer, Record | Enum | Fixed):
            named = [*index.get(writer.name.name, ()), *index.get(writer.name, ())]
            return sorted(named, key=lambda branch: tag(branch) != writer.name.full)
        return sorted(index.get(_NAMELESS, ()), key=lambda branch: branch.kind != writer.kind)


def _around(reader: AvroType, writer: AvroType, inner: Resolution) -> Resolution:
    return Resolution(writer, reader, inner.faults, inner.is_refused, [inner])


def _scalars(reader: AvroType, writer: AvroType, path: str) -> Resolution:
    faults: list[Incompatibility] = []
    stops = True
    if isinstance(reader, Enum) and isinstance(writer, Enum):
        stops = not _same_name(reader, writer)
        if stops:
            faults.append(name_fault(reader, writer, path))
        if reader.default is None and not set(writer.symbols) <= set(reader.symbols):
            faults.append(symbol_fault(reader, writer, path))
    elif isinstance(reader, Fixed) and isinstance(writer, Fixed):
        if not _same_name(reader, writer):
            faults.append(name_fault(reader, writer, path))
        if reader.size != writer.size:
            faults.append(size_fault(reader, writer, path))
    elif reader.kind != writer.kind and writer.kind not in _PROMOTIONS.get(reader.kind, ()):
        faults.append(type_fault(reader, writer, path))
    return Resolution(writer, reader, faults, bool(faults) and stops)


def _index(union: Union) -> dict[str | Name, list[AvroType]]:
    """The branches of a union by name and by alias, so that a large one is not searched."""
    index: dict[str | Name, list[AvroType]] = {}
    for branch in union.branches:
        if isinstance(branch, Record | Enum | Fixed):
            keys: list[str | Name] = [branch.name.name, *branch.aliases]
        else:
            keys = [_NAMELESS]
        for key in keys:
            index.setdefault(key, []).append(branch)
    return index


def _same_name(reader: Named, writer: Named) -> bool:
    """Namespaces do not count, as the specification says; aliases are the reader's, in full."""
    return reader.name.name == writer.name.name or writer.name in reader.aliases
