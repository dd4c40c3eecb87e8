"""What is said of two types that do not fit: kinds, paths and texts of Avro's Java library.

Tools look for them. Which types do not fit is for `resolution` to decide.
"""

from __future__ import annotations

from typing import Final

from headrace.schemas.avro.printing import to_text
from headrace.schemas.avro.schema import (
    Array,
    AvroType,
    Enum,
    Field,
    Fixed,
    Map,
    Named,
    Record,
    Union,
)
from headrace.schemas.incompatible import Incompatibility

_SHOWN_CHARACTERS: Final = 200


def name_fault(reader: Named, writer: Named, path: str) -> Incompatibility:
    where = f"{path}/name"
    return Incompatibility(
        "NAME_MISMATCH",
        where,
        f"'{where}': the two schemas have different names",
        before=writer.name.full,
        after=reader.name.full,
        additional_info=f"expected: {writer.name.full}",
    )


def size_fault(reader: Fixed, writer: Fixed, path: str) -> Incompatibility:
    where = f"{path}/size"
    return Incompatibility(
        "FIXED_SIZE_MISMATCH",
        where,
        f"'{where}': values of {reader.size} bytes in the {{reader}} schema, of {writer.size} "
        "in the {writer} one",
        before=str(writer.size),
        after=str(reader.size),
        additional_info=f"expected: {writer.size}, found: {reader.size}",
    )


def symbol_fault(reader: Enum, writer: Enum, path: str) -> Incompatibility:
    where = f"{path}/symbols"
    symbols = f"[{', '.join(sorted(set(writer.symbols) - set(reader.symbols)))}]"
    return Incompatibility(
        "MISSING_ENUM_SYMBOLS",
        where,
        f"'{where}': the {{reader}} schema knows no {symbols}, which the {{writer}} one may "
        "write, and its enum has no default",
        before=_cut(", ".join(writer.symbols)),
        after=_cut(", ".join(reader.symbols)),
        additional_info=symbols,
    )


def missing_fault(field: Field, writer: Record, path: str) -> Incompatibility:
    if isinstance(field.type, Enum) and field.type.default is not None:
        # The default of an enum is for unknown symbols, not for a missing field. Java finds out by
        # comparing the enum with the whole record, and its report is what tools know.
        return type_fault(field.type, writer, f"{path}/type")
    return Incompatibility(
        "READER_FIELD_MISSING_DEFAULT_VALUE",
        path,
        f"'{path}': the {{writer}} schema does not write the field '{field.name}', and the "
        "{reader} one has no default for it",
        after=f"{field.name}: {_show(field.type)}",
        additional_info=field.name,
    )


def ambiguous_fault(
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


def type_fault(reader: AvroType, writer: AvroType, path: str) -> Incompatibility:
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


def branch_fault(reader: Union, writer: AvroType, path: str) -> Incompatibility:
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
