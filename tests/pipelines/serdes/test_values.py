"""Modes and options, as all formats have them."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pyarrow as pa
import pytest

from headrace.errors import ConfigError, CorruptData
from headrace.pipelines.serdes.values import avro_values, protobuf_values
from tests.pipelines.serdes.protobuf_messages import compile_protos

STRING = '"string"'
VALUES = pa.array([b"\x02a", b"\x04b", None], pa.binary())


def test_failfast_names_everything() -> None:
    """By default a bad value stops the query: row, byte, field, reason and remedy are said."""
    decoder = avro_values(STRING)
    assert decoder.type == pa.string()
    with pytest.raises(
        CorruptData,
        match=r"row 1 of the batch cannot be decoded: byte 0: expected string, but the value ends "
        r"before it\. Check that the schema .* mode='PERMISSIVE' .* dead_letter=True",
    ):
        decoder.decode(VALUES)


@pytest.mark.parametrize("given", [{"mode": "PERMISSIVE"}, {"options": {"MODE": "permissive"}}])
def test_permissive_makes_it_null(given: dict[str, Any]) -> None:
    """PERMISSIVE, by argument or by Spark's option."""
    assert avro_values(STRING, **given).decode(VALUES).to_pylist() == ["a", None, None]


def test_dead_letters_keep_the_reason() -> None:
    """The value and, where there is none, why; a null is not an error."""
    decoder = avro_values(STRING, dead_letter=True)
    decoded = decoder.decode(VALUES)
    assert decoded.type == decoder.type == pa.struct({"value": pa.string(), "error": pa.string()})
    reason = "byte 0: expected string, but the value ends before it"
    assert decoded.to_pylist() == [
        {"value": "a", "error": None},
        {"value": None, "error": reason},
        {"value": None, "error": None},
    ]


def test_the_reader_schema_by_option() -> None:
    """Spark's option avroSchema is the reader's schema."""
    options = {"avroSchema": '"bytes"'}
    assert avro_values(STRING, options).decode(VALUES[:1]).to_pylist() == [b"a"]
    assert avro_values(STRING, reader_schema='"bytes"').type == pa.binary()
    with pytest.raises(ConfigError, match="given twice"):
        avro_values(STRING, options, reader_schema='"bytes"')


@pytest.mark.parametrize(
    ("options", "more", "message"),
    [
        (
            {"mode": "DROPMALFORMED"},
            {},
            "mode is DROPMALFORMED: allowed are FAILFAST and PERMISSIVE",
        ),
        ({}, {"mode": "FAILFAST", "dead_letter": True}, "choose one"),
        ({"ignoreExtension": "true"}, {}, "unknown option ignoreExtension; known are"),
        ({"recursiveFieldMaxDepth": "16"}, {}, "recursiveFieldMaxDepth is 16: allowed"),
        ({"recursiveFieldMaxDepth": "many"}, {}, "recursiveFieldMaxDepth is many: allowed"),
        ({"enableStableIdentifiersForUnionType": "yes"}, {}, "is yes: allowed are true and false"),
    ],
)
def test_options_that_cannot_be_used(
    options: dict[str, str], more: dict[str, Any], message: str
) -> None:
    """A wrong option names its key, its value and what is allowed."""
    with pytest.raises(ConfigError, match=message):
        avro_values(STRING, options, **more)


def test_decoders_travel(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What workers get is pickled, and does there what it does here."""
    schema = json.dumps(
        {"type": "record", "name": "R", "fields": [{"name": "x", "type": "int", "default": 7}]}
    )
    empty = '{"type": "record", "name": "R", "fields": []}'
    avro = pickle.loads(pickle.dumps(avro_values(empty, reader_schema=schema)))
    assert avro.decode(pa.array([b""], pa.binary())).to_pylist() == [{"x": 7}]
    protos = compile_protos(tmp_path_factory.mktemp("protos"))
    options = {"emit.default.values": "true"}
    protobuf = pickle.loads(pickle.dumps(protobuf_values("shop.Point", protos, options)))
    assert protobuf.decode(pa.array([b"\x08\x02"], pa.binary())).to_pylist() == [
        {"x": 1, "y": 0, "names": []}
    ]
