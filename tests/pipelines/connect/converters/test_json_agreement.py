"""JsonConverter against Apache Kafka's, both ways, on generated schemas, values and bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.pipelines.connect.converters.json.converter import JsonConverter
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model.schema import Schema
from tests.pipelines.connect.converters import generating
from tests.pipelines.connect.converters.agreement import check_decoding as agree_on_bytes
from tests.pipelines.connect.converters.agreement import number_of, outcome
from tests.pipelines.connect.converters.oracle import Oracle

pytestmark = pytest.mark.timeout(900)  # for `make thorough`, which draws far more


JAVA = "org.apache.kafka.connect.json.JsonConverter"
PLAIN = {"schemas.enable": "false"}
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "schemas.enable": st.sampled_from(["true", "false"]),
        "decimal.format": st.sampled_from(["BASE64", "numeric"]),
        "replace.null.with.default": st.sampled_from(["true", "false"]),
    },
)


def converter(config: dict[str, str]) -> JsonConverter:
    return JsonConverter({"converter.type": "value", **config})


def loose(text: bytes | None) -> object:
    """JSON in which numbers are numbers: Java before 19 prints some with digits too many."""
    return None if text is None else json.loads(text, parse_float=number_of)


def check_encoding(
    oracle: Oracle, schema: Schema | None, value: object, config: dict[str, str]
) -> None:
    theirs = oracle.encode(JAVA, schema, value, config)
    ours = outcome(lambda: converter(config).encode("topic", schema, value))
    assert ours.get("fault") == theirs.get("fault"), (ours, theirs)
    if "fault" not in theirs and ours["data"] != theirs["data"]:
        assert loose(ours["data"]) == loose(theirs["data"])


def check_decoding(oracle: Oracle, data: bytes | None, config: dict[str, str]) -> None:
    agree_on_bytes(oracle, JAVA, converter(config), data, config)


@generating.cases(60)
@given(generating.with_values(generating.some_schemas()), CONFIGS)
def test_values_are_written_alike(
    oracle: Oracle, case: tuple[Schema, Any], config: dict[str, str]
) -> None:
    """The same bytes, apart from how many digits the JVM prints; the same faults."""
    check_encoding(oracle, *case, config)


@generating.cases(60)
@given(generating.with_values(generating.some_schemas()), CONFIGS)
def test_what_is_written_is_read_alike(
    oracle: Oracle, case: tuple[Schema, Any], config: dict[str, str]
) -> None:
    """What Java reads from our bytes is what we read from them."""
    ours = outcome(lambda: converter(config).encode("topic", *case))
    if "fault" not in ours:
        check_decoding(oracle, ours["data"], config)


@generating.cases(150)
@given(generating.plain_values(), CONFIGS)
def test_values_without_a_schema(oracle: Oracle, value: Any, config: dict[str, str]) -> None:
    """Written and read alike."""
    check_encoding(oracle, None, value, config)
    data = converter(config).encode("topic", None, value)
    check_decoding(oracle, data, config)


@st.composite
def odd_envelopes(draw: st.DrawFn) -> bytes:
    """An envelope whose payload need not fit its schema, or whose schema is no schema."""
    schema, value = draw(generating.with_values(generating.some_schemas()))
    whole = converter({"replace.null.with.default": "false"}).encode("topic", schema, value)
    assert whole is not None
    given = json.loads(whole)
    wild = draw(JSONS)
    where = draw(st.sampled_from(["payload", "schema", "part", "inner", "extra"]))
    if where in ("payload", "schema"):
        given[where] = wild
    elif where == "extra":
        given[draw(st.sampled_from(["extra", "payload", ""]))] = wild
    else:
        part = given["payload" if where == "inner" else "schema"]
        while isinstance(part, dict) and part:
            name = draw(st.sampled_from(sorted(part)))
            if draw(st.booleans()):
                part[name] = wild
                break
            below = part[name]
            part = below[0] if isinstance(below, list) and below else below
    return json.dumps(given).encode()


NUMBERS = st.sampled_from(["0", "-0", "1.5", "1e3", "-0.0", "1E400", "4294967297", "9" * 25, "0.1"])
JSONS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "AAE=", "AAE", "abc", "string", "int32", "é"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["a", "type", "field"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@generating.cases(100)
@given(odd_envelopes(), st.sampled_from([{}, {"replace.null.with.default": "false"}]))
def test_envelopes_that_do_not_fit(oracle: Oracle, data: bytes, config: dict[str, str]) -> None:
    """The same leniency and the same faults."""
    check_decoding(oracle, data, config)


PIECES = st.sampled_from(
    [
        *('{"a":', "{", "}", "[", "]", '"', ",", ":", " ", "\n", "\\u00e9", "\\ud800", "\\", "/"),
        *(
            "true",
            "null",
            "nul",
            "x",
            "NaN",
            "-",
            "1",
            "0",
            ".5",
            "e7",
            "1e400",
            "\x01",
            "é",
            '"b"',
        ),
    ]
)


@generating.cases(300)
@given(st.lists(PIECES, max_size=8).map("".join))
def test_text_that_need_not_be_json(oracle: Oracle, text: str) -> None:
    """Read alike, or not at all by both."""
    check_decoding(oracle, text.encode(), PLAIN)


@generating.cases(100)
@given(st.binary(max_size=12) | NUMBERS.map(str.encode))
def test_bytes_that_need_not_be_text(oracle: Oracle, data: bytes) -> None:
    check_decoding(oracle, data, PLAIN)


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        b"  ",
        b"null",
        b"{}",
        b'{"schema":null,"payload":5}',
        b'{"schema":{"type":"int8"},"payload":300}',
        b'{"schema":{"type":"string"},"payload":null}',
        b'{"schema":{"type":"string"},"payload":5}',
        b'{"schema":{"type":"string","optional":true},"payload":5}',
        b'{"schema":{"type":"float"},"payload":1e39}',
        b'{"schema":{"type":"array","items":{"type":"int8"}},"payload":{"a":1}}',
        b'{"schema":{"type":"map","keys":{"type":"int8"},"values":{"type":"int8"}},"payload":[[1]]}',
        b'{"schema":{"type":"struct","fields":[]},"payload":{}} trailing',
        b'{"schema":{"type":"struct"},"payload":{}}',
        b'{"schema":{"type":"strange"},"payload":{}}',
        b'{"schema":{"type":"int8","default":"x","optional":true},"payload":1}',
        b'{"schema":{"type":"string","default":1,"optional":true},"payload":"a"}',
        b'{"schema":{"type":"string","default":1},"payload":"a"}',
        b'{"schema":{"type":"string","default":null},"payload":"a"}',
        b'{"payload":1,"schema":{"type":"int8"},"payload":2}',
        "﻿5".encode(),
        '{"schema":null,"payload":"é"}'.encode("utf-16"),
    ],
)
@pytest.mark.parametrize("config", [{}, PLAIN, {"schema.content": '{"type":"int32"}'}])
def test_single_cases(oracle: Oracle, data: bytes | None, config: dict[str, str]) -> None:
    check_decoding(oracle, data, config)


def test_what_is_nested_too_deeply(oracle: Oracle) -> None:
    """Rejected by both, as the same fault."""
    check_decoding(oracle, b"[" * 5000 + b"]" * 5000, PLAIN)
    check_decoding(oracle, b"[" * 100 + b"]" * 100, PLAIN)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(DataException, match="serialization error"):
        converter(PLAIN).encode("topic", None, deep)


@pytest.mark.parametrize(
    "data",
    [
        b'{"schema":null,"payload":5} trailing',
        b'{"schema":null,"payload":"\xc3\xa9"}',
        b'{"schema":null,"payload":\xef\xbb\xbf5}',
        b'{"schema":null,"payload":5,"payload":6}',
        b'{"schema":null,"payload":5,"schema":{"type":"int8"}}',
        b'{"schema":null,"payload":05}',
        b'{"schema":null,"payload":"\xff"}',
        b'{"schema":null,"payload":5',
    ],
)
def test_a_head_that_is_known(oracle: Oracle, data: bytes) -> None:
    """Read as by a converter that has not seen the head before."""
    made = converter({})
    made.decode("topic", b'{"schema":null,"payload":1}')
    agree_on_bytes(oracle, JAVA, made, data, {})
