"""Vectors for objects: content models, required properties, dependencies."""

from __future__ import annotations

from tests.schemas.json_schema.vectors import (
    DRAFT_2019,
    INTEGER,
    NUMBER,
    STRING,
    Row,
    closed_object,
    open_object,
    row,
)

A = "#/properties/a"
B = "#/properties/b"
ADDED_TO_OPEN = f"OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL {B}"
REQUIRED_ADDED_TO_OPEN = f"REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL {B}"
DEFAULT_ADDED_TO_OPEN = f"REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL {B}"
REQUIRED_ADDED_TO_UNOPEN = f"REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL {B}"
REMOVED_FROM_CLOSED = f"PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL {B}"
ADDED_NOT_COVERED = f"PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL {B}"
REMOVED_NOT_COVERED = f"PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL {B}"
REQUIRED_A = "REQUIRED_ATTRIBUTE_ADDED #/required/a"
DEFAULT = {"default": "x"}

PROPERTIES: list[Row] = [
    row(
        "open: an optional property",
        open_object({"a": STRING}),
        open_object({"a": STRING, "b": STRING}),
        [ADDED_TO_OPEN],
        lenient_backward=[],
    ),
    row(
        "open: a required property",
        open_object({"a": STRING}),
        open_object({"a": STRING, "b": STRING}, "b"),
        [REQUIRED_ADDED_TO_OPEN],
    ),
    row(
        "open: a required property with a default",
        open_object({"a": STRING}),
        open_object({"a": STRING, "b": {**STRING, **DEFAULT}}, "b"),
        [DEFAULT_ADDED_TO_OPEN],
        lenient_backward=[],
    ),
    row("open: a property without a schema", open_object({}), open_object({"b": {}})),
    row("open: a property that is true", open_object({}), open_object({"b": True})),
    row(
        "open: a required property without a schema",
        open_object({}),
        open_object({"b": {}}, "b"),
        [REQUIRED_ADDED_TO_OPEN],
    ),
    row(
        "open: a property that was required by name alone",
        open_object({}, "b"),
        open_object({"b": STRING}, "b"),
        [ADDED_TO_OPEN],
        lenient_backward=[],
    ),
    row(
        "closed: an optional property",
        closed_object({"a": STRING}),
        closed_object({"a": STRING, "b": STRING}),
        [],
        [REMOVED_FROM_CLOSED],
        lenient_forward=[],
    ),
    row(
        "closed: a required property",
        closed_object({"a": STRING}),
        closed_object({"a": STRING, "b": STRING}, "b"),
        [REQUIRED_ADDED_TO_UNOPEN],
        [REMOVED_FROM_CLOSED],
        lenient_forward=[],
    ),
    row(
        "closed: a required property with a default",
        closed_object({"a": STRING}),
        closed_object({"a": STRING, "b": {**STRING, **DEFAULT}}, "b"),
        [],
        [REMOVED_FROM_CLOSED],
        lenient_forward=[],
    ),
    row("closed: a property that nothing fits", closed_object({}), closed_object({"b": False})),
    row(
        "partially open: a property that the rest covers",
        open_object({}, additionalProperties=STRING),
        open_object({"b": STRING}, additionalProperties=STRING),
    ),
    row(
        "partially open: a wider property than the rest",
        open_object({}, additionalProperties=INTEGER),
        open_object({"b": NUMBER}, additionalProperties=INTEGER),
        [],
        [
            "TYPE_NARROWED #/properties/b",
            REMOVED_NOT_COVERED,
        ],
        lenient_forward=["TYPE_NARROWED #/properties/b"],
    ),
    row(
        "partially open: a property that the rest does not cover",
        open_object({}, additionalProperties=STRING),
        open_object({"b": INTEGER}, additionalProperties=STRING),
        [
            "TYPE_CHANGED #/properties/b",
            ADDED_NOT_COVERED,
        ],
        [
            "TYPE_CHANGED #/properties/b",
            REMOVED_NOT_COVERED,
        ],
        lenient_backward=["TYPE_CHANGED #/properties/b"],
        lenient_forward=["TYPE_CHANGED #/properties/b"],
    ),
    row(
        "partially open: a required property that the rest covers",
        open_object({}, additionalProperties=STRING),
        open_object({"b": STRING}, "b", additionalProperties=STRING),
        [REQUIRED_ADDED_TO_UNOPEN],
    ),
    row(
        "partially open: a property that a pattern covers",
        closed_object({}, patternProperties={"^b": STRING}),
        closed_object({"b": STRING}, patternProperties={"^b": STRING}),
    ),
    row(
        "partially open: a property that no pattern matches",
        closed_object({}, patternProperties={"^x": STRING}),
        closed_object({"b": STRING}, patternProperties={"^x": STRING}),
        [],
        ["PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL #/properties/b"],
        lenient_forward=[],
    ),
    row(
        "from open to closed with a property more",
        open_object({}),
        closed_object({"b": STRING}),
        [
            "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL #/properties/b",
            "ADDITIONAL_PROPERTIES_REMOVED #/additionalProperties",
        ],
        [],
        lenient_backward=[],
    ),
    row(
        "inside a property",
        open_object({"a": open_object({"b": INTEGER})}),
        open_object({"a": open_object({"b": STRING})}),
        ["TYPE_CHANGED #/properties/a/properties/b"],
        ["TYPE_CHANGED #/properties/a/properties/b"],
    ),
    row("an empty list of properties", {"type": "object"}, open_object({})),
    row(
        "a name with a slash",
        open_object({"x/y": STRING}),
        open_object({"x/y": INTEGER}),
        ["TYPE_CHANGED #/properties/x/y"],
        ["TYPE_CHANGED #/properties/x/y"],
    ),
]

