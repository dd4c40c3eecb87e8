"""Statements of KCQL, understood or rejected with the reason."""

from __future__ import annotations

import pytest

from headrace.pipelines.connect.connectors.kcql import Statement, statements
from headrace.pipelines.connect.faults import ConfigException

OPTIONS = ("WITHCONVERTER", "STOREAS", "TTL")


def read(text: str) -> list[Statement]:
    return statements("connect.x.kcql", text, OPTIONS)


@pytest.mark.spec("slides:H16")
def test_everything_of_a_source_goes_to_a_target() -> None:
    (found,) = read("INSERT INTO truck_position SELECT * FROM truck/+/position")
    assert (found.target, found.source) == ("truck_position", "truck/+/position")
    assert (found.fields, found.keys, found.options) == ((), (), {})


def test_all_parts() -> None:
    (found,) = read(
        "insert into `a topic` select id, where.at as place, `odd name` from b/# "
        "PK id, name WITHCONVERTER=`com.x.Json;Converter` storeas list TTL = 60"
    )
    assert found.target == "a topic"
    assert found.source == "b/#"
    assert found.fields == (("id", "id"), ("where.at", "place"), ("odd name", "odd name"))
    assert found.keys == ("id", "name")
    assert found.options == {
        "WITHCONVERTER": "com.x.Json;Converter",
        "STOREAS": "list",
        "TTL": "60",
    }


def test_several_statements() -> None:
    found = read("UPSERT INTO a SELECT * FROM b WITHKEY(x, y); SELECT * FROM c;")
    assert [(each.target, each.source, each.keys) for each in found] == [
        ("a", "b", ("x", "y")),
        ("", "c", ()),
    ]
    assert [each.text for each in found] == [
        "UPSERT INTO a SELECT * FROM b WITHKEY(x, y)",
        "SELECT * FROM c",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "a statement is expected"),
        ("DELETE FROM a", "SELECT is expected"),
        ("INSERT a SELECT * FROM b", "INTO is expected"),
        ("INSERT INTO a SELECT * b", "FROM is expected"),
        ("INSERT INTO a SELECT , FROM b", "a field is expected before ,"),
        ("INSERT INTO a SELECT * FROM", "a source is expected at the end"),
        ("INSERT INTO a SELECT * FROM b AUTOCREATE", "AUTOCREATE is not understood"),
        ("INSERT INTO a SELECT * FROM b TTL=", "a value of TTL is expected"),
        ("INSERT INTO a SELECT * FROM `b", "backtick"),
        ("INSERT INTO a SELECT * FROM b WITHKEY(x", r"\) is expected"),
    ],
)
def test_what_is_not_understood_is_named(text: str, reason: str) -> None:
    with pytest.raises(ConfigException, match=reason):
        read(text)
