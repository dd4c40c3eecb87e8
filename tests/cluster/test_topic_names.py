"""Which names a topic may have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cluster.topic_names import (
    INTERNAL_TOPICS,
    MAX_NAME_LENGTH,
    check_name,
    collision_key,
    name_problem,
)
from headrace.errors import ClientFault, Error


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "__consumer_offsets", "x" * 249, "...", "-", "0"])
def test_legal_names_pass(name: str) -> None:
    """Letters, digits, '.', '_' and '-' up to 249 characters."""
    check_name(name)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "empty"),
        (".", "'.' and '..'"),
        ("..", "'.' and '..'"),
        ("x" * 250, "250 characters"),
        ("a b", "only ASCII"),
        ("a/b", "only ASCII"),
        ("café", "only ASCII"),
        ("a\n", "only ASCII"),
        ("a\x00", "only ASCII"),
    ],
)
def test_illegal_names_are_refused_with_the_reason(name: str, reason: str) -> None:
    """INVALID_TOPIC_EXCEPTION says which rule was broken."""
    with pytest.raises(ClientFault, match=reason) as caught:
        check_name(name)
    assert caught.value.error is Error.INVALID_TOPIC_EXCEPTION


@given(st.text(max_size=300))
def test_a_name_that_passes_is_safe_as_a_folder(name: str) -> None:
    """Whatever a client sends, a name that is accepted cannot leave the data folder."""
    if name_problem(name) is None:
        assert 0 < len(name) <= MAX_NAME_LENGTH
        assert "/" not in name
        assert name.isascii()
        assert name not in (".", "..")


def test_names_that_share_metrics_share_a_key() -> None:
    """'.' and '_' are the same character in metric names."""
    assert collision_key("a.b") == collision_key("a_b")
    assert collision_key("a-b") != collision_key("a_b")


def test_internal_topics_have_their_kafka_names() -> None:
    """The offsets topic is __consumer_offsets, with two underscores in front."""
    assert {"__consumer_offsets", "__transaction_state", "__share_group_state"} == INTERNAL_TOPICS
    assert all(name_problem(name) is None for name in INTERNAL_TOPICS)
