"""Format strings and encodings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.record_text import (
    Encoding,
    Faces,
    Record,
    compile_format,
    from_text,
    iso_timestamp,
    plain_face,
    to_text,
    unescape,
)

RECORD = Record(
    topic="orders",
    partition=3,
    offset=42,
    timestamp_ms=1_767_225_600_123,
    timestamp_type="CreateTime",
    key=b"k",
    value=b"caf\xc3\xa9",
    headers=[("trace", b"1"), ("empty", None)],
)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("%t %p %o", b"orders 3 42"),
        ("%k=%v\\n", b"k=caf\xc3\xa9\n"),
        ("%s", b"caf\xc3\xa9"),
        ("%K/%V/%S", b"1/5/5"),
        ("%h", b"trace=1,empty="),
        ("%T", b"1767225600123"),
        ("%d", b"2026-01-01T00:00:00.123Z"),
        ("100%%\\t\\r\\0\\\\", b"100%\t\r\0\\"),
        ("\\x1e%v\\x1E", b"\x1ecaf\xc3\xa9\x1e"),
        ("é", "é".encode()),
        ("", b""),
    ],
)
def test_each_field_and_escape_is_replaced(template: str, expected: bytes) -> None:
    """Every field and escape of a format string stands for what its description says."""
    assert compile_format(template, Faces())(RECORD) == expected


@pytest.mark.parametrize("template", ["%q", "%", "\\q", "\\", "\\x1"])
def test_an_unknown_field_or_escape_is_refused_before_reading(template: str) -> None:
    """A misspelt format is wrong usage and the complaint shows the part at fault."""
    with pytest.raises(WrongUsage, match="is not known in --format"):
        compile_format(template, Faces())


def test_null_is_shown_as_the_marker_and_has_the_size_minus_one() -> None:
    """A tombstone is told apart from an empty value."""
    tombstone = RECORD._replace(key=None, value=None)
    faces = Faces(null_marker=b"NULL")
    assert compile_format("%k %v %K %V", faces)(tombstone) == b"NULL NULL -1 -1"
    assert compile_format("%v %V", faces)(RECORD._replace(value=b"")) == b" 0"


def test_keys_and_values_have_encodings_of_their_own() -> None:
    """--key-format and --value-format apply each to its own part."""
    faces = Faces(plain_face(Encoding.HEX), plain_face(Encoding.BASE64))
    assert compile_format("%k %v", faces)(RECORD) == b"6b Y2Fmw6k="


def test_text_passes_bytes_that_are_no_text() -> None:
    """Without an encoding a value reaches the pipe byte for byte."""
    assert compile_format("%v", Faces())(RECORD._replace(value=b"\xff\x00")) == b"\xff\x00"


@given(st.binary(), st.sampled_from([Encoding.TEXT, Encoding.HEX, Encoding.BASE64]))
def test_what_is_shown_can_be_read_back(data: bytes, encoding: Encoding) -> None:
    """`from_text` undoes `to_text` for any bytes."""
    assert from_text(to_text(data, encoding), encoding) == data


def test_json_values_are_made_compact() -> None:
    """--value-format json shows one line however the producer spread it."""
    assert to_text(b'{ "a": [1,\n 2] }', Encoding.JSON) == b'{"a":[1,2]}'


@pytest.mark.parametrize(
    ("text", "encoding", "complaint"),
    [
        (b"xyz", Encoding.HEX, "is not hex"),
        (b"a", Encoding.BASE64, "is not base64"),
        (b"ab!=", Encoding.BASE64, "is not base64"),
        (b"{", Encoding.JSON, "is not JSON"),
    ],
)
def test_text_of_another_encoding_is_refused_by_name(
    text: bytes, encoding: Encoding, complaint: str
) -> None:
    """A value that cannot be decoded names itself and the encoding."""
    with pytest.raises(Failure, match=complaint):
        from_text(text, encoding)


def test_timestamps_beyond_the_calendar_stay_numbers() -> None:
    """Any int64 timestamp can be shown."""
    assert iso_timestamp(0) == "1970-01-01T00:00:00.000Z"
    assert iso_timestamp(2**63 - 1) == str(2**63 - 1)
    assert iso_timestamp(-(2**63)) == str(-(2**63))


def test_separators_know_escapes_but_no_fields() -> None:
    """`--key-separator '%'` is a percent sign, `'\\t'` a tab."""
    assert unescape("%k\\t") == b"%k\t"
