"""The kinds of differences between two Protobuf schemas, under Confluent's names.

A difference is either harmless on the wire or not, by what Protobuf's documentation says on
updating messages; the one list of harmless kinds here decides that for the whole package.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from headrace.schemas.incompatible import Incompatibility


class Kind(StrEnum):
    """What can differ."""

    PACKAGE_CHANGED = "PACKAGE_CHANGED"
    MESSAGE_ADDED = "MESSAGE_ADDED"
    MESSAGE_REMOVED = "MESSAGE_REMOVED"
    MESSAGE_MOVED = "MESSAGE_MOVED"
    ENUM_ADDED = "ENUM_ADDED"
    ENUM_REMOVED = "ENUM_REMOVED"
    ENUM_CONST_ADDED = "ENUM_CONST_ADDED"
    ENUM_CONST_CHANGED = "ENUM_CONST_CHANGED"
    ENUM_CONST_REMOVED = "ENUM_CONST_REMOVED"
    FIELD_ADDED = "FIELD_ADDED"
    FIELD_REMOVED = "FIELD_REMOVED"
    FIELD_NAME_CHANGED = "FIELD_NAME_CHANGED"
    FIELD_KIND_CHANGED = "FIELD_KIND_CHANGED"
    FIELD_SCALAR_KIND_CHANGED = "FIELD_SCALAR_KIND_CHANGED"
    FIELD_NAMED_TYPE_CHANGED = "FIELD_NAMED_TYPE_CHANGED"
    FIELD_NUMERIC_LABEL_CHANGED = "FIELD_NUMERIC_LABEL_CHANGED"
    FIELD_STRING_OR_BYTES_LABEL_CHANGED = "FIELD_STRING_OR_BYTES_LABEL_CHANGED"
    REQUIRED_FIELD_ADDED = "REQUIRED_FIELD_ADDED"
    REQUIRED_FIELD_REMOVED = "REQUIRED_FIELD_REMOVED"
    ONEOF_ADDED = "ONEOF_ADDED"
    ONEOF_REMOVED = "ONEOF_REMOVED"
    ONEOF_FIELD_ADDED = "ONEOF_FIELD_ADDED"
    ONEOF_FIELD_REMOVED = "ONEOF_FIELD_REMOVED"
    ONEOF_FIELD_MOVED_TO_TOP_LEVEL = "ONEOF_FIELD_MOVED_TO_TOP_LEVEL"
    MULTIPLE_FIELDS_MOVED_TO_ONEOF = "MULTIPLE_FIELDS_MOVED_TO_ONEOF"
    FIELD_MOVED_TO_EXISTING_ONEOF = "FIELD_MOVED_TO_EXISTING_ONEOF"


HARMLESS: Final = frozenset(
    {
        Kind.MESSAGE_ADDED,
        Kind.MESSAGE_MOVED,
        Kind.ENUM_ADDED,
        Kind.ENUM_REMOVED,
        Kind.ENUM_CONST_ADDED,
        Kind.ENUM_CONST_CHANGED,
        Kind.ENUM_CONST_REMOVED,
        Kind.FIELD_ADDED,
        Kind.FIELD_REMOVED,
        Kind.FIELD_NAME_CHANGED,
        Kind.FIELD_STRING_OR_BYTES_LABEL_CHANGED,
        Kind.ONEOF_ADDED,
        Kind.ONEOF_REMOVED,
        Kind.ONEOF_FIELD_ADDED,
        Kind.ONEOF_FIELD_MOVED_TO_TOP_LEVEL,
    }
)

_DESCRIPTIONS: Final = {
    Kind.PACKAGE_CHANGED: (
        "'{path}': the {reader} schema is in another package than the {writer} one"
    ),
    Kind.MESSAGE_REMOVED: "'{path}': the {reader} schema has no such message, the {writer} one has",
    Kind.FIELD_KIND_CHANGED: (
        "'{path}': what the {writer} schema writes there is of another kind than what the {reader} "
        "one reads"
    ),
    Kind.FIELD_SCALAR_KIND_CHANGED: (
        "'{path}': the {writer} schema writes a scalar in a form that the {reader} one reads as "
        "another value"
    ),
    Kind.FIELD_NAMED_TYPE_CHANGED: (
        "'{path}': the {reader} schema reads another message or enum than the {writer} one writes"
    ),
    Kind.FIELD_NUMERIC_LABEL_CHANGED: (
        "'{path}': a number is repeated in one of the {reader} and the {writer} schema and single "
        "in the other"
    ),
    Kind.REQUIRED_FIELD_ADDED: (
        "'{path}': the {reader} schema requires a field that the {writer} one does not write"
    ),
    Kind.REQUIRED_FIELD_REMOVED: (
        "'{path}': the {reader} schema lacks a field that the {writer} one requires"
    ),
    Kind.ONEOF_FIELD_REMOVED: (
        "'{path}': the {reader} schema lacks a field of a oneof that the {writer} one may set"
    ),
    Kind.MULTIPLE_FIELDS_MOVED_TO_ONEOF: (
        "'{path}': several fields that the {writer} schema may set together exclude each other in "
        "a oneof of the {reader} one"
    ),
    Kind.FIELD_MOVED_TO_EXISTING_ONEOF: (
        "'{path}': a field that stands alone in the {writer} schema belongs to a oneof of the "
        "{reader} one that was there before"
    ),
}


def difference(kind: Kind, path: str, before: str = "", after: str = "") -> Incompatibility:
    """One difference; of the harmless ones nobody needs a description."""
    description = _DESCRIPTIONS.get(kind, "").replace("{path}", path)
    return Incompatibility(str(kind), path, description, before, after)


def is_harmless(found: Incompatibility) -> bool:
    """Whether the reader gets all that the writer wrote, as far as it asks for it."""
    return Kind(found.kind) in HARMLESS
