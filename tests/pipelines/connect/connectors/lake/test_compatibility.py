"""Records of several schemas under one."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.pipelines.connect.connectors.lake.compatibility import project
from headrace.pipelines.connect.connectors.lake.sink import LocalSink
from headrace.pipelines.connect.faults import SchemaProjectorException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import Schema, Struct
from headrace.testing import ConnectHarness
from tests.pipelines.lake.rows import all_held, files

OLD = schemas.struct({"n": schemas.INT32}, name="r", version=1)
NEW = schemas.struct(
    {"n": schemas.INT64, "colour": schemas.STRING.but(default="red")}, name="r", version=2
)


def written(folder: Path, mode: str, *schemas_: Schema) -> list[str]:
    """One record of each schema; the files that they make."""
    settings = {"store.url": str(folder), "flush.size": "4", "schema.compatibility": mode}
    with ConnectHarness(LocalSink, settings) as sink:
        for n, schema in enumerate(schemas_):
            row: dict[str, object] = {"n": n}
            sink.put([row if schema is OLD else row | {"colour": "blue"}], schema=schema)
    return files(folder, "topic")


def test_none_begins_a_file_for_each(tmp_path: Path) -> None:
    assert len(written(tmp_path, "NONE", OLD, NEW, NEW, OLD)) == 3
    assert [row.get("colour") for row in all_held(tmp_path, "topic")] == [
        None,
        "blue",
        "blue",
        None,
    ]


@pytest.mark.parametrize("mode", ["BACKWARD", "FULL"])
def test_backward_writes_old_records_under_the_new_schema(tmp_path: Path, mode: str) -> None:
    assert len(written(tmp_path, mode, OLD, NEW, OLD, OLD)) == 2
    held = all_held(tmp_path, "topic")
    assert [row.get("colour") for row in held] == [None, "blue", "red", "red"]


def test_forward_writes_new_records_under_the_old_schema(tmp_path: Path) -> None:
    old = schemas.struct({"n": schemas.INT64}, name="r", version=1)
    settings = {"store.url": str(tmp_path), "flush.size": "3", "schema.compatibility": "FORWARD"}
    with ConnectHarness(LocalSink, settings) as sink:
        sink.put([{"n": 0}], schema=old)
        sink.put([{"n": 1, "colour": "blue"}, {"n": 2, "colour": "blue"}], schema=NEW)
    assert all_held(tmp_path, "topic") == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert len(files(tmp_path, "topic")) == 1


def test_versions_are_needed(tmp_path: Path) -> None:
    plain = schemas.struct({"n": schemas.INT32})
    settings = {"store.url": str(tmp_path), "flush.size": "3", "schema.compatibility": "BACKWARD"}
    with ConnectHarness(LocalSink, settings) as sink:
        sink.put([{"n": 0}], schema=plain)
        sink.put([{"n": 1}], schema=OLD)
    assert sink.refused == {1: "Schema version required for BACKWARD compatibility"}


def test_projection() -> None:
    nested = schemas.struct({"a": schemas.array(OLD), "m": schemas.map_of(schemas.STRING, OLD)})
    wider = schemas.struct({"a": schemas.array(NEW), "m": schemas.map_of(schemas.STRING, NEW)})
    old = Struct.of(OLD, {"n": 1})
    made = project(nested, Struct.of(nested, {"a": [old], "m": {"k": old}}), wider)
    new = Struct.of(NEW, {"n": 1, "colour": "red"})
    assert made == Struct.of(wider, {"a": [new], "m": {"k": new}})
    assert project(schemas.INT32, 5, schemas.FLOAT64) == 5.0
    assert project(schemas.OPTIONAL_STRING, None, schemas.STRING.but(default="x")) == "x"


@pytest.mark.parametrize(
    ("source", "target", "value", "told"),
    [
        (schemas.INT64, schemas.INT32, 1, "source type: INT64 and target type: INT32"),
        (schemas.STRING, schemas.STRING.but(name="n"), "x", "Schema name mismatch"),
        (schemas.OPTIONAL_STRING, schemas.STRING, "x", "does not provide a default value"),
        (schemas.decimal(1), schemas.decimal(2), 1, "Schema parameters not equal"),
        (
            OLD,
            schemas.struct({"m": schemas.INT32}, name="r"),
            Struct.of(OLD, {"n": 1}),
            "Required field `m` is missing from source schema",
        ),
    ],
)
def test_what_cannot_be_projected(source: Schema, target: Schema, value: object, told: str) -> None:
    with pytest.raises(SchemaProjectorException, match=told):
        project(source, value, target)
