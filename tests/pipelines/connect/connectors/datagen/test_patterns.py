"""Texts drawn from a regular expression match it."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.pipelines.connect.connectors.datagen.patterns import text_of
from headrace.pipelines.connect.faults import ConfigException
from tests.generated import examples

ATOMS = st.sampled_from(
    ["a", "Z", "\\.", "\\d", "\\w", ".", "[a-c]", "[^a]", "[-x]", "[]x]", "[\\d_]", " ", "\\\\"]
)
QUANTIFIERS = st.sampled_from(["", "?", "*", "+", "{2}", "{0,3}", "{1,}"])
SEQUENCES = st.lists(st.builds(str.__add__, ATOMS, QUANTIFIERS), max_size=4).map("".join)
PATTERNS = st.recursive(
    SEQUENCES,
    lambda inner: st.one_of(
        st.builds("({}){}".format, inner, QUANTIFIERS),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("{}|{}".format, inner, inner),
        st.builds("{}{}".format, inner, inner),
    ),
    max_leaves=4,
)


@given(PATTERNS, st.integers())
@settings(max_examples=examples(200), deadline=None)
def test_a_text_matches_the_expression_it_is_drawn_from(pattern: str, seed: int) -> None:
    drawn = text_of(pattern)(Random(seed))
    assert re.fullmatch(pattern, drawn, re.DOTALL), (pattern, drawn)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(a", "not closed"),
        ("a)", "parenthesis too many"),
        ("*", "nothing to repeat"),
        ("a{x}", r"\{n\}"),
        ("a{3,1}", "wrong way round"),
        ("(?=a)", "only plain groups"),
        ("\\b", "is not known"),
        ("[ab", "ends too early"),
        ("a\\", "ends too early"),
    ],
)
def test_what_cannot_be_read_is_named(pattern: str, reason: str) -> None:
    with pytest.raises(ConfigException, match=reason):
        text_of(pattern)
