"""Headers as text: what Kafka's SimpleHeaderConverter makes of them, and ours."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.pipelines.connect.converters.simple_header import SimpleHeaderConverter
from headrace.pipelines.connect.model.schema import Schema
from tests.pipelines.connect.converters import agreement, generating
from tests.pipelines.connect.converters.oracle import Oracle

pytestmark = pytest.mark.timeout(900)  # for `make thorough`, which draws far more


JAVA = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
CONVERTER = SimpleHeaderConverter({})

PIECES = st.sampled_from(
    [
        *("[", "]", "{", "}", ",", ":", '"', "\\", " ", "1", "-1", "300", "70000", "5000000000"),
        *("1.5", "0.1", "1e3", "1e39", "1e400", "-0.0", "99999999999999999999", "+7", "-", "1_0"),
        *("true", "null", "False", "abc", "é", "12:34:56.789Z", "2024-02-29", "1500-01-01"),
        *("2024-01-01T00:00:00.000Z", "12:59:61.999Z", "2024-13-45", "2024-01-0x", "\t", "x y"),
    ]
)


@generating.cases(200)
@given(st.lists(PIECES, max_size=9).map("".join))
def test_text_is_read_alike(oracle: Oracle, text: str) -> None:
    """Every guess, and every retreat to text."""
    agreement.check_decoding(oracle, JAVA, CONVERTER, text.encode())


SIMPLE = st.sampled_from(
    ["1", "300", "1.5", "true", "null", '"a"', "2024-01-01", '"12:00:00.000Z"', '""']
)
KEYS = SIMPLE.filter(lambda text: text != "true")  # in Python it is the same key as 1
LITERALS = st.recursive(
    SIMPLE,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.lists(st.tuples(KEYS, inner), max_size=3).map(
            lambda pairs: f"{{{', '.join(f'{k} : {v}' for k, v in pairs)}}}"
        )
    ),
    max_leaves=6,
)


@generating.cases(150)
@given(LITERALS)
def test_arrays_and_maps(oracle: Oracle, text: str) -> None:
    agreement.check_decoding(oracle, JAVA, CONVERTER, text.encode())


@generating.cases(100)
@given(st.none() | st.binary(max_size=12))
def test_any_bytes(oracle: Oracle, data: bytes | None) -> None:
    agreement.check_decoding(oracle, JAVA, CONVERTER, data)


@generating.cases(60)
@given(generating.with_values(generating.some_schemas()))
def test_values_are_written_alike(oracle: Oracle, case: tuple[Schema, Any]) -> None:
    """The same text, apart from how many digits Java 17 prints of a float."""
    theirs = oracle.encode(JAVA, *case)
    ours = agreement.outcome(lambda: CONVERTER.encode("topic", *case))
    assert ours.get("fault") == theirs.get("fault")
    assert numbers_read(ours.get("data")) == numbers_read(theirs.get("data"))


NUMBER = re.compile(rb"-?\d+\.\d+(?:E-?\d+)?")


def numbers_read(data: bytes | None) -> object:
    """The text between the numbers that have a fraction, and the numbers."""
    if data is None:
        return None
    numbers = [agreement.number_of(text.decode()) for text in NUMBER.findall(data)]
    return NUMBER.split(data), numbers


@pytest.mark.parametrize(
    "text", ["", "1", "2024-02-29", "12:34:56.789Z", "[1,2.5]", '{"a":[1]}', "null", " 5 ", "1,2"]
)
def test_single_texts(oracle: Oracle, text: str) -> None:
    agreement.check_decoding(oracle, JAVA, CONVERTER, text.encode())
