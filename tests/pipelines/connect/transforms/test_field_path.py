"""Paths to fields: steps that were recorded of Apache Kafka 4.3.1, and its faults."""

from __future__ import annotations

import pytest

from headrace.pipelines.connect.faults import ConfigException
from headrace.pipelines.connect.transforms.field_path import FieldPath


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("foo.bar.baz", ("foo", "bar", "baz")),
        ("foo`bar`.baz", ("foo`bar`", "baz")),
        ("`foo.bar.baz`", ("foo.bar.baz",)),
        ("foo.`bar.baz`", ("foo", "bar.baz")),
        ("`foo.bar`.`baz`", ("foo.bar", "baz")),
        ("`foo`bar`", ("foo`bar",)),
        ("`foo\\`.bar`", ("foo`.bar",)),
        ("`foo\\`b.ar`", ("foo\\`b.ar",)),
        ("foo.", ("foo", "")),
        (".foo", ("", "foo")),
        ("..", ("", "", "")),
    ],
)
def test_a_path_is_cut_into_steps(text: str, steps: tuple[str, ...]) -> None:
    """Backticks hold a name together; V1 takes the whole text as a name."""
    assert FieldPath(text, "V2").steps == steps
    assert FieldPath(text, "v1").steps == (text,)


@pytest.mark.parametrize(("text", "position"), [("`a", 0), ("a.`b", 2), ("`a\\`", 0), ("`a`b", 0)])
def test_a_backtick_without_its_counterpart_is_rejected(text: str, position: int) -> None:
    """In the words of Kafka, with the place."""
    with pytest.raises(ConfigException) as fault:
        FieldPath(text, "V2")
    assert str(fault.value) == (
        f"Incomplete backtick pair in path: [{text}], "
        f"consider adding a backslash before backtick at position {position} to escape it"
    )
