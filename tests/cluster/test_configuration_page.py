"""The reference page is as new as the declarations."""

from __future__ import annotations

from pathlib import Path

from headrace.cluster.config_keys import BROKER_KEYS, GROUP_KEYS, TOPIC_KEYS
from headrace.cluster.configuration_page import configuration_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "configuration.md"


def test_the_page_is_fresh() -> None:
    """`make docs` writes it; a change of a declaration without it fails here."""
    assert PAGE.read_text() == configuration_page()


def test_the_page_lists_every_key_once_per_table() -> None:
    """Topic keys first, then those of groups and brokers, and no cell breaks a table."""
    rest, brokers = configuration_page().split("## Brokers")
    topics, groups = rest.split("## Groups")
    for name in TOPIC_KEYS:
        assert topics.count(f"\n| `{name}` |") == 1
    for name in GROUP_KEYS:
        assert groups.count(f"\n| `{name}` |") == 1
    for name in BROKER_KEYS:
        assert brokers.count(f"\n| `{name}` |") == 1
    rows = [line for line in configuration_page().split("\n") if line.startswith("| ")]
    assert len(rows) == len(TOPIC_KEYS) + len(GROUP_KEYS) + len(BROKER_KEYS) + 3
    assert {row.replace("\\|", "").count("|") for row in rows} == {7}
