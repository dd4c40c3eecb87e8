"""The states of a classic group: their names, and the page that draws them."""

from __future__ import annotations

import pathlib

import pytest

from headrace.coordinator.group.classic import ClassicGroup, ClassicState
from headrace.coordinator.group.classic.state import TRANSITIONS, mermaid
from headrace.coordinator.timers import Timers
from tests.settings import group_settings

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "protocol" / "classic-groups.md"


def test_names() -> None:
    """The states are called what ListGroups and DescribeGroups call them in Apache Kafka."""
    assert [state.value for state in ClassicState] == [
        "Empty",
        "PreparingRebalance",
        "CompletingRebalance",
        "Stable",
        "Dead",
    ]


def test_transitions_are_enforced() -> None:
    """Only the transitions of the table happen; anything else is a mistake of ours."""
    for state in ClassicState:
        for following in ClassicState:
            group = ClassicGroup("g", group_settings(), Timers(), lambda: pytest.fail("no new ids"))
            group.state = state
            if following in TRANSITIONS[state]:
                group.become(following, 7)
                assert (group.state, group.state_since_ms) == (following, 7)
            else:
                with pytest.raises(AssertionError, match="g: "):
                    group.become(following, 7)


def test_diagram_is_fresh() -> None:
    """The diagram on the page is the one that the table of transitions draws."""
    assert f"```mermaid\n{mermaid()}\n```" in PAGE.read_text()
