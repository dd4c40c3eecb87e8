"""Records as JSON objects."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.failures import Failure
from headrace.cli.record_json import Draft, from_json, to_json
from headrace.cli.record_text import Encoding, Faces, Record, plain_face, plain_pack

TEXT = plain_pack(Encoding.TEXT)


@given(
    key=st.none() | st.binary(),
    value=st.none() | st.binary(),
    headers=st.lists(st.tuples(st.text(), st.none() | st.text().map(str.encode))),
    timestamp_ms=st.integers(0, 2**63 - 1),
)
def test_what_consume_prints_produce_reads(
    key: bytes | None,
    value: bytes | None,
    headers: list[tuple[str, bytes | None]],
    timestamp_ms: int,
) -> None:
    """With base64 nothing of a record is lost on the way through JSON."""
    record = Record("t", 2, 9, timestamp_ms, "CreateTime", key, value, headers)
    faces = Faces(plain_face(Encoding.BASE64), plain_face(Encoding.BASE64))
    line = json.dumps(to_json(record, faces)).encode()
    assert from_json(line, plain_pack(Encoding.BASE64), plain_pack(Encoding.BASE64)) == Draft(
        key, value, headers, 2, timestamp_ms
    )


def test_json_values_are_objects_not_strings() -> None:
    """--value-format json embeds the value, so that jq can look into it."""
    record = Record("t", 0, 0, 0, "CreateTime", b"1", b'{"a": 1}')
    shown = to_json(record, Faces(plain_face(Encoding.JSON), plain_face(Encoding.JSON)))
    assert shown["key"] == 1
    assert shown["value"] == {"a": 1}


def test_objects_become_compact_json_whatever_the_format() -> None:
    """A value that is no string is written as JSON."""
    draft = from_json(b'{"value": {"a": [1, 2]}, "key": 7}', TEXT, TEXT)
    assert draft.value == b'{"a":[1,2]}'
    assert draft.key == b"7"


def test_headers_may_be_a_mapping() -> None:
    """The short form of headers works where no name comes twice."""
    draft = from_json(b'{"headers": {"a": "1", "b": null}}', TEXT, TEXT)
    assert draft.headers == [("a", b"1"), ("b", None)]
    assert draft.value is None


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"[]", "is not a JSON object"),
        (b"{", "is not JSON"),
        (b'{"headers": [1]}', "headers .* cannot be read"),
        (b'{"headers": "x"}', "headers .* cannot be read"),
        (b'{"partition": "0"}', '"partition" must be an integer'),
        (b'{"timestamp": true}', '"timestamp" must be an integer'),
    ],
)
def test_a_line_of_another_shape_is_refused(line: bytes, complaint: str) -> None:
    """Each complaint names the part at fault."""
    with pytest.raises(Failure, match=complaint):
        from_json(line, TEXT, TEXT)
