"""Validation of whole settings, beside the recorded answers of a real worker.

`python -m tests.pipelines.connect.recorded` made them. The classes that the settings name are
declared here as the Java ones of the recording are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from headrace.pipelines.connect.config.definition import (
    Definition,
    Found,
    Key,
    Kind,
    at_least,
    between,
    distinct,
    not_empty,
    one_of,
)
from headrace.pipelines.connect.config.overrides import policy
from headrace.pipelines.connect.config.patterns import a_pattern
from headrace.pipelines.connect.config.plugins import Plugin, Role
from headrace.pipelines.connect.config.report import faults, report
from headrace.pipelines.connect.config.validate import WorkerTraits, connector_plugin, validate
from headrace.pipelines.connect.faults import BadRequestException
from tests.pipelines.connect.recorded.cases import SINK, SOURCE, VALIDATED

ANSWERS = json.loads((Path(__file__).parents[1] / "recorded" / "answers.json").read_text())
KAFKA = "4.3.1"
CONNECT = "org.apache.kafka.connect."


def incrementing(given: Mapping[str, str], found: list[Found]) -> list[Found]:
    """What RecordedSource itself finds wrong."""
    if given.get("mode") != "incrementing" or "column" in given:
        return found
    wrong = ("mode incrementing needs a column",)
    return [replace(each, errors=wrong) if each.key.name == "column" else each for each in found]


RECORDED_SOURCE = Plugin(
    "RecordedSource",
    "1.0",
    Definition(
        (
            Key("file", Kind.STRING, None, importance="HIGH"),
            Key("topic", Kind.STRING, importance="HIGH", check=not_empty),
            Key("batch.size", Kind.INT, 2000, importance="LOW", check=at_least(1)),
            Key(
                "mode",
                Kind.STRING,
                "bulk",
                check=one_of("bulk", "incrementing"),
                group="Reading",
                order=1,
                width="SHORT",
                display_name="Mode",
                dependents=("column",),
                recommend=lambda _: ["bulk", "incrementing"],
            ),
            Key(
                "column",
                Kind.STRING,
                "",
                group="Reading",
                order=2,
                width="LONG",
                display_name="Column",
                visible=lambda values: values.get("mode") == "incrementing",
            ),
            Key("secret", Kind.PASSWORD, None, importance="LOW"),
            Key("ratio", Kind.DOUBLE, 0.5, importance="LOW", check=between(0.0, 1.0)),
            Key("names", Kind.LIST, ["a", "b"], importance="LOW"),
        )
    ),
    is_source=True,
    validate=incrementing,
)
RECORDED_SINK = Plugin("RecordedSink", "1.0")

NUMBERS = ("Boolean", "ByteArray", "Double", "Float", "Integer", "Long", "Short")
JSON = Plugin(
    CONNECT + "json.JsonConverter",
    KAFKA,
    Definition(
        (
            Key(
                "decimal.format",
                Kind.STRING,
                "BASE64",
                importance="LOW",
                group="Serialization",
                order=0,
                width="MEDIUM",
                display_name="Decimal Format",
            ),
            Key("converter.type", Kind.STRING, importance="LOW"),
            Key(
                "schemas.cache.size",
                Kind.INT,
                1000,
                importance="HIGH",
                group="Schemas",
                order=1,
                width="MEDIUM",
                display_name="Schema Cache Size",
            ),
            Key(
                "replace.null.with.default",
                Kind.BOOLEAN,
                True,
                importance="LOW",
                group="Serialization",
                order=1,
                width="MEDIUM",
                display_name="Replace null with default",
            ),
            Key(
                "schemas.enable",
                Kind.BOOLEAN,
                True,
                importance="HIGH",
                group="Schemas",
                order=0,
                width="MEDIUM",
                display_name="Enable Schemas",
            ),
            Key(
                "schema.content",
                Kind.STRING,
                None,
                importance="HIGH",
                group="Schemas",
                order=2,
                width="MEDIUM",
                display_name="Schema Content",
            ),
        )
    ),
)
CONVERTERS = [
    *(Plugin(f"{CONNECT}converters.{name}Converter", KAFKA) for name in NUMBERS),
    JSON,
    Plugin(CONNECT + "storage.StringConverter", KAFKA),
]
HEADERS = [
    *CONVERTERS[:-1],
    Plugin(CONNECT + "storage.SimpleHeaderConverter", KAFKA),
    CONVERTERS[-1],
]
REGEX_ROUTER = Plugin(
    CONNECT + "transforms.RegexRouter",
    KAFKA,
    Definition(
        (
            Key("regex", Kind.STRING, importance="HIGH", check=a_pattern),
            Key("replacement", Kind.STRING, importance="HIGH"),
        )
    ),
)
VALUE_TO_KEY = Plugin(
    CONNECT + "transforms.ValueToKey",
    KAFKA,
    Definition(
        (
            Key("fields", Kind.LIST, importance="HIGH", check=distinct),
            Key("replace.null.with.default", Kind.BOOLEAN, True),
        )
    ),
)
TOPIC_NAME = Plugin(
    CONNECT + "transforms.predicates.TopicNameMatches",
    KAFKA,
    Definition((Key("pattern", Kind.STRING, check=a_pattern),)),
)
TOMBSTONE = Plugin(CONNECT + "transforms.predicates.RecordIsTombstone", KAFKA)


class Known:
    """The classes of the recording."""

    table: Mapping[Role, Sequence[Plugin]] = {
        Role.CONNECTOR: [RECORDED_SINK, RECORDED_SOURCE],
        Role.CONVERTER: CONVERTERS,
        Role.HEADER_CONVERTER: HEADERS,
        Role.TRANSFORM: [REGEX_ROUTER, VALUE_TO_KEY],
        Role.PREDICATE: [TOMBSTONE, TOPIC_NAME],
    }

    def find(self, role: Role, name: str) -> Plugin | None:
        """By the full name, or its last part."""
        known = self.table[role]
        full = [plugin for plugin in known if plugin.name == name]
        last = [plugin for plugin in known if plugin.name.rpartition(".")[2] == name]
        return next(iter(full or last), None)

    def names(self, role: Role) -> Sequence[str]:
        """All of a role."""
        return [plugin.name for plugin in self.table[role]]


WORKER = WorkerTraits(
    {
        "key.converter": CONNECT + "storage.StringConverter",
        "value.converter": CONNECT + "storage.StringConverter",
        "header.converter": CONNECT + "storage.SimpleHeaderConverter",
    },
    policy("Principal", []),
    group_id="recorded",
    exactly_once=True,
)

# Where ours says something else: Java's own words about a wrong pattern.
PATTERN_ERROR = "Invalid regex: "


def ours_only(name: str, *, is_source: bool) -> bool:
    """Keys that Connect does not have."""
    return name.startswith("headrace.") or (is_source and "deadletterqueue" in name)


def value_of(value: Mapping[str, object]) -> dict[str, object]:
    """A value as it is compared: without what is recommended, and Java's words about patterns."""
    errors = value["errors"]
    assert isinstance(errors, list)
    told = [str(each).split(PATTERN_ERROR)[0] for each in errors]
    return {"value": value["value"], "errors": told, "visible": value["visible"]}


