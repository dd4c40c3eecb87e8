"""The drafts of JSON Schema as data: which keywords hold schemas, and how each draft reads them.

Everything that walks or compares schemas asks this table, so that a draft is one entry here and
not a condition in twenty places. The module refuses to know what any keyword means for a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from headrace.schemas.model import InvalidSchema

Schema = dict[str, Any] | bool
Location = tuple[str, ...]

LOCAL_DEFINITIONS: Final = frozenset({"definitions", "$defs"})
"""Either spelling is walked under every draft: generators mix them freely."""


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """One draft. `single`, `listed` and `mapped` are the keywords whose values hold schemas."""

    name: str
    uri: str
    id_keyword: str
    single: frozenset[str]
    listed: frozenset[str]
    mapped: frozenset[str]
    # These apply to the same value as the schema that holds them, so a loop of them never ends.
    in_place: frozenset[str]
    references: tuple[str, ...]
    # Up to draft 7 a `$ref` hides everything that stands beside it.
    reference_stands_alone: bool
    # Draft 4 alone: `exclusiveMaximum: true` modifies `maximum`.
    boolean_exclusive: bool
    assertions: frozenset[str]

    def subschemas(self, schema: dict[str, Any]) -> Iterator[tuple[Location, Schema]]:
        """Each schema directly inside this one, with the keywords and keys that lead to it."""
        for keyword, value in schema.items():
            if isinstance(value, (dict, bool)) and keyword in self.single:
                yield (keyword,), value
            elif isinstance(value, list) and keyword in self.listed:
                for index, each in enumerate(value):
                    if isinstance(each, (dict, bool)):
                        yield (keyword, str(index)), each
            elif isinstance(value, dict) and keyword in self.mapped:
                for key, each in value.items():
                    if isinstance(each, (dict, bool)):
                        yield (keyword, key), each

    def reference(self, schema: Schema) -> tuple[str, str] | None:
        """The keyword and value of the schema's reference, if it has one."""
        if isinstance(schema, dict):
            for keyword in self.references:
                value = schema.get(keyword)
                if isinstance(value, str):
                    return keyword, value
        return None


_SUMS: Final = frozenset({"allOf", "anyOf", "oneOf"})
_SINGLE_4: Final = frozenset({"additionalItems", "additionalProperties", "items", "not"})
_SINGLE_6: Final = _SINGLE_4 | {"contains", "propertyNames"}
_SINGLE_7: Final = _SINGLE_6 | {"if", "then", "else"}
_SINGLE_2019: Final = _SINGLE_7 | {"contentSchema", "unevaluatedItems", "unevaluatedProperties"}
_MAPPED: Final = LOCAL_DEFINITIONS | {"properties", "patternProperties"}
_IN_PLACE_4: Final = _SUMS | {"not", "dependencies"}
_IN_PLACE_7: Final = _IN_PLACE_4 | {"if", "then", "else"}
_IN_PLACE_2019: Final = _SUMS | {"not", "if", "then", "else", "dependentSchemas"}
_BOUNDS: Final = frozenset(
    {
        *("type", "enum", "maxLength", "minLength", "pattern", "maximum", "minimum", "multipleOf"),
        *("exclusiveMaximum", "exclusiveMinimum", "maxItems", "minItems", "uniqueItems"),
        *("maxProperties", "minProperties", "required", "properties", "patternProperties"),
        *("additionalProperties", "items", "not", "allOf", "anyOf", "oneOf", "$ref"),
    }
)
_ASSERTIONS_4: Final = _BOUNDS | {"additionalItems", "dependencies"}
_ASSERTIONS_6: Final = _ASSERTIONS_4 | {"const", "contains", "propertyNames"}
_ASSERTIONS_7: Final = _ASSERTIONS_6 | {"if"}
_NEW_IN_2019: Final = frozenset(
    {
        *("const", "contains", "propertyNames", "if", "dependentRequired", "dependentSchemas"),
        *("minContains", "maxContains", "unevaluatedItems", "unevaluatedProperties"),
    }
)


