"""The kinds of differences between two JSON Schemas, and which of them a policy tolerates.

Names are Confluent's, because tools and people look for them in the registry's answers. A kind says
what the reader has compared with the writer: ADDED stands in the reader alone. Whether a kind
breaks reading is data: `SAFE` never does, and `SAFE_IF_LENIENT` does not in a registry whose
`compatibilityPolicy` is LENIENT, which trusts a writer to send only the properties that its schema
declares, and a reader to pass over those that it does not know.
"""

from __future__ import annotations

from typing import Final

Kind = str

_CHANGED: Final = ("ID_CHANGED", "DESCRIPTION_CHANGED", "TITLE_CHANGED", "DEFAULT_CHANGED")
UPPER_BOUNDS: Final = (
    *("MAX_LENGTH", "MAXIMUM", "EXCLUSIVE_MAXIMUM", "MAX_PROPERTIES", "MAX_ITEMS", "MAX_CONTAINS"),
)
LOWER_BOUNDS: Final = (
    *("MIN_LENGTH", "MINIMUM", "EXCLUSIVE_MINIMUM", "MIN_PROPERTIES", "MIN_ITEMS", "MIN_CONTAINS"),
)
_RESTS: Final = (
    *("ADDITIONAL_PROPERTIES", "UNEVALUATED_PROPERTIES", "ADDITIONAL_ITEMS", "UNEVALUATED_ITEMS"),
)

SAFE: Final[frozenset[Kind]] = frozenset(
    {
        *_CHANGED,
        *("SCHEMA_REMOVED", "TYPE_EXTENDED"),
        *(f"{bound}_{step}" for bound in UPPER_BOUNDS for step in ("REMOVED", "INCREASED")),
        *(f"{bound}_{step}" for bound in LOWER_BOUNDS for step in ("REMOVED", "DECREASED")),
        *("PATTERN_REMOVED", "MULTIPLE_OF_REMOVED", "MULTIPLE_OF_REDUCED"),
        *("REQUIRED_ATTRIBUTE_REMOVED", "REQUIRED_ATTRIBUTE_WITH_DEFAULT_ADDED"),
        *("DEPENDENCY_ARRAY_REMOVED", "DEPENDENCY_ARRAY_NARROWED", "DEPENDENCY_SCHEMA_REMOVED"),
        *(f"{rest}_{step}" for rest in _RESTS for step in ("ADDED", "EXTENDED")),
        "PROPERTY_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL",
        "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_UNOPEN_CONTENT_MODEL",
        "OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_FROM_OPEN_CONTENT_MODEL",
        "PROPERTY_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        "PROPERTY_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "UNIQUE_ITEMS_REMOVED",
        "ITEM_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL",
        "ITEM_ADDED_TO_CLOSED_CONTENT_MODEL",
        "ITEM_REMOVED_FROM_OPEN_CONTENT_MODEL",
        "ITEM_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        "ITEM_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "ITEM_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        *("ENUM_ARRAY_EXTENDED", "COMBINED_TYPE_EXTENDED", "PRODUCT_TYPE_NARROWED"),
        *("SUM_TYPE_EXTENDED", "NOT_TYPE_NARROWED"),
    }
)

