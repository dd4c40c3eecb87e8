"""Java's .properties syntax."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ConfigError
from headrace.java.properties import parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a = b ", {"a": "b "}),
        ("a:b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("a\t:\tb", {"a": "b"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("a==b", {"a": "=b"}),
        ("  a=b", {"a": "b"}),
        ("a=b=c:d", {"a": "b=c:d"}),
        ("# comment\n! comment\n  # comment\na=1", {"a": "1"}),
        ("a=1 # no comment", {"a": "1 # no comment"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=b\\\n   c,\\\n\td", {"a": "bc,d"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=b\\\n# part of the value", {"a": "b# part of the value"}),
        ("a=b\\", {"a": "b"}),
        ("a\\=b=c", {"a=b": "c"}),
        ("a\\ b:c", {"a b": "c"}),
        ("a=\\tx\\ny\\u0041\\z\\\\", {"a": "\tx\nyAz\\"}),
        ("C\\:\\\\x=1", {"C:\\x": "1"}),
        ("=x", {"": "x"}),
        ("\n\n  \n", {}),
        ("", {}),
    ],
)
def test_lines_are_read_as_java_reads_them(text: str, expected: dict[str, str]) -> None:
    """Separators, comments, continuation lines and escapes of java.util.Properties."""
    assert parse_properties(text) == expected


def test_a_broken_escape_names_its_line() -> None:
    """A malformed \\u stops the reading, as in Java, and says where."""
    with pytest.raises(ConfigError, match=r"line 3: \\u12 is not"):
        parse_properties("a=1\n\nb=\\u12")


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_clearly(text: str) -> None:
    """Whatever a file holds, nothing but ConfigError comes out of it."""
    try:
        parse_properties(text)
    except ConfigError:
        pass


@given(
    st.dictionaries(
        st.text(
            st.characters(min_codepoint=33, max_codepoint=0xFFFF, exclude_categories=["Cs"])
        ).filter(bool),
        st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])),
        max_size=5,
    )
)
def test_escaped_properties_come_back(properties: dict[str, str]) -> None:
    """Everything can be written: with each character as \\uXXXX it is read as it was."""

    def escaped(text: str) -> str:
        return "".join(f"\\u{ord(character):04x}" for character in text)

    text = "\n".join(f"{escaped(key)}={escaped(value)}" for key, value in properties.items())
    assert parse_properties(text) == properties
