"""Filters of MQTT: which topics they select, and which are none."""

from __future__ import annotations

import pytest

from headrace.pipelines.connect.connectors.mqtt.filters import check_filter, check_topic, matches
from headrace.pipelines.connect.faults import ConfigException


@pytest.mark.parametrize(
    ("text", "topic", "selected"),
    [
        ("truck/+/position", "truck/13/position", True),
        ("truck/+/position", "truck/13/14/position", False),
        ("truck/#", "truck", True),
        ("truck/#", "truck/13/position", True),
        ("+", "truck", True),
        ("+", "/truck", False),
        ("+/+", "/truck", True),
        ("#", "$SYS/uptime", False),
        ("$SYS/#", "$SYS/uptime", True),
        ("$share/workers/truck/+", "truck/13", True),
        ("truck", "truck/13", False),
    ],
)
def test_which_topics_a_filter_selects(text: str, topic: str, selected: bool) -> None:
    check_filter("filter", text)
    assert matches(text, topic) is selected


@pytest.mark.spec("slides:H16")
def test_what_is_not_a_filter() -> None:
    with pytest.raises(ConfigException, match=r"as in truck/\+/position"):
        check_filter("filter", "truck/+position")
    with pytest.raises(ConfigException, match="last level"):
        check_filter("filter", "a/#/b")
    with pytest.raises(ConfigException, match="at least one character"):
        check_filter("filter", "")
    with pytest.raises(ConfigException, match="published to"):
        check_topic("topic", "a/+")
