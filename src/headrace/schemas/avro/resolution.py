"""Whether a reader's schema can read what a writer's schema wrote, by Avro's resolution rules.

The rules are the specification's; names of the faults, their texts and their paths are those of
Avro's Java library, because tools look for them. Types may contain themselves, so every pair of
named types is judged once: a pair that is met again while it is being judged is taken as fitting,
and proven wrong, if it is, by another of its parts.
"""

from __future__ import annotations

from typing import Final

from headrace.schemas.avro.printing import to_text
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
    Primitive,
    Record,
    Union,
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
_SHOWN_CHARACTERS: Final = 200
_NAMELESS: Final = ""


def find_incompatibilities(reader: AvroType, writer: AvroType) -> list[Incompatibility]:
    """What stops the reader; an empty list means that it reads everything the writer wrote."""
    try:
        return _Comparison().compare(reader, writer, "")
    except RecursionError:
        raise InvalidSchema("The schemas nest too deeply to be compared") from None


class _Comparison:
    """One check: what is known of the pairs of records that were met."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], list[Incompatibility]] = {}
        # The pairs that count as fitting, in the order in which they were first met.
        self._fitting: list[tuple[int, int]] = []
        self._branches: dict[int, dict[str | Name, list[AvroType]]] = {}
        self._comparisons = 0

    def compare(self, reader: AvroType, writer: AvroType, path: str) -> list[Incompatibility]:
        """The faults between two types, the reader's of which stands at `path`."""
        self._spend(1)
        if not isinstance(reader, Record) or not isinstance(writer, Record):
            return self._judge(reader, writer, path)
        pair = (id(reader), id(writer))
        known = self._known.get(pair)
        if known is not None:
            return known
        before = len(self._fitting)
        self._known[pair] = []
        self._fitting.append(pair)
        found = [*_name_fault(reader, writer, path), *self._fields(reader, writer, path)]
        if found:
            self._spend(_COST_OF_A_FAULT * len(found))
            # What was found to fit meanwhile may rest on the assumption that this pair fits.
            for doubtful in self._fitting[before:]:
                del self._known[doubtful]
            del self._fitting[before:]
            self._known[pair] = found
        return found

    def _spend(self, comparisons: int) -> None:
        self._comparisons += comparisons
        if self._comparisons > MAX_COMPARISONS:
            raise InvalidSchema(
                f"The schemas are too large to be compared: more than {MAX_COMPARISONS} pairs"
            )

    def _judge(self, reader: AvroType, writer: AvroType, path: str) -> list[Incompatibility]:
        if isinstance(writer, Union):
            return self._writer_union(reader, writer, path)
        if isinstance(reader, Union):
            return self._reader_union(reader, writer, path)
        if isinstance(reader, Enum) and isinstance(writer, Enum):
            return [*_name_fault(reader, writer, path), *_symbol_fault(reader, writer, path)]
        if isinstance(reader, Fixed) and isinstance(writer, Fixed):
            return [*_name_fault(reader, writer, path), *_size_fault(reader, writer, path)]
        if isinstance(reader, Array) and isinstance(writer, Array):
            return self.compare(reader.items, writer.items, f"{path}/items")
        if isinstance(reader, Map) and isinstance(writer, Map):
            return self.compare(reader.values, writer.values, f"{path}/values")
        if isinstance(reader, Primitive) and isinstance(writer, Primitive):
            same = reader.kind == writer.kind
            if same or writer.kind in _PROMOTIONS.get(reader.kind, ()):
                return []
        return [_type_fault(reader, writer, path)]

    def _writer_union(self, reader: AvroType, writer: Union, path: str) -> list[Incompatibility]:
        """The reader must take each of the writer's branches."""
        found: list[Incompatibility] = []
        for index, branch in enumerate(writer.branches):
            where = f"{path}/{index}"
            if not isinstance(reader, Union):
                found.extend(self.compare(reader, branch, where))
            elif self._reader_union(reader, branch, where):
                found.append(_branch_fault(reader, branch, where))
        return found

    def _reader_union(self, reader: Union, writer: AvroType, path: str) -> list[Incompatibility]:
        """One of the reader's branches must take the writer's type."""
        for branch in self._candidates(reader, writer):
            if not self.compare(branch, writer, path):
                return []
        return [_branch_fault(reader, writer, path)]

    def _candidates(self, reader: Union, writer: AvroType) -> list[AvroType]:
        """The branches that may take the writer's type: those of its name, or all without one."""
        index = self._branches.get(id(reader))
        if index is None:
            index = self._branches[id(reader)] = _index(reader)
        if isinstance(writer, Record | Enum | Fixed):
            return [*index.get(writer.name.name, ()), *index.get(writer.name, ())]
        return index.get(_NAMELESS, [])

    def _fields(self, reader: Record, writer: Record, path: str) -> list[Incompatibility]:
        found: list[Incompatibility] = []
        for index, field in enumerate(reader.fields):
            where = f"{path}/fields/{index}"
            sources = [
                writer.by_name[name]
                for name in (field.name, *field.aliases)
                if name in writer.by_name
            ]
            if len(sources) > 1:
                found.append(_ambiguous_fault(field, sources, writer, where))
            elif sources:
                found.extend(self.compare(field.type, sources[0].type, f"{where}/type"))
            elif field.default is NO_DEFAULT:
                found.append(_missing_fault(field, writer, where))
        return found


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


