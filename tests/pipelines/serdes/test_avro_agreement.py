"""What the registry calls compatible is read by the column functions, and nothing else is."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.errors import ConfigError
from headrace.pipelines.serdes.avro import opcodes as op
from headrace.pipelines.serdes.avro.program import compile_program
from headrace.pipelines.serdes.avro.schema import parse
from headrace.pipelines.serdes.values import avro_values
from headrace.schemas import avro
from headrace.schemas.avro.resolution import resolve
from headrace.schemas.incompatible import Incompatibility
from headrace.schemas.model import InvalidSchema
from tests.generated import examples
from tests.pipelines.serdes.avro_schemas import read
from tests.pipelines.serdes.test_avro_decode import decode
from tests.schemas.avro.generated import edited, schemas, value


def verdict(writer: Any, reader: Any) -> list[Incompatibility]:
    """The registry's."""
    return avro.incompatibilities(avro.parse(json.dumps(reader)), avro.parse(json.dumps(writer)))


@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_verdict_and_the_decoder_agree(data: st.DataObject) -> None:
    """Compatible: every value is read, as fastavro reads it. Otherwise the reasons are the same."""
    writer = data.draw(schemas(), label="writer")
    reader = edited(data.draw, writer)
    faults = verdict(writer, reader)
    trees = parse(json.dumps(writer)), parse(json.dumps(reader))
    if resolve(*trees).is_refused:
        with pytest.raises(ConfigError, match=f"{faults[0].kind} '{faults[0].path}'"):
            compile_program(*trees)
        return
    program = compile_program(*trees)
    # What stops some of the values: branches and symbols that the reader does not know.
    stops = (program.instructions[:, op.OP] == op.FAIL).any() or (program.symbols[:, 0] < 0).any()
    assert stops == bool(faults), faults
    schema = avro.parse(json.dumps(writer))
    written = [schema.encode(value(data.draw, writer)) for _ in range(3)]
    decoded, bad = decode(written, writer, reader)
    assert bool(faults) or bad == []
    rejected = {each.row for each in bad}
    for row, raw in enumerate(written):
        if row not in rejected:
            assert same(plain(decoded[row].as_py(), reader), read(raw, writer, reader))


def plain(decoded: Any, schema: Any) -> Any:
    """A decoded value as fastavro has it: a union is the member that is set, a map is a dict."""
    if isinstance(schema, list):
        branches = [each for each in schema if each != "null"]
        if decoded is None or not branches:
            return None
        kinds = sorted(map(str, branches))
        if len(branches) == 1 or kinds in (["int", "long"], ["double", "float"]):
            return plain(decoded, branches[0])
        [(branch, member)] = [
            (branch, member)
            for branch, member in zip(branches, decoded.values(), strict=True)
            if member is not None
        ]
        return plain(member, branch)
    if isinstance(schema, str) or schema["type"] in ("enum", "fixed"):
        return decoded
    if schema["type"] == "array":
        return [plain(each, schema["items"]) for each in decoded]
    if schema["type"] == "map":
        return {key: plain(each, schema["values"]) for key, each in decoded}
    return {each["name"]: plain(decoded[each["name"]], each["type"]) for each in schema["fields"]}


def same(ours: Any, theirs: Any) -> bool:
    """Equal, but for the digits that a float has not.

    Of a union's text and bytes fastavro takes the first, not the type that was written.
    """
    if {type(ours), type(theirs)} == {str, bytes}:
        return bytes(ours, "utf-8") == theirs if isinstance(ours, str) else same(theirs, ours)
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, float):
        return math.isclose(ours, theirs, rel_tol=1e-6)
    return bool(ours == theirs)


def record(*fields: dict[str, Any], name: str = "R", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def values(raw: Sequence[bytes], writer: Any, reader: Any) -> list[Any]:
    """What `from_avro` gives."""
    decoder = avro_values(json.dumps(writer), reader_schema=json.dumps(reader))
    return list(decoder.decode(pa.array(raw, pa.binary())).to_pylist())


def test_a_record_that_was_renamed() -> None:
    """Its namespace does not count, an alias helps, another name does not."""
    writer = record(field("x", "int"), name="old.R")
    for reader in (
        record(field("x", "int"), name="new.R"),
        record(field("x", "int"), name="S", aliases=["old.R"]),
    ):
        assert verdict(writer, reader) == []
        assert values([b"\x0e"], writer, reader) == [{"x": 7}]
    renamed = record(field("x", "int"), name="S")
    assert [each.kind for each in verdict(writer, renamed)] == ["NAME_MISMATCH"]
    with pytest.raises(ConfigError, match="NAME_MISMATCH '/name': the two schemas have different"):
        values([b"\x0e"], writer, renamed)


def test_a_decimal_of_another_scale() -> None:
    """Compatible, because it is bytes; the number is read in the reader's scale."""
    writer, reader = (
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": scale}
        for scale in (2, 4)
    )
    assert verdict(writer, reader) == verdict(reader, writer) == []
    assert [str(each) for each in values([b"\x04\x04\xd2"], writer, reader)] == ["12.3400"]


def test_a_type_of_the_null_namespace_inside_a_namespace() -> None:
    """An unqualified name that its namespace does not have is one of the null namespace."""
    schema = record(
        field("a", {"type": "enum", "name": "A", "symbols": ["X"]}),
        field("s", record(field("again", "A"), name="s.S")),
    )
    assert verdict(schema, schema) == []
    assert values([b"\0\0"], schema, schema) == [{"a": "X", "s": {"again": "X"}}]


def test_a_field_whose_name_and_alias_both_match() -> None:
    """It cannot be told which of the writer's two fields is meant, unless the schema is its own."""
    writer = record(field("a", "int"), field("b", "int"))
    reader = record(field("a", "int", aliases=["b"]))
    assert [each.kind for each in verdict(writer, reader)] == ["READER_FIELD_AMBIGUOUS"]
    with pytest.raises(ConfigError, match="READER_FIELD_AMBIGUOUS '/fields/0': the field 'a'"):
        values([b"\x02\x04"], writer, reader)
    own = record(field("a", "int", aliases=["b"]), field("b", "int"))
    assert values([b"\x02\x04"], own, own) == [{"a": 1, "b": 2}]


def test_a_default_of_a_wrong_type() -> None:
    """It is accepted, as in old schemas, and harms nobody who does not need it."""
    reader = record(field("x", "int", default="text"))
    assert verdict(record(field("x", "int")), reader) == []
    assert values([b"\x0e"], record(field("x", "int")), reader) == [{"x": 7}]
    with pytest.raises(ConfigError, match="the default of x is not of its type: Expected an int"):
        values([b""], record(), reader)


def test_a_name_that_is_none() -> None:
    """Both refuse it, with the same words."""
    schema = record(field("a-b", "int"))
    with pytest.raises(InvalidSchema, match='Illegal character in: "a-b"'):
        avro.parse(json.dumps(schema))
    with pytest.raises(ConfigError, match='not valid: Illegal character in: "a-b"'):
        parse(json.dumps(schema))
