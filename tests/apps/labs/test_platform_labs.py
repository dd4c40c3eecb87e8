"""The labs with the Schema Registry and the REST Proxy."""

from __future__ import annotations

from types import ModuleType

import pytest

from examples.labs import (
    cards,
    conversion_layer,
    employees,
    hello_world,
    protobuf_messages,
    registry_walk,
    rereading,
)
from examples.labs.staging import Platform


@pytest.mark.parametrize(
    "lab",
    [
        pytest.param(
            hello_world, marks=pytest.mark.spec("admin:LB-20", "admin:RP-10"), id="hello_world"
        ),
        pytest.param(
            rereading, marks=pytest.mark.spec("admin:LB-21", "admin:CO-23"), id="rereading"
        ),
        pytest.param(
            cards, marks=pytest.mark.spec("admin:LB-22", "admin:SR-11", "admin:RP-04"), id="cards"
        ),
        pytest.param(employees, marks=pytest.mark.spec("slides:O25", "slides:G32"), id="employees"),
        pytest.param(registry_walk, marks=pytest.mark.spec("slides:O26"), id="registry_walk"),
        pytest.param(
            protobuf_messages, marks=pytest.mark.spec("slides:O27"), id="protobuf_messages"
        ),
        pytest.param(
            conversion_layer,
            marks=pytest.mark.spec("book2:T-11", "book2:T-12", "book2:A11-10"),
            id="conversion_layer",
        ),
    ],
)
def test_a_story_keeps_its_promises(platform: Platform, lab: ModuleType) -> None:
    """Told to its end, every outcome is as its document says."""
    lab.story(platform)