def entries(configs: Sequence[Mapping[str, Mapping[str, object]]]) -> dict[str, dict[str, object]]:
    """Entries by name; two of one name are one with the errors of both."""
    found: dict[str, dict[str, object]] = {}
    for config in configs:
        name, value = str(config["value"]["name"]), value_of(config["value"])
        if name in found:
            value["errors"] = [*_list(found[name]["errors"]), *_list(value["errors"])]
        found[name] = value
    return found


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


COMPARED = [label for label in VALIDATED if label != "no class"]


@pytest.mark.parametrize("label", COMPARED)
def test_values_and_errors_are_those_of_a_real_worker(label: str) -> None:
    """Every key has the value, the errors and the visibility that the worker told."""
    given = VALIDATED[label]
    is_source = given["connector.class"] == "RecordedSource"
    told = ANSWERS["validated"][label]["answer"]
    made = msgspec.to_builtins(validate(given, Known(), WORKER))
    ours = {
        name: entry
        for name, entry in entries(made["configs"]).items()
        if not ours_only(name, is_source=is_source)
    }
    assert ours == entries(told["configs"])
    assert made["error_count"] == told["error_count"]
    assert made["name"] == told["name"]
    assert [group for group in made["groups"] if group != "Headrace"] == told["groups"]


@pytest.mark.parametrize("label", ["good source", "good sink", "transforms", "converter settings"])
def test_definitions_are_those_of_a_real_worker(label: str) -> None:
    """Type, default, importance, group, order, width, dependents and the order of the keys."""
    given = VALIDATED[label]
    is_source = given["connector.class"] == "RecordedSource"
    told = [
        ANSWERS["definitions"][config["definition"]]
        for config in ANSWERS["validated"][label]["answer"]["configs"]
    ]
    made = [
        msgspec.to_builtins(each.definition)
        for each in validate(given, Known(), WORKER).configs
        if not ours_only(each.definition.name, is_source=is_source)
    ]
    assert all(each["documentation"] or "." in each["name"] for each in made[:24])
    for each in made:
        del each["documentation"]
    assert made == told


