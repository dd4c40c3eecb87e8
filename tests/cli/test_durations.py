"""Lengths of time on the command line."""

from __future__ import annotations

import pytest

from headrace.cli.durations import parse_duration_ms, show_duration
from headrace.cli.failures import WrongUsage


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("250ms", 250),
        ("90s", 90_000),
        ("15m", 900_000),
        ("2h", 7_200_000),
        ("7d", 604_800_000),
        ("P1D", 86_400_000),
        ("PT1H30M", 5_400_000),
        ("P1DT2H3M4S", 93_784_000),
        ("pt0.5s", 500),
        ("PT0S", 0),
    ],
)
def test_both_forms_are_read(text: str, milliseconds: int) -> None:
    """A number with a unit, and ISO 8601 as Kafka's tools take it."""
    assert parse_duration_ms(text, "--x") == milliseconds


@pytest.mark.parametrize("text", ["", "15", "1y", "-5m", "P", "PT", "P1DT", "1.5h", "P1M", "PT1D"])
def test_anything_else_is_wrong_usage(text: str) -> None:
    """The option and the text are named."""
    with pytest.raises(WrongUsage, match="--x"):
        parse_duration_ms(text, "--x")


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(0, "0s"), (999, "0s"), (61_000, "1m 1s"), (3_600_000, "1h"), (93_784_000, "1d 2h")],
)
def test_the_two_largest_units_are_shown(milliseconds: int, text: str) -> None:
    """Nobody reads the seconds of a day."""
    assert show_duration(milliseconds) == text