def _older(name: str, number: str, single: frozenset[str], assertions: frozenset[str]) -> Draft:
    return Draft(
        name=name,
        uri=f"http://json-schema.org/draft-{number}/schema",
        id_keyword="id" if number == "04" else "$id",
        single=single,
        listed=_SUMS | {"items"},
        mapped=_MAPPED | {"dependencies"},
        in_place=_IN_PLACE_7 if number == "07" else _IN_PLACE_4,
        references=("$ref",),
        reference_stands_alone=True,
        boolean_exclusive=number == "04",
        assertions=assertions,
    )


DRAFT_4: Final = _older("4", "04", _SINGLE_4, _ASSERTIONS_4)
DRAFT_6: Final = _older("6", "06", _SINGLE_6, _ASSERTIONS_6)
DRAFT_7: Final = _older("7", "07", _SINGLE_7, _ASSERTIONS_7)
DRAFT_2019_09: Final = Draft(
    name="2019-09",
    uri="https://json-schema.org/draft/2019-09/schema",
    id_keyword="$id",
    single=_SINGLE_2019,
    listed=_SUMS | {"items"},
    mapped=_MAPPED | {"dependentSchemas"},
    in_place=_IN_PLACE_2019,
    references=("$ref", "$recursiveRef"),
    reference_stands_alone=False,
    boolean_exclusive=False,
    assertions=_BOUNDS | _NEW_IN_2019 | {"additionalItems", "$recursiveRef"},
)
DRAFT_2020_12: Final = Draft(
    name="2020-12",
    uri="https://json-schema.org/draft/2020-12/schema",
    id_keyword="$id",
    single=_SINGLE_2019 - {"additionalItems"},
    listed=_SUMS | {"prefixItems"},
    mapped=_MAPPED | {"dependentSchemas"},
    in_place=_IN_PLACE_2019,
    references=("$ref", "$dynamicRef"),
    reference_stands_alone=False,
    boolean_exclusive=False,
    assertions=_BOUNDS | _NEW_IN_2019 | {"prefixItems", "$dynamicRef"},
)

DRAFTS: Final = (DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019_09, DRAFT_2020_12)
DEFAULT_DRAFT: Final = DRAFT_7
_BY_ADDRESS: Final = {each.uri.partition("://")[2]: each for each in DRAFTS}


def draft_of(schema: object) -> Draft:
    """The draft that `$schema` names; the default for none, and for a meta-schema of one's own."""
    if not isinstance(schema, dict) or "$schema" not in schema:
        return DEFAULT_DRAFT
    uri = schema["$schema"]
    if not isinstance(uri, str):
        raise InvalidSchema("$schema must be the URI of a meta-schema, as a string")
    return _BY_ADDRESS.get(uri.rstrip("#").partition("://")[2], DEFAULT_DRAFT)


def accepts_everything(schema: Schema, draft: Draft) -> bool:
    """Whether no keyword of the schema can refuse a value, as far as its own text shows."""
    if isinstance(schema, bool):
        return schema
    return all(
        keyword not in draft.assertions or _is_idle(keyword, value)
        for keyword, value in schema.items()
    )


def accepts_nothing(schema: Schema, draft: Draft) -> bool:
    """Whether the schema refuses every value, as far as its own text shows."""
    if isinstance(schema, bool):
        return not schema
    negated = schema.get("not")
    if draft.reference_stands_alone and "$ref" in schema:
        return False
    return isinstance(negated, (dict, bool)) and accepts_everything(negated, draft)


def _is_idle(keyword: str, value: object) -> bool:
    """Whether a keyword is written down but asks for nothing."""
    if keyword in {"const", "contains", "enum", "if", "not", "type"} or keyword.startswith("$"):
        return False
    if isinstance(value, bool):
        return value is (keyword != "uniqueItems") or keyword.startswith("exclusive")
    if keyword.startswith("min") and keyword != "minimum":
        return value == 0
    return value in ({}, [])
