"""Tables and YAML."""

from __future__ import annotations

import json

import pytest

from headrace.cli import yaml
from headrace.cli.output import Output, emit_rows, table


def test_columns_are_aligned_and_numbers_stand_to_the_right() -> None:
    """A table is read down its columns."""
    rows = [{"topic": "a", "log_end_offset": 5}, {"topic": "longer", "log_end_offset": 12345}]
    assert table(rows, ["topic", "log_end_offset"]) == (
        "TOPIC   LOG-END-OFFSET\n"
        "a                    5\n"
        "longer           12345\n"
    )  # fmt: skip


def test_values_of_every_kind_have_a_form() -> None:
    """Nothing is a dash, truth is yes or no, lists are joined."""
    rows = [{"a": None, "b": True, "c": [1, 2], "d": "x"}]
    assert table(rows, ["a", "b", "c", "d"]).splitlines()[1].split() == ["-", "yes", "1,2", "x"]


def test_an_empty_table_still_has_its_head() -> None:
    """Scripts that skip the first line keep working."""
    assert table([], ["topic"]) == "TOPIC\n"


def test_json_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    """--output json prints the rows as data."""
    emit_rows([{"topic": "é", "n": None}], Output.JSON, ["topic"])
    assert json.loads(capsys.readouterr().out) == [{"topic": "é", "n": None}]


def test_yaml_nests_mappings_and_lists() -> None:
    """Block style, two spaces, lists of mappings begin on the line of their dash."""
    data = {"topic": "a", "parts": [{"id": 0, "isr": [1, 2]}, {"id": 1, "isr": []}], "none": {}}
    assert yaml.dump(data) == (
        "topic: a\n"
        "parts:\n"
        "  - id: 0\n"
        "    isr:\n"
        "      - 1\n"
        "      - 2\n"
        "  - id: 1\n"
        "    isr: []\n"
        "none: {}\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["true", "No", "null", "", " a", "a ", "1", "1.5", "0x1f", "-", "a: b", "a #b", "- a", "*a",
     "2026-05-01", "é", "a\nb", '"', "y", "~", "@a", "1_000", ".5", "=", "<<"],
)  # fmt: skip
def test_text_that_yaml_would_misread_is_quoted(text: str) -> None:
    """Such a string comes out in JSON's quotes, which YAML reads back as the same string."""
    assert yaml.dump(text) == json.dumps(text, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("text", ["orders", "retention.ms", "a-b/c", "two words", "v1"])
def test_harmless_text_stays_plain(text: str) -> None:
    """Names of topics and settings need no quotes."""
    assert yaml.dump(text) == text + "\n"