REQUIRED: list[Row] = [
    row(
        "a known property becomes required",
        open_object({"a": STRING}),
        open_object({"a": STRING}, "a"),
        [REQUIRED_A],
    ),
    row(
        "one with a default becomes required",
        open_object({"a": {**STRING, **DEFAULT}}),
        open_object({"a": {**STRING, **DEFAULT}}, "a"),
    ),
    row(
        "an unknown property becomes required", open_object({}), open_object({}, "a"), [REQUIRED_A]
    ),
    row("the order of names says nothing", open_object({}, "a", "b"), open_object({}, "b", "a")),
    row(
        "a factor already requires it",
        {"allOf": [{"type": "object", "required": ["a"]}]},
        {"type": "object", "required": ["a"]},
    ),
    row(
        "required without a type",
        {"required": ["a"]},
        {"required": ["a", "b"]},
        ["REQUIRED_ATTRIBUTE_ADDED #/required/b"],
    ),
    row("required of what is no object", STRING, {**STRING, "required": ["a"]}),
    row(
        "a most number of properties appears",
        {"type": "object"},
        {"type": "object", "maxProperties": 3},
        ["MAX_PROPERTIES_ADDED #/maxProperties"],
    ),
    row(
        "a most number of properties grows",
        {"type": "object", "maxProperties": 3},
        {"type": "object", "maxProperties": 4},
        [],
        ["MAX_PROPERTIES_DECREASED #/maxProperties"],
    ),
    row(
        "a least number of properties appears",
        {"type": "object"},
        {"type": "object", "minProperties": 3},
        ["MIN_PROPERTIES_ADDED #/minProperties"],
    ),
    row(
        "a least number of properties grows",
        {"type": "object", "minProperties": 3},
        {"type": "object", "minProperties": 4},
        ["MIN_PROPERTIES_INCREASED #/minProperties"],
    ),
]