SAFE_IF_LENIENT: Final[frozenset[Kind]] = frozenset(
    {
        *("ADDITIONAL_PROPERTIES_REMOVED", "ADDITIONAL_PROPERTIES_NARROWED"),
        *("UNEVALUATED_PROPERTIES_REMOVED", "UNEVALUATED_PROPERTIES_NARROWED"),
        "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    }
)

_KEYWORD: Final = "'{path}': the {reader} schema demands something that the {writer} one does not"
_MORE: Final = "'{path}': the {reader} schema asks for more than the {writer} one"
_LESS: Final = "'{path}': the {reader} schema allows less than the {writer} one"
_OTHER_VALUE: Final = "'{path}': the {reader} schema demands something else than the {writer} one"
_FEWER: Final = "'{path}': the {reader} schema has fewer alternatives than the {writer} one"
_LONGER: Final = "'{path}': the {reader} schema has more conditions than the {writer} one"
_OTHER_TYPE: Final = "'{path}': the {reader} schema takes another type than the {writer} one"
_ADDED_TO_OPEN: Final = (
    "'{path}': the {reader} schema describes what the {writer} one allows with any content, "
    "because its content model is open"
)
_REMOVED_FROM_CLOSED: Final = (
    "'{path}': the {reader} schema, whose content model is closed, does not allow what the "
    "{writer} one describes"
)
_REMOVED_NOT_COVERED: Final = (
    "'{path}': the {reader} schema does not describe it any more, and what it allows besides does "
    "not cover what the {writer} one describes"
)
_ADDED_NOT_COVERED: Final = (
    "'{path}': the {reader} schema describes it in a way that does not cover what the {writer} one "
    "allows there"
)

UNSAFE: Final[dict[Kind, str]] = {
    "SCHEMA_ADDED": _KEYWORD,
    "TYPE_NARROWED": _OTHER_TYPE,
    "TYPE_CHANGED": _OTHER_TYPE,
    **{f"{bound}_ADDED": _KEYWORD for bound in (*UPPER_BOUNDS, *LOWER_BOUNDS)},
    **{f"{bound}_DECREASED": _LESS for bound in UPPER_BOUNDS},
    **{f"{bound}_INCREASED": _MORE for bound in LOWER_BOUNDS},
    "PATTERN_ADDED": _KEYWORD,
    "PATTERN_CHANGED": _OTHER_VALUE,
    "MULTIPLE_OF_ADDED": _KEYWORD,
    "MULTIPLE_OF_EXPANDED": _MORE,
    "MULTIPLE_OF_CHANGED": _OTHER_VALUE,
    "REQUIRED_ATTRIBUTE_ADDED": _KEYWORD,
    **{f"{rest}_REMOVED": _KEYWORD for rest in _RESTS},
    **{f"{rest}_NARROWED": _FEWER for rest in _RESTS},
    "DEPENDENCY_ARRAY_ADDED": _KEYWORD,
    "DEPENDENCY_ARRAY_EXTENDED": _LONGER,
    "DEPENDENCY_ARRAY_CHANGED": _OTHER_VALUE,
    "DEPENDENCY_SCHEMA_ADDED": _KEYWORD,
    "PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL": _ADDED_TO_OPEN,
    "REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL": _ADDED_TO_OPEN,
    "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL": _ADDED_TO_OPEN,
    "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL": _ADDED_TO_OPEN,
    "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL": (
        "'{path}': the {reader} schema requires a property that the {writer} one does not have"
    ),
    "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL": _REMOVED_FROM_CLOSED,
    "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": _REMOVED_NOT_COVERED,
    "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": _ADDED_NOT_COVERED,
    "RESERVED_PROPERTY_REMOVED": (
        "'{path}': the {reader} schema does not reserve a property that the {writer} one reserves"
    ),
    "RESERVED_PROPERTY_CONFLICTS_WITH_PROPERTY": (
        "'{path}': the {reader} schema uses a reserved property that the {writer} one does not have"
    ),
    "UNIQUE_ITEMS_ADDED": _KEYWORD,
    "ITEM_ADDED_TO_OPEN_CONTENT_MODEL": _ADDED_TO_OPEN,
    "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL": _REMOVED_FROM_CLOSED,
    "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": _REMOVED_NOT_COVERED,
    "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": _ADDED_NOT_COVERED,
    "ENUM_ARRAY_NARROWED": _FEWER,
    "ENUM_ARRAY_CHANGED": _OTHER_TYPE,
    "COMBINED_TYPE_CHANGED": _OTHER_TYPE,
    "PRODUCT_TYPE_EXTENDED": _LONGER,
    "SUM_TYPE_NARROWED": _FEWER,
    "COMBINED_TYPE_SUBSCHEMAS_CHANGED": _OTHER_TYPE,
    "NOT_TYPE_EXTENDED": _LONGER,
}
"""What each kind that breaks reading means, in the words of the registry's answers."""


def is_safe(kind: Kind, *, lenient: bool) -> bool:
    """Whether a difference of this kind leaves the writer's data readable."""
    return kind in SAFE or (lenient and kind in SAFE_IF_LENIENT)


def description(kind: Kind, path: str) -> str:
    """The sentence for a kind; who is `{reader}` and who `{writer}` is left open."""
    return UNSAFE[kind].replace("{path}", path)
