"""Regular expressions: the syntax of RE2, as in Kafka, and never more than linear time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.coordinator.patterns import InvalidRegex, compile_regex

TOPICS = ["orders", "orders-1", "orders.eu", "Orders", "a", "ab", "a.b", "x_1", "__x", "9", "-"]

# What RE2/J says about them.
MATCHES = {
    "": [],
    "orders": ["orders"],
    "orders.*": ["orders", "orders-1", "orders.eu"],
    "ord": [],  # the whole name must match
    "(?i)orders": ["orders", "Orders"],
    "(?i:o)rders": ["orders", "Orders"],
    "(?i)o(?-i)rders|A": ["orders", "Orders"],
    "a|x_1|": ["a", "x_1"],
    "^a$": ["a"],
    r"\Aa\z": ["a"],
    r"a\.b": ["a.b"],
    r"\Qa.b\E": ["a.b"],
    r"\Qa.b": ["a.b"],
    r"a\b\.\bb": ["a.b"],
    r"a\Bb": ["ab"],
    "[a-c]+": ["a", "ab"],
    "[^a-z]+": ["9", "-"],
    "[[:alpha:]]{6}": ["orders", "Orders"],
    r"[\w-]+": ["orders", "orders-1", "Orders", "a", "ab", "x_1", "__x", "9", "-"],
    r"\d": ["9"],
    r"\pN|\p{Pd}": ["9", "-"],
    r"\p{Lu}\PN+": ["Orders"],
    r"(?P<name>a)(?:b)?": ["a", "ab"],
    r"a{0,1}b?": ["a", "ab"],
    r"_{2}x": ["__x"],
    r"\x61|\141b|\x{39}": ["a", "ab", "9"],
    "a{b": [],
    "[]a]": ["a"],
    "a(?m)+b": ["ab"],
    "^*a": ["a"],
}

REFUSED = [
    "(",
    "a)",
    "[a",
    "[b-a]",
    "[[:letters:]]",
    "*",
    "(*)",
    "a**",
    "a*+",
    "a{2}{3}",
    "a{1001}",
    "a{3,1}",
    "a\\",
    r"\1",
    r"\8",
    r"\k",
    r"\Z",
    r"\p{Nonsense}",
    r"\pX",
    r"\p{",
    r"\x",
    r"\x{110000}",
    "(?=a)",
    "(?!a)",
    "(?<=a)",
    "(?<!a)",
    "(?>a)",
    "(?#a)",
    "(?P=a)",
    "(?P<a",
    "(?P<>a)",
    "(?x)",
    "(?i",
    "(?i-)",
    "(a{1000}){1000}",
]


@pytest.mark.parametrize("regex", MATCHES)
def test_what_matches(regex: str) -> None:
    """KIP-848: SubscribedTopicRegex is RE2, and stands for whole topic names."""
    pattern = compile_regex(regex)
    assert [topic for topic in TOPICS if pattern.matches(topic)] == MATCHES[regex]


@pytest.mark.parametrize("regex", REFUSED, ids=lambda regex: regex[:20])
def test_what_is_refused(regex: str) -> None:
    """KIP-848: what RE2 does not know is refused, and what would take too much."""
    with pytest.raises(InvalidRegex):
        compile_regex(regex)


@settings(deadline=None)
@given(st.text(max_size=30))
def test_any_text_is_an_expression_or_not(regex: str) -> None:
    """Whatever a client sends, there is a pattern or a reason."""
    try:
        pattern = compile_regex(regex)
    except InvalidRegex:
        return
    assert pattern.matches("orders") in (True, False)


simple = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "[^a]", ".", r"\w", r"\.", "^", "$", r"\b", "(?:)"]),
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("(?:{}){}".format, inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}"])),
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(regex=simple, text=st.text("ab.-_", max_size=8))
def test_the_same_as_another_engine(regex: str, text: str) -> None:
    """What both engines know matches the same in both."""
    expected = re.compile(regex, re.ASCII).fullmatch(text) is not None
    assert compile_regex(regex).matches(text) is expected


def test_any_character_may_be_matched() -> None:
    """Transactional ids are not limited to the characters of topic names."""
    pattern = compile_regex("eu:.+")
    assert pattern.matches("eu:w\N{LATIN SMALL LETTER O WITH DIAERESIS}rter zählen")
    assert not pattern.matches("us:1")


def test_no_expression_takes_long() -> None:
    """An expression that keeps other engines busy for years is answered at once."""
    pattern = compile_regex("(a*)*(a|aa)+(a|a?)+(.*){20}b")
    assert not pattern.matches("a" * 249)
    assert pattern.matches("a" * 248 + "b")