def test_offers_are_those_of_a_real_worker() -> None:
    """Converters, versions and modes that a form offers."""
    told = {
        config["value"]["name"]: config["value"]["recommended_values"]
        for config in ANSWERS["validated"]["good source"]["answer"]["configs"]
    }
    made = validate(VALIDATED["good source"], Known(), WORKER)
    ours = {each.value.name: each.value.recommended_values for each in made.configs}
    assert {name: ours[name] for name in told} == told


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "s"}, "Connector config {name=s} contains no connector type"),
        (
            {"connector.class": "no.Such"},
            "Failed to find any class that implements Connector and which name matches no.Such, "
            "available connectors are: RecordedSink, RecordedSource",
        ),
    ],
)
def test_without_a_class_nothing_can_be_validated(given: dict[str, str], said: str) -> None:
    """The request is wrong as a whole."""
    with pytest.raises(BadRequestException) as fault:
        validate(given, Known(), WORKER)
    assert str(fault.value) == said


def test_a_name_that_is_nearly_right() -> None:
    """The nearest name is named."""
    with pytest.raises(BadRequestException, match=r"Did you mean RecordedSource\?$"):
        connector_plugin({"connector.class": "RecordedSourc"}, Known())
    made = validate({**SOURCE, "key.converter": "JsonConvertor"}, Known(), WORKER)
    assert faults(made) == [
        "Invalid value JsonConvertor for configuration key.converter: Class JsonConvertor could "
        f"not be found. Did you mean {JSON.name}?"
    ]


def test_exactly_once_is_not_promised_by_who_cannot_keep_it() -> None:
    """Neither by a worker without it nor by a connector that says so."""
    given = {**SOURCE, "exactly.once.support": "required"}
    (told,) = faults(validate(given, Known(), replace(WORKER, exactly_once=False)))
    assert told == "This worker does not have exactly-once source support enabled."
    plugin = replace(RECORDED_SOURCE, exactly_once=False)
    known = Known()
    known.table = {**Known.table, Role.CONNECTOR: [plugin]}
    (told,) = faults(validate(given, known, WORKER))
    assert told.startswith("The connector does not support exactly-once semantics")
    known.table = {**Known.table, Role.CONNECTOR: [replace(plugin, exactly_once=True)]}
    assert faults(validate(given, known, WORKER)) == []


def test_what_a_transforms_key_depends_on() -> None:
    """Offers and visibility follow from the transform's other keys, under their own names."""
    keys = (
        Key("where", Kind.STRING, "header"),
        Key(
            "field",
            Kind.STRING,
            "",
            recommend=lambda values: [values["where"]],
            visible=lambda values: values["where"] == "field",
        ),
    )
    known = Known()
    plugin = Plugin("Depends", "1.0", Definition(keys))
    known.table = {**Known.table, Role.TRANSFORM: [plugin]}
    for where in ("header", "field"):
        given = {**SOURCE, "transforms": "a", "transforms.a.type": "Depends"}
        made = validate({**given, "transforms.a.where": where}, known, WORKER)
        (field,) = [each for each in made.configs if each.value.name == "transforms.a.field"]
        assert field.value.recommended_values == [where]
        assert field.value.visible is (where == "field")


def test_our_own_keys() -> None:
    """Where tasks run and whether they restart; a source's dead letters."""
    good = {
        "headrace.runtime": "process",
        "headrace.isolation": "own",
        "headrace.task.restart": "on-failure",
        "headrace.task.restart.delay.ms": "10",
        "errors.deadletterqueue.topic.name": "failed",
    }
    assert faults(validate({**SOURCE, **good}, Known(), WORKER)) == []
    bad = {"headrace.runtime": "cloud", "headrace.task.restart": "always"}
    told = faults(validate({**SINK, **bad}, Known(), WORKER))
    assert [each.split(": ")[1] for each in told] == [
        "String must be one of",
        "String must be one of",
    ]
    assert report("x", []).groups == []
