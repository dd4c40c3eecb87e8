"""Java's regular expressions: what was recorded of Java 17, and what is rejected."""

from __future__ import annotations

import pytest

from headrace.java.regex import InvalidJavaRegex, Replacement, compile_java


@pytest.mark.parametrize(
    ("regex", "text", "matches"),
    [
        ("or.*", "orders", True),
        ("a.b", "a\u2028b", False),
        ("(?s)a.b", "a\nb", True),
        ("(?i)ORDERS", "orders", True),
        ("(?i)É", "é", False),
        ("\\d+", "٣", False),
        ("[\\w.-]+", "a.b-c_1", True),
        ("\\p{Alpha}[\\p{Digit}_]*", "a1_2", True),
        ("\\Qa.b\\E", "a.b", True),
        ("\\Qa.b", "axb", False),
        ("(?<n>a)\\k<n>", "aa", True),
        ("(a|b)\\1", "ab", False),
        ("\\x61\\u0062\\0143\\x{64}", "abcd", True),
        ("a{2,3}+b", "aaab", True),
        ("[$|~&]", "&", True),
        ("]}", "]}", True),
        ("\\h", "\u00a0", True),
        ("a\\Z", "a", True),
    ],
)
def test_an_expression_matches_what_it_matches_in_java(
    regex: str, text: str, matches: bool
) -> None:
    """The whole of a text, as `Matcher.matches` has it."""
    assert (compile_java(regex).fullmatch(text) is not None) == matches


@pytest.mark.parametrize(
    "regex",
    [
        *("(", "[a", "a{,3}", "{", "a**", "\\y", "\\", "[]", "(?<1>a)", "\\x{110000}", "*a"),
        *("[a[bc]]", "[a&&b]", "\\p{L}", "a(?i)b", "(?x)a", "\\R", "\\G", "\\12", "[]a]", "\\0777"),
    ],
)
def test_what_is_wrong_or_not_supported_is_rejected(regex: str) -> None:
    """The first row is wrong in Java too; the second has no equal in Python."""
    with pytest.raises(InvalidJavaRegex):
        compile_java(regex)


@pytest.mark.parametrize(
    ("replacement", "made"),
    [
        ("$1", "a"),
        ("$12", "a2"),
        ("${n}-$0", "b-ab"),
        ("\\$1", "$1"),
        ("\\\\", "\\"),
        ("[$3]", "[]"),
    ],
)
def test_a_replacement_is_written_as_in_java(replacement: str, made: str) -> None:
    """Digits belong to a group's number as long as there is such a group."""
    pattern = compile_java("(a)(?<n>b)(c)?")
    match = pattern.fullmatch("ab")
    assert match is not None
    assert Replacement(replacement, pattern).of(match) == made


@pytest.mark.parametrize("replacement", ["$4", "${x}", "$", "a$b", "\\"])
def test_a_replacement_names_groups_that_are_there(replacement: str) -> None:
    """Java finds out when it replaces."""
    with pytest.raises(InvalidJavaRegex):
        Replacement(replacement, compile_java("(a)(?<n>b)(c)?"))