_REST = "#/additionalProperties"
REST: list[Row] = [
    row(
        "the model closes",
        open_object({}),
        closed_object({}),
        [f"ADDITIONAL_PROPERTIES_REMOVED {_REST}"],
        lenient_backward=[],
    ),
    row("true is the same as nothing", open_object({}), open_object({}, additionalProperties=True)),
    row(
        "an empty schema is the same as true",
        open_object({}, additionalProperties={}),
        open_object({}, additionalProperties=True),
    ),
    row(
        "the rest gets a schema",
        open_object({}),
        open_object({}, additionalProperties=STRING),
        [f"ADDITIONAL_PROPERTIES_NARROWED {_REST}"],
        lenient_backward=[],
    ),
    row(
        "a closed model opens for strings",
        closed_object({}),
        open_object({}, additionalProperties=STRING),
        [],
        [f"ADDITIONAL_PROPERTIES_REMOVED {_REST}"],
        lenient_forward=[],
    ),
    row(
        "the schema of the rest changes",
        open_object({}, additionalProperties=STRING),
        open_object({}, additionalProperties=INTEGER),
        [f"TYPE_CHANGED {_REST}"],
        [f"TYPE_CHANGED {_REST}"],
    ),
    row(
        "a pattern appears in an open model",
        open_object({}),
        open_object({}, patternProperties={"^x": STRING}),
        ["ADDITIONAL_PROPERTIES_NARROWED #/patternProperties/^x"],
        lenient_backward=[],
    ),
    row(
        "a pattern appears in a closed model",
        closed_object({}),
        closed_object({}, patternProperties={"^x": STRING}),
        [],
        ["ADDITIONAL_PROPERTIES_REMOVED #/patternProperties/^x"],
        lenient_forward=[],
    ),
    row(
        "a pattern appears that known properties match",
        closed_object({"xa": INTEGER}),
        closed_object({"xa": INTEGER}, patternProperties={"^x": STRING}),
        ["ADDITIONAL_PROPERTIES_NARROWED #/patternProperties/^x"],
        ["ADDITIONAL_PROPERTIES_REMOVED #/patternProperties/^x"],
        lenient_backward=[],
        lenient_forward=[],
    ),
    row(
        "the schema of a pattern widens",
        open_object({}, patternProperties={"^x": INTEGER}),
        open_object({}, patternProperties={"^x": NUMBER}),
        [],
        ["TYPE_NARROWED #/patternProperties/^x"],
    ),
    row(
        "names must be short",
        open_object({}),
        open_object({}, propertyNames={"maxLength": 3}),
        ["PRODUCT_TYPE_EXTENDED #/propertyNames"],
    ),
    row(
        "names may be longer",
        open_object({}, propertyNames={"maxLength": 3}),
        open_object({}, propertyNames={"maxLength": 4, "type": "string"}),
        [],
        ["MAX_LENGTH_DECREASED #/propertyNames/maxLength"],
    ),
    row(
        "unevaluated properties are refused",
        open_object({}, **{"$schema": DRAFT_2019}),
        open_object({}, **{"$schema": DRAFT_2019, "unevaluatedProperties": False}),
        ["UNEVALUATED_PROPERTIES_REMOVED #/unevaluatedProperties"],
        lenient_backward=[],
    ),
    row(
        "unevaluated properties must be strings",
        open_object({}, **{"$schema": DRAFT_2019}),
        open_object({}, **{"$schema": DRAFT_2019, "unevaluatedProperties": STRING}),
        ["UNEVALUATED_PROPERTIES_NARROWED #/unevaluatedProperties"],
        lenient_backward=[],
    ),
    row(
        "a model closed for the unevaluated takes a property more",
        open_object({"a": STRING}, **{"$schema": DRAFT_2019, "unevaluatedProperties": False}),
        open_object(
            {"a": STRING, "b": STRING}, **{"$schema": DRAFT_2019, "unevaluatedProperties": False}
        ),
        [],
        [REMOVED_FROM_CLOSED],
        lenient_forward=[],
    ),
    row(
        "a factor declares what is evaluated",
        {
            "$schema": DRAFT_2019,
            "allOf": [open_object({"a": STRING})],
            "properties": {"c": INTEGER},
            "unevaluatedProperties": False,
        },
        {
            "$schema": DRAFT_2019,
            "allOf": [open_object({"a": STRING})],
            "properties": {"c": INTEGER, "b": STRING},
            "unevaluatedProperties": False,
        },
        [],
        ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"],
        lenient_forward=[],
    ),
    row(
        "a factor no longer declares what is evaluated",
        {
            "$schema": DRAFT_2019,
            "type": "object",
            "allOf": [{"properties": {"a": STRING}}],
            "unevaluatedProperties": False,
        },
        {"$schema": DRAFT_2019, "type": "object", "unevaluatedProperties": False},
        ["TYPE_CHANGED #/"],
        [],
        lenient_backward=[],
    ),
    row(
        "what a factor declares is additional all the same",
        {
            "$schema": DRAFT_2019,
            "type": "object",
            "allOf": [{"properties": {"a": STRING}}],
            "unevaluatedProperties": False,
        },
        {
            "$schema": DRAFT_2019,
            "type": "object",
            "allOf": [{"properties": {"a": STRING}}],
            "additionalProperties": False,
        },
        [f"PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL {A}"],
        lenient_backward=[],
    ),
    row(
        "draft 7 knows no unevaluated properties",
        open_object({}),
        open_object({}, unevaluatedProperties=False),
    ),
]

DEPENDENCIES: list[Row] = [
    row(
        "one property asks for another",
        open_object({}),
        open_object({}, dependencies={"a": ["b"]}),
        ["DEPENDENCY_ARRAY_ADDED #/dependencies/a"],
    ),
    row(
        "it asks for one more",
        open_object({}, dependencies={"a": ["b"]}),
        open_object({}, dependencies={"a": ["b", "c"]}),
        ["DEPENDENCY_ARRAY_EXTENDED #/dependencies/a"],
    ),
    row(
        "it asks for others",
        open_object({}, dependencies={"a": ["b"]}),
        open_object({}, dependencies={"a": ["c"]}),
        ["DEPENDENCY_ARRAY_CHANGED #/dependencies/a"],
        ["DEPENDENCY_ARRAY_CHANGED #/dependencies/a"],
    ),
    row(
        "it asks for a schema",
        open_object({}),
        open_object({}, dependencies={"a": {"required": ["b"]}}),
        ["DEPENDENCY_SCHEMA_ADDED #/dependencies/a"],
    ),
    row(
        "the schema changes",
        open_object({}, dependencies={"a": {"maxProperties": 3}}),
        open_object({}, dependencies={"a": {"maxProperties": 2}}),
        ["MAX_PROPERTIES_DECREASED #/dependencies/a/maxProperties"],
    ),
    row(
        "the writer does what the schema asks anyway",
        open_object({}, "b"),
        open_object({}, "b", dependencies={"a": {"required": ["b"]}}),
    ),
    row(
        "later drafts split the keyword",
        open_object({}, **{"$schema": DRAFT_2019}),
        open_object(
            {},
            **{
                "$schema": DRAFT_2019,
                "dependentRequired": {"a": ["b"]},
                "dependentSchemas": {"c": {"minProperties": 2}},
            },
        ),
        ["DEPENDENCY_ARRAY_ADDED #/dependencies/a", "DEPENDENCY_SCHEMA_ADDED #/dependencies/c"],
        [],
    ),
    row(
        "both spellings say the same",
        open_object({}, dependencies={"a": ["b"]}),
        open_object({}, **{"$schema": DRAFT_2019, "dependentRequired": {"a": ["b"]}}),
    ),
]