def _name_fault(reader: Named, writer: Named, path: str) -> list[Incompatibility]:
    if _same_name(reader, writer):
        return []
    where = f"{path}/name"
    return [
        Incompatibility(
            "NAME_MISMATCH",
            where,
            f"'{where}': the two schemas have different names",
            before=writer.name.full,
            after=reader.name.full,
            additional_info=f"expected: {writer.name.full}",
        )
    ]


def _size_fault(reader: Fixed, writer: Fixed, path: str) -> list[Incompatibility]:
    if reader.size == writer.size:
        return []
    where = f"{path}/size"
    return [
        Incompatibility(
            "FIXED_SIZE_MISMATCH",
            where,
            f"'{where}': values of {reader.size} bytes in the {{reader}} schema, of {writer.size} "
            "in the {writer} one",
            before=str(writer.size),
            after=str(reader.size),
            additional_info=f"expected: {writer.size}, found: {reader.size}",
        )
    ]


def _symbol_fault(reader: Enum, writer: Enum, path: str) -> list[Incompatibility]:
    missing = sorted(set(writer.symbols) - set(reader.symbols))
    if not missing or reader.default is not None:
        return []
    where = f"{path}/symbols"
    symbols = f"[{', '.join(missing)}]"
    return [
        Incompatibility(
            "MISSING_ENUM_SYMBOLS",
            where,
            f"'{where}': the {{reader}} schema knows no {symbols}, which the {{writer}} one may "
            "write, and its enum has no default",
            before=_cut(", ".join(writer.symbols)),
            after=_cut(", ".join(reader.symbols)),
            additional_info=symbols,
        )
    ]


def _missing_fault(field: Field, writer: Record, path: str) -> Incompatibility:
    if isinstance(field.type, Enum) and field.type.default is not None:
        # The default of an enum is for unknown symbols, not for a missing field. Java finds out by
        # comparing the enum with the whole record, and its report is what tools know.
        return _type_fault(field.type, writer, f"{path}/type")
    return Incompatibility(
        "READER_FIELD_MISSING_DEFAULT_VALUE",
        path,
        f"'{path}': the {{writer}} schema does not write the field '{field.name}', and the "
        "{reader} one has no default for it",
        after=f"{field.name}: {_show(field.type)}",
        additional_info=field.name,
    )


def _ambiguous_fault(
    field: Field, sources: list[Field], writer: Record, path: str
) -> Incompatibility:
    names = ", ".join(each.name for each in sources)
    return Incompatibility(
        "READER_FIELD_AMBIGUOUS",
        path,
        f"'{path}': the field '{field.name}' of the {{reader}} schema matches, by its name and "
        f"aliases, more than one field of {writer.name.full} in the {{writer}} one",
        before=_cut(names),
        after=field.name,
        additional_info=names,
    )


def _type_fault(reader: AvroType, writer: AvroType, path: str) -> Incompatibility:
    where = path or "/"
    return Incompatibility(
        "TYPE_MISMATCH",
        where,
        f"'{where}': the {{reader}} schema cannot read as {reader.kind} what the {{writer}} one "
        f"writes as {writer.kind}",
        before=_show(writer),
        after=_show(reader),
        additional_info=(
            f"reader type: {reader.kind.upper()} not compatible "
            f"with writer type: {writer.kind.upper()}"
        ),
    )


def _branch_fault(reader: Union, writer: AvroType, path: str) -> Incompatibility:
    where = path or "/"
    return Incompatibility(
        "MISSING_UNION_BRANCH",
        where,
        f"'{where}': no branch of the union in the {{reader}} schema takes the {writer.kind} that "
        "the {writer} one may write",
        before=_show(writer),
        after=_cut(", ".join(reader.tags[:_SHOWN_CHARACTERS])),
        additional_info=f"reader union lacking writer type: {writer.kind.upper()}",
    )


def _show(node: AvroType) -> str:
    """The type on a line; a record or an enum by its name, which says more than its text."""
    if isinstance(node, Record | Enum | Fixed):
        return f"{node.kind} {node.name.full}"
    if isinstance(node, Union):
        return _cut(", ".join(node.tags[:_SHOWN_CHARACTERS]))
    if isinstance(node, Array | Map):
        return f"{node.kind} of {_show(node.items if isinstance(node, Array) else node.values)}"
    return _cut(to_text(node))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
