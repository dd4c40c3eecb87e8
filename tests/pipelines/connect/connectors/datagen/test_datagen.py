"""Made-up records: what a schema asks for, the same ones from the same seed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.pipelines.connect.connectors.datagen.source import DatagenSource
from headrace.pipelines.connect.faults import ConfigException
from headrace.testing import ConnectHarness
from tests.pipelines.connect.connectors.killing import killable
from tests.pipelines.connect.worker.running import Worker, messages

Start = Callable[..., Worker]
AT_ONCE = {"kafka.topic": "t", "max.interval": "0", "random.seed": "7"}


def made(settings: dict[str, str], polls: int = 1) -> list[object]:
    with ConnectHarness(DatagenSource, AT_ONCE | settings) as harness:
        return [value for _ in range(polls) for value in harness.poll()]


def of_field(kind: object, **properties: object) -> list[object]:
    """Values of a field of this type."""
    declared = {"type": kind} if isinstance(kind, str) else dict(kind)  # type: ignore[call-overload]
    field = {"name": "f", "type": declared | {"arg.properties": properties}}
    schema = {"type": "record", "name": "R", "fields": [field]}
    rows = made({"schema.string": json.dumps(schema), "iterations": "40"})
    return [row["f"] for row in rows]  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("users", r"User_[1-9]"),
        ("pageviews", r"\d+"),
        ("orders", r"\d+"),
        ("ratings", r"\d+"),
        ("clickstream", r"[\d.]+"),
    ],
)
def test_quickstarts(name: str, key: str) -> None:
    settings = AT_ONCE | {"quickstart": name.upper(), "iterations": "20"}
    with ConnectHarness(DatagenSource, settings) as harness:
        assert len(harness.poll()) == 20
        assert harness.poll() == []  # it rests
        keys = harness.batches[0].key.to_values()
        assert all(re.fullmatch(key, str(each)) for each in keys), keys
        schema = harness.batches[0].value.schema
        assert schema is not None
        assert schema.name == f"ksql.{name}"


@pytest.mark.parametrize(
    "field", ["R", ["null", "R"], {"type": "array", "items": "R"}, {"type": "map", "values": "R"}]
)
def test_a_record_within_itself_is_refused(field: object) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "f", "type": field}]}
    with pytest.raises(ConfigException, match="cannot be used: R contains itself"):
        made({"schema.string": json.dumps(schema)})


def test_the_same_seed_makes_the_same_records() -> None:
    whole = made({"quickstart": "orders", "iterations": "30"})
    assert whole == made({"quickstart": "orders", "iterations": "30"})
    assert whole != made({"quickstart": "orders", "iterations": "30", "random.seed": "8"})
    assert [row["orderid"] for row in whole] == list(range(30))  # type: ignore[index]


def test_a_task_goes_on_with_the_records_it_would_have_made() -> None:
    """Also without a seed in the settings: the one that was drawn is kept."""
    settings = {"kafka.topic": "t", "quickstart": "users", "max.interval": "0"}
    with ConnectHarness(DatagenSource, settings) as harness:
        first = harness.poll()
        harness.restart()
        second = harness.poll()
        offset = dict(harness.offsets[-1][1])
        seed = str(offset.pop("random.seed"))
    assert offset == {"task.generation": 2, "current.iteration": 1000}
    again = made({"quickstart": "users", "random.seed": seed}, polls=2)
    assert first + second == again


def test_tasks_make_different_records() -> None:
    settings = AT_ONCE | {"quickstart": "users"}
    with (
        ConnectHarness(DatagenSource, settings) as one,
        ConnectHarness(DatagenSource, settings, task=1) as other,
    ):
        assert one.poll() != other.poll()
        assert other.offsets[0][0] == {"task.id": 1}


def test_properties_of_types() -> None:
    assert set(of_field("int", range={"min": 3, "max": 5})) == {3, 4}
    assert of_field("long", iteration={"start": 5, "step": 2, "restart": 9})[:4] == [5, 7, 5, 7]
    assert of_field("double", iteration={"start": 1, "initial": 2})[:2] == [2.0, 3.0]
    assert all(0.5 <= each < 0.75 for each in of_field("double", range={"min": 0.5, "max": 0.75}))  # type: ignore[operator]
    assert set(of_field("boolean", odds=1)) == {True}
    assert {len(str(each)) for each in of_field("string", length=3)} == {3}
    assert all(re.fullmatch(r"[ab]\d", str(each)) for each in of_field("string", regex="[ab]\\d"))
    assert set(of_field("string", options=["x", "y"])) == {"x", "y"}
    assert all(isinstance(each, bytes) for each in of_field("bytes", length=2))
    lists = of_field({"type": "array", "items": "int"}, length={"min": 1, "max": 3})
    assert {len(each) for each in lists} == {1, 2}  # type: ignore[arg-type]
    maps = of_field({"type": "map", "values": "int"}, length=1, keys={"options": ["k"]})
    assert all(isinstance(each, dict) and each.keys() == {"k"} for each in maps)
    assert set(of_field({"type": "enum", "name": "E", "symbols": ["A", "B"]})) == {"A", "B"}
    assert all(len(each) == 4 for each in of_field({"type": "fixed", "name": "F", "size": 4}))  # type: ignore[arg-type]
    assert len(of_field({"type": "int", "logicalType": "date"})) == 40


def test_a_union_is_any_of_its_types() -> None:
    field = {"name": "f", "type": ["null", "int", "string"]}
    schema = json.dumps({"type": "record", "name": "R", "fields": [field]})
    rows = made({"schema.string": schema, "iterations": "60"})
    kinds = {None if row["f"] is None else tuple(row["f"]) for row in rows}  # type: ignore[index]
    assert kinds == {None, ("int", "string")}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "exactly one of quickstart, schema.string, schema.filename"),
        ({"quickstart": "nothing"}, "there are: users"),
        ({"schema.string": '"int"'}, "must be a record's"),
        ({"schema.string": "{"}, "the schema cannot be used"),
        ({"schema.filename": "/no/such/file"}, "No such file"),
        ({"quickstart": "users", "schema.keyfield": "nothing"}, "no such field"),
    ],
)
def test_what_cannot_be_made_is_named(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigException, match=reason):
        made(settings)


@pytest.mark.parametrize(
    ("kind", "properties", "reason"),
    [
        ("int", {"range": {"min": 5, "max": 5}}, "less than max"),
        ("int", {"range": {"max": 2**40}}, "cannot hold"),
        ("int", {"regex": "a"}, "int has no such property; it has: iteration, options, range"),
        ("int", {"iteration": {}}, "start is missing"),
        ("int", {"iteration": {"start": 0, "step": -1, "restart": 5}}, "does not lead"),
        ("string", {"options": []}, "a list of values"),
        ("boolean", {"odds": 2}, "from 0 to 1"),
        ("string", {"length": {"min": -1, "max": 1}}, "at least 0"),
    ],
)
def test_properties_that_cannot_be(kind: str, properties: dict[str, object], reason: str) -> None:
    with pytest.raises(ConfigException, match=reason):
        of_field(kind, **properties)


def test_through_a_worker(start: Start, bootstrap: str, tmp_path: Path, topic: str) -> None:
    schema = tmp_path / "schema.avsc"
    field = {"name": "n", "type": {"type": "int", "arg.properties": {"iteration": {"start": 0}}}}
    schema.write_text(json.dumps({"type": "record", "name": "R", "fields": [field]}))
    start(
        {
            "name": "gen",
            "connector.class": "io.confluent.kafka.connect.datagen.DatagenConnector",
            "schema.filename": str(schema),
            "schema.keyfield": "n",
            "kafka.topic": topic,
            "max.interval": "1",
            "iterations": "5",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
        }
    )
    found = messages(bootstrap, topic, 5)
    assert [each.value() for each in found] == [b'{"n":%d}' % number for number in range(5)]
    assert [each.key() for each in found] == [b"%d" % number for number in range(5)]
    headers = dict(found[3].headers() or [])
    assert headers == {"task.generation": b"0", "task.id": b"0", "current.iteration": b"3"}


@pytest.mark.thorough
def test_killed_and_started_again(bootstrap: str, tmp_path: Path, topic: str) -> None:
    """Every record is there, those after the last kept position perhaps twice, all the same."""
    settings = {
        "quickstart": "ratings",
        "kafka.topic": topic,
        "max.interval": "2",
        "random.seed": "1",
        "iterations": "400",
    }
    with killable(bootstrap, tmp_path, "Datagen", settings) as kill:
        messages(bootstrap, topic, 100)
        kill()
    with killable(bootstrap, tmp_path, "Datagen", settings | {"max.interval": "0"}):
        found = messages(bootstrap, topic, 400)
        while len({each.key() for each in found}) < 400:
            found = messages(bootstrap, topic, len(found) + 1)
    values: dict[bytes | None, set[bytes | None]] = {}
    for each in found:
        values.setdefault(each.key(), set()).add(each.value())
    assert len(values) == 400
    assert all(len(each) == 1 for each in values.values())
