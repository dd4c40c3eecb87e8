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
        "The package at '{path}' in the {reader} schema does not match the package in the "
        "{writer} schema"
    ),
    Kind.MESSAGE_REMOVED: (
        "The {reader} schema is missing a MESSAGE type at path '{path}' in the {writer} schema"
    ),
    Kind.FIELD_KIND_CHANGED: (
        "The type of a field at path '{path}' in the {reader} schema does not match the "
        "{writer} schema"
    ),
    Kind.FIELD_SCALAR_KIND_CHANGED: (
        "The kind of a SCALAR field at path '{path}' in the {reader} schema does not match its "
        "kind in the {writer} schema"
    ),
    Kind.FIELD_NAMED_TYPE_CHANGED: (
        "The type of a MESSAGE field at path '{path}' in the {reader} schema does not match its "
        "type in the {writer} schema"
    ),
    Kind.FIELD_NUMERIC_LABEL_CHANGED: (
        "The label for a NUMERIC field at path '{path}' in the {reader} schema does not match "
        "its label in the {writer} schema"
    ),
    Kind.REQUIRED_FIELD_ADDED: (
        "A required field at path '{path}' in the {reader} schema is missing in the {writer} schema"
    ),
    Kind.REQUIRED_FIELD_REMOVED: (
        "The {reader} schema is missing a required field at path: '{path}' in the {writer} schema"
    ),
    Kind.ONEOF_FIELD_REMOVED: (
        "The {reader} schema is missing a oneof field at path '{path}' in the {writer} schema"
    ),
    Kind.MULTIPLE_FIELDS_MOVED_TO_ONEOF: (
        "Multiple fields in the oneof at path '{path}' in the {reader} schema are outside a oneof "
        "in the {writer} schema"
    ),
    Kind.FIELD_MOVED_TO_EXISTING_ONEOF: (
        "A field in the oneof at path '{path}' in the {reader} schema is outside an existing oneof "
        "in the {writer} schema"
    ),
}


def difference(kind: Kind, path: str, before: str = "", after: str = "") -> Incompatibility:
    """One difference; of the harmless ones nobody needs a description."""
    description = _DESCRIPTIONS.get(kind, "").replace("{path}", path)
    return Incompatibility(str(kind), path, description, before, after)


def is_harmless(found: Incompatibility) -> bool:
    """Whether the reader gets all that the writer wrote, as far as it asks for it."""
    return Kind(found.kind) in HARMLESS
