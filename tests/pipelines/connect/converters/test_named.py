"""Converters by the names that worker and connector files give them."""

from __future__ import annotations

import pytest

from headrace.pipelines.connect.config.definition import REQUIRED
from headrace.pipelines.connect.converters.converter import Converter
from headrace.pipelines.connect.converters.named import CONVERTERS, NamedConverter, named
from headrace.pipelines.connect.faults import ConfigException
from tests.pipelines.connect.converters.oracle import Oracle

APACHE = [each for each in CONVERTERS if each.java_class.startswith("org.apache.")]
REGISTRY = {"schema.registry.url": "http://127.0.0.1:9"}


def by_class(each: NamedConverter) -> str:
    return each.simple_name


@pytest.mark.parametrize("each", CONVERTERS, ids=by_class)
def test_both_names_mean_the_same(each: NamedConverter) -> None:
    """And the class that is made has that name."""
    assert named(each.java_class) is named(each.simple_name) is each
    made = each.made(REGISTRY, "value" if each.records else "header")
    assert isinstance(made, Converter)
    assert type(made).__name__ == each.simple_name
    made.close()


@pytest.mark.parametrize("each", APACHE, ids=by_class)
def test_settings_are_those_of_kafka(each: NamedConverter, oracle: Oracle) -> None:
    """Their names, kinds, defaults, and what a form shows of them."""
    theirs = oracle.ask(op="settings", **{"class": each.java_class})["keys"]
    ours = [
        {
            "name": key.name,
            "kind": key.kind.value,
            "required": key.default is REQUIRED,
            "default": None if key.default is REQUIRED else shown(key.default),
            "importance": key.importance,
            "group": key.group,
            "width": key.width,
            "display": key.display_name or key.name,
        }
        for key in each.definition.keys
    ]
    assert ours == theirs


def shown(default: object) -> str:
    if default is None:
        return "null"
    return str(default).lower() if isinstance(default, bool) else str(default)


@pytest.mark.spec("slides:H07")
def test_json_with_and_without_schemas() -> None:
    """JsonConverter for keys and values; `schemas.enable=false` gives bare JSON."""
    json = named("org.apache.kafka.connect.json.JsonConverter")
    bare = json.made({"schemas.enable": "false"}, "value")
    assert bare.encode("t", None, {"a": 1}) == b'{"a":1}'
    assert json.made({}, "key").encode("t", None, 5) == b'{"schema":null,"payload":5}'


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigException, match=r"did you mean JsonConverter\?"):
        named("org.apache.kafka.connect.json.JSONConvertor")
    with pytest.raises(ConfigException, match="known are JsonConverter, StringConverter"):
        named("acme.Zzz")


def test_wrong_settings_are_rejected() -> None:
    with pytest.raises(ConfigException, match=r"decimal\.format"):
        named("JsonConverter").made({"decimal.format": "HEX"}, "value")
    with pytest.raises(ConfigException, match=r"schema\.registry\.url"):
        named("AvroConverter").made({}, "value")
    with pytest.raises(ConfigException, match="Unknown subject name strategy"):
        named("AvroConverter").made(REGISTRY | {"value.subject.name.strategy": "acme.Own"}, "value")
